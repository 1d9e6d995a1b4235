"""Operators give accounts keywords, change what they do, and remove them."""

import pytest

from heliograph import accounts
from heliograph.accounts import audit_log
from heliograph.base import clock
from heliograph.database.database import Database
from heliograph.inbound.keywords import Keyword, KeywordOwner, all_keywords, remove_any_keyword
from heliograph.users import OperatorRole
from tests.support.console.logs import LATEST, logged
from tests.support.console.operators import own_keyword, own_number, sign_in_operator
from tests.support.factories import open_account
from tests.support.portal.visitor import Visitor

PATH = "/console/numbers/keywords"
WANTED = {
    "account": "amina",
    "keyword": "Offers",
    "reply": "Rice\r\nat 10 % less.",
    "reason": "hers",
}


@pytest.fixture
def support(visitor: Visitor, db: Database, amina_id: str) -> Visitor:
    sign_in_operator(visitor, db, OperatorRole.SUPPORT)
    visitor.get(f"{PATH}?account=amina")
    return visitor


def stored(db: Database, account_id: str, *, sandbox: bool = False) -> list[Keyword]:
    with db.read() as tx:
        return all_keywords(tx, KeywordOwner(account_id, sandbox))


def test_a_keyword_is_added_changed_and_removed_with_a_line_in_each_log(
    support: Visitor, db: Database, amina_id: str
) -> None:
    done = support.post(PATH, WANTED)
    with db.read() as tx:
        listed = f"{PATH}?account={accounts.text_id(accounts.by_id(tx, amina_id))}"
    assert (done.status_code, done.headers["location"]) == (303, listed)
    [keyword] = stored(db, amina_id)
    assert (keyword.folded, keyword.action, keyword.reply) == (
        "offers",
        "none",
        "Rice\nat 10 % less.",
    )
    assert "<strong>Offers</strong>" in support.get(listed).text
    support.post(PATH, {**WANTED, "action": "help"})
    again = support.post(PATH, {**WANTED, "action": "help"})
    assert again.status_code == 303
    assert "That was done already" in support.get(PATH).text
    late, early = logged(db)
    assert (early.action, late.before) == ("keyword.save", early.after)
    assert "asks for help" in (late.after or "")
    removal = f"{PATH}/{early.record}"
    assert "Remove Offers of amina?" in support.get(removal).text
    for _ in range(2):
        assert support.post(removal, {"do": "remove", "reason": "over"}).status_code == 303
    assert stored(db, amina_id) == []
    assert "That was removed already" in support.get(PATH).text
    assert [each.action for each in logged(db)] == [
        "keyword.remove",
        "keyword.save",
        "keyword.save",
    ]
    with db.read() as tx:
        told = [each.entry.action for each in audit_log.page(tx, amina_id, LATEST)]
    assert told == ["keyword.remove", "keyword.save", "keyword.save"]


def test_a_keyword_of_one_number_stands_on_its_page_whoever_shares_it(
    support: Visitor, db: Database, amina_id: str
) -> None:
    open_account(db, "chidi", sender=None)
    number = own_number(db, None, "800")
    assert support.post(PATH, {**WANTED, "number": "800"}).status_code == 303
    taken = support.post(PATH, {**WANTED, "account": "chidi", "number": "800"})
    assert (taken.status_code, "another account has" in taken.text) == (400, True)
    own_keyword(db, amina_id, "BASTA")
    page = support.get(f"/console/numbers/{number}").text
    assert ("<strong>Offers</strong>" in page, "BASTA" in page) == (True, False)
    assert ">amina</a>" in page


@pytest.mark.parametrize(
    ("form", "field"),
    [
        ({"keyword": ""}, "keyword"),
        ({"keyword": "!"}, "keyword"),
        ({"keyword": "STOP", "action": "none"}, "action"),
        ({"number": "9999"}, "number"),
        ({"carrier": "simulator"}, "carrier"),
        ({"language": "tlh"}, "language"),
        ({"reply": "x" * 1_531}, "reply"),
        ({"account": "nobody"}, "account"),
        ({"account": ""}, "account"),
        ({"reason": ""}, "reason"),
    ],
)
def test_what_is_wrong_is_said_at_its_field_in_the_words_of_the_command(
    support: Visitor, db: Database, amina_id: str, form: dict[str, str], field: str
) -> None:
    page = support.post(PATH, {**WANTED, **form})
    assert (page.status_code, f'id="{field}-error"' in page.text) == (400, True), page.text
    assert "maxlength" not in page.text, "a browser would cut what is pasted"
    assert stored(db, amina_id) == []
    assert list(logged(db)) == []


def test_a_keyword_of_the_sandbox_is_not_among_the_live_ones(
    support: Visitor, db: Database, amina_id: str
) -> None:
    led = support.post(PATH, {**WANTED, "mode": "sandbox"}).headers["location"]
    assert led.endswith("&mode=sandbox")
    assert "<strong>Offers</strong>" in support.get(led).text
    assert "has no keyword of its own" in support.get(f"{PATH}?account=amina").text
    assert (len(stored(db, amina_id)), len(stored(db, amina_id, sandbox=True))) == (0, 1)


def test_a_closed_account_gets_none_and_a_fresh_sign_in_is_asked(
    support: Visitor, db: Database, amina_id: str
) -> None:
    gone = open_account(db, "gone", credits=0, sender=None)
    with db.write() as tx:
        accounts.close(tx, gone, now_ms=clock.now_ms())
    page = support.get(f"{PATH}?account=gone").text
    assert ("The account is closed" in page, "Save the keyword" in page) == (True, False)
    assert support.post(PATH, {**WANTED, "account": "gone"}).status_code == 403
    keyword = own_keyword(db, amina_id)
    with db.write() as tx:
        remove_any_keyword(tx, keyword, clock.now_ms())
    assert support.post(f"{PATH}/{keyword}", {"do": "remove", "reason": "x"}).status_code == 303
    clock.move(11 * 60_000)
    assert "Confirm that it is you" in support.post(PATH, WANTED).text
