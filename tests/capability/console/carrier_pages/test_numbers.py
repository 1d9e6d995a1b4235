"""Operators say in the console which numbers receive texts, and whose these are."""

from typing import Any

import httpx
import pytest

from heliograph import accounts, inbound
from heliograph.accounts import audit_log
from heliograph.base import clock
from heliograph.database.database import Database
from heliograph.inbound import OwnNumber
from heliograph.inbound.keywords import KeywordOwner, all_keywords, save_keyword_for
from heliograph.users import OperatorRole
from tests.support.console.logs import LATEST, logged, told
from tests.support.console.operators import own_number, sign_in_operator
from tests.support.factories import open_account, open_carrier
from tests.support.portal.visitor import Visitor, shown_in

PATH = "/console/numbers"
ADDED = {"number": "4567", "carrier": "gh-main", "reason": "contract 12"}


@pytest.fixture
def support(visitor: Visitor, db: Database, amina_id: str) -> Visitor:
    """Returns a browser in which somebody of the support is signed in. There is a carrier."""
    open_carrier(db, "gh-main", prefix=None)
    sign_in_operator(visitor, db, OperatorRole.SUPPORT)
    visitor.get(PATH)
    return visitor


def numbers(db: Database) -> list[OwnNumber]:
    with db.read() as tx:
        return inbound.all_numbers(tx)


def change(visitor: Visitor, path: str, **form: str) -> httpx.Response:
    """Opens the page of a number, and sends one of its forms."""
    shown = shown_in(visitor.get(path))
    return visitor.post(path, {"shown": shown, "reason": "a mistake", **form})


def test_a_number_is_added_shown_and_removed_with_a_line_in_each_log(
    support: Visitor, db: Database, amina_id: str
) -> None:
    assert "There is no number" in support.get(PATH).text
    done = support.post(PATH, {**ADDED, "account": "amina"})
    [number] = numbers(db)
    path = f"{PATH}/{number.text_id}"
    assert (done.status_code, done.headers["location"]) == (303, path)
    assert (number.digits, number.account_id) == ("4567", amina_id)
    page = support.get(PATH).text
    assert "<strong>4567</strong>" in page
    assert ">gh-main</a>" in page
    assert ">amina</a>" in page
    removed = change(support, path, do="remove")
    assert (removed.status_code, removed.headers["location"]) == (303, PATH)
    assert numbers(db) == []
    late, early = logged(db)
    assert (early.action, early.account_id, early.record) == (
        "number.add",
        amina_id,
        number.text_id,
    )
    assert (early.before, early.reason) == (None, "contract 12")
    assert (early.after or "").startswith("4567 of gh-main: belongs to acc_")
    assert (late.action, late.before, late.after) == ("number.remove", early.after, None)
    assert told(db, amina_id) == ["number.remove", "number.add"], "once in the account's log"
    with db.read() as tx:
        authors = {each.author.name for each in audit_log.page(tx, amina_id, LATEST)}
    assert authors == {audit_log.OPERATOR_NAME}, "no operator is named to the account"


def test_a_number_is_typed_as_other_fields_take_it(
    support: Visitor, db: Database, amina_id: str
) -> None:
    written = "+233 20-123.4567"
    assert support.post(PATH, {**ADDED, "number": written}).status_code == 303
    assert [each.digits for each in numbers(db)] == ["233201234567"]
    found = support.get(PATH, params={"begins": "+233 20"}).text
    assert "<strong>233201234567</strong>" in found
    again = support.post(PATH, {**ADDED, "number": written})
    assert "is there already, and belongs to whom you name" in again.text


@pytest.mark.judged_in_python
@pytest.mark.parametrize(
    ("form", "said"),
    [
        ({"number": "45x7"}, "must have 3 to 15 digits"),
        ({"number": ""}, "must have 3 to 15 digits"),
        ({"carrier": "nobody"}, "There is no carrier"),
        ({"account": "nobody"}, "account-error"),
        ({"catch_all": "nobody"}, "catch_all-error"),
        ({"account": "amina", "catch_all": "amina"}, "is for numbers that several accounts share"),
        ({"reason": ""}, "reason-error"),
    ],
)
def test_what_is_wrong_with_a_number_is_said_and_what_was_typed_stays(
    support: Visitor, db: Database, form: dict[str, str], said: str
) -> None:
    page = support.post(PATH, {**ADDED, **form})
    assert page.status_code in (400, 404)
    assert said in page.text
    if "number" not in form:
        assert 'value="4567"' in page.text
    assert numbers(db) == []
    assert list(logged(db)) == []


def test_a_number_that_is_there_already_is_told_quietly_unless_it_is_somebody_elses(
    support: Visitor, db: Database
) -> None:
    open_account(db, "chidi", sender=None)
    form = {**ADDED, "account": "amina"}
    assert support.post(PATH, form).status_code == 303
    again = support.post(PATH, form).text
    assert '<p class="notice calm" role="status">The number 4567 of the carrier gh-main' in again
    assert 'class="wrong"' not in again
    other = support.post(PATH, {**form, "account": "chidi"})
    assert other.status_code == 400
    assert "Remove it first, to give it to another account" in other.text
    assert len(logged(db)) == 1


def test_a_shared_number_gets_and_loses_the_account_that_gets_the_rest(
    support: Visitor, db: Database, amina_id: str
) -> None:
    chidi = open_account(db, "chidi", sender=None)
    path = f"{PATH}/{own_number(db, None)}"
    assert change(support, path, do="set", opt_out_scope="account", catch_all="amina").is_redirect
    page = support.get(path).text
    assert "several accounts, which share it" in page
    assert ">amina</a>" in page
    assert change(support, path, do="set", opt_out_scope="account", catch_all="chidi").is_redirect
    assert change(support, path, do="set", opt_out_scope="account").is_redirect
    assert [each.catch_all_id for each in numbers(db)] == [None]
    assert [each.account_id for each in logged(db)] == [chidi, chidi, amina_id]
    assert "shared, the rest to no account" in (logged(db)[0].after or "")
    assert told(db, amina_id) == ["number.remove", "number.add"]


def test_how_keywords_count_is_set_and_nothing_changed_is_not_told(
    support: Visitor, db: Database, amina_id: str
) -> None:
    path = f"{PATH}/{own_number(db, amina_id)}"
    form = {"do": "set", "opt_out_scope": "sender", "first_word": "yes"}
    for _ in range(2):
        assert change(support, path, **form).status_code == 303
    [number] = numbers(db)
    assert (number.first_word, number.opt_out_scope) == (True, "sender")
    page = support.get(path).text
    assert "checked" in page
    assert "texts from this number" in page
    [entry] = logged(db)
    assert entry.action == "number.set"
    assert "an opt-out stops all texts of the account" in (entry.before or "")
    assert "an opt-out stops texts from this number" in (entry.after or "")
    wrong = change(support, path, do="set", opt_out_scope="everything")
    assert (wrong.status_code, "opt_out_scope-error" in wrong.text) == (400, True)
    owned = change(support, path, do="set", opt_out_scope="sender", catch_all="amina")
    assert owned.status_code == 400


def test_a_number_that_somebody_else_changed_meanwhile_is_looked_at_first(
    support: Visitor, db: Database, amina_id: str
) -> None:
    path = f"{PATH}/{own_number(db, amina_id)}"
    shown = shown_in(support.get(path))
    with db.write() as tx:
        inbound.set_keyword_rules(tx, "4567", None, first_word=True, now_ms=clock.now_ms())
    for do in ("set", "remove"):
        form = {"do": do, "shown": shown, "opt_out_scope": "account", "reason": "typed before"}
        page = support.post(path, form)
        assert page.status_code == 400
        assert "somebody changed it after you had opened this page" in page.text
        assert page.text.count('value="typed before"') == 1, "in the form that was sent"
    [number] = numbers(db)
    assert number.first_word


def test_a_number_that_somebody_else_removed_is_told_of_quietly(
    support: Visitor, db: Database, amina_id: str
) -> None:
    path = f"{PATH}/{own_number(db, amina_id)}"
    shown = shown_in(support.get(path))
    with db.write() as tx:
        inbound.remove_number(tx, "4567", None, now_ms=clock.now_ms())
    late = support.post(path, {"do": "remove", "shown": shown, "reason": "a mistake"})
    assert (late.status_code, late.headers["location"]) == (303, PATH)
    assert "That was removed already" in support.get(PATH).text
    form = {"do": "set", "shown": shown, "opt_out_scope": "sender", "reason": "a mistake"}
    assert support.post(path, form).status_code == 404
    assert list(logged(db)) == []


def test_keywords_of_a_removed_number_go_with_it(
    support: Visitor, db: Database, amina_id: str
) -> None:
    path = f"{PATH}/{own_number(db, amina_id)}"
    owner, body = KeywordOwner(amina_id, False), dict[str, Any](keyword="OFFERS", number="4567")
    with db.write() as tx:
        save_keyword_for(tx, owner, body, None, clock.now_ms())
    assert change(support, path, do="remove").status_code == 303
    with db.read() as tx:
        assert all_keywords(tx, owner) == []


def test_numbers_are_found_by_their_digits_and_by_their_account(
    support: Visitor, db: Database, amina_id: str
) -> None:
    chidi = open_account(db, "chidi", sender=None)
    own_number(db, amina_id, "4567")
    own_number(db, chidi, "4599")
    with db.write() as tx:
        now_ms = clock.now_ms()
        inbound.add_number(tx, "800", "gh-main", None, catch_all_id=amina_id, now_ms=now_ms)

    def found(**query: str) -> list[str]:
        page = support.get(PATH, params=query).text
        return [each for each in ("4567", "4599", "800") if f"<strong>{each}</strong>" in page]

    assert found() == ["4567", "4599", "800"]
    assert found(begins="45") == ["4567", "4599"]
    assert found(of="amina") == ["4567", "800"]
    assert found(begins="%") == []
    with db.read() as tx:
        text_id = accounts.text_id(accounts.by_id(tx, chidi))
    assert found(of=text_id) == ["4599"]
    unknown = support.get(PATH, params={"of": "nobody"})
    assert (unknown.status_code, "of-error" in unknown.text) == (400, True)


def test_no_number_is_given_to_an_account_that_was_closed(support: Visitor, db: Database) -> None:
    gone = open_account(db, "gone", credits=0, sender=None)
    with db.write() as tx:
        accounts.close(tx, gone, now_ms=clock.now_ms())
        text_id = accounts.text_id(accounts.by_id(tx, gone))
    refused = support.post(PATH, {**ADDED, "account": text_id})
    assert refused.status_code == 403
    assert '<p class="notice" role="alert">' in refused.text
    assert numbers(db) == []


def test_a_number_takes_a_fresh_sign_in(support: Visitor, db: Database) -> None:
    clock.move(11 * 60_000)
    asked = support.post(PATH, {**ADDED, "account": "amina"})
    assert "Confirm that it is you" in asked.text
    assert numbers(db) == []
