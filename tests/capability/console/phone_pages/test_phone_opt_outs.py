"""Operators opt phones out of accounts and lift opt-outs, and no log names a phone."""

import asyncio

import pytest
import sqlalchemy as sa

from heliograph import accounts, opt_outs
from heliograph.accounts import audit_log
from heliograph.base import clock
from heliograph.database.database import Database, metadata
from heliograph.opt_outs import OptOutOwner, OptOutSource, Suppression
from heliograph.users import OperatorRole
from tests.support.capability.sending import House
from tests.support.console.logs import LATEST, logged
from tests.support.console.operators import opted_out, sign_in_operator
from tests.support.factories import PHONE, SENDER
from tests.support.portal.visitor import Visitor, shown_in

PATH = "/console/phones/opt-outs"
LIFT = f"{PATH}/lift"
WANTED = {"account": "amina", "phone": PHONE, "reason": "a letter of 3 May"}
LOGS = ("operator_log", "audit_log", "idempotency_keys")


@pytest.fixture
def support(visitor: Visitor, db: Database, amina_id: str) -> Visitor:
    sign_in_operator(visitor, db, OperatorRole.SUPPORT)
    visitor.get(f"{PATH}?account=amina")
    return visitor


def stored(db: Database, amina_id: str, *, sandbox: bool = False) -> list[Suppression]:
    with db.read() as tx:
        return opt_outs.opt_outs_of(tx, OptOutOwner(amina_id, sandbox), PHONE)


def assert_not_named(db: Database) -> None:
    """Asserts that neither log, nor what is stored of forms, names the phone."""
    with db.read() as tx:
        for name in LOGS:
            rows = tx.execute(sa.select(metadata.tables[name])).all()
            assert rows
            assert PHONE[3:] not in repr(rows), name


def lift(visitor: Visitor, **asked: str) -> str:
    """Opens the page that asks, and sends its form. Returns where it leads."""
    fields = {"account": "amina", "phone": PHONE, **asked}
    shown = shown_in(visitor.get(LIFT, params=fields))
    done = visitor.post(LIFT, {**fields, "shown": shown, "do": "lift", "reason": "she asked"})
    assert done.status_code == 303, done.text
    return str(done.headers["location"])


def test_a_phone_is_opted_out_listed_and_opted_in_with_a_line_in_each_log(
    support: Visitor, db: Database, amina_id: str
) -> None:
    with db.read() as tx:
        text_id = accounts.text_id(accounts.by_id(tx, amina_id))
    done = support.post(PATH, {**WANTED, "phone": "0201234567"})
    assert done.headers["location"] == f"{PATH}?account={text_id}&mode=live"
    [opt_out] = stored(db, amina_id)
    assert opt_out.source is OptOutSource.OPERATOR
    listed = support.get(done.headers["location"]).text
    assert (f">{PHONE}</a>" in listed, "an operator" in listed) == (True, True)
    assert lift(support) == done.headers["location"]
    assert stored(db, amina_id) == []
    late, early = logged(db)
    assert (early.action, early.before, early.reason) == ("opt_out.add", None, WANTED["reason"])
    assert early.after == "live, unwanted: all texts (source: operator)"
    assert (late.action, late.before, late.after) == ("opt_out.remove", early.after, None)
    with db.read() as tx:
        told = [each.entry.action for each in audit_log.page(tx, amina_id, LATEST)]
    assert told == ["opt_out.remove", "opt_out.add"]
    assert_not_named(db)


def test_only_texts_of_a_sender_and_only_the_sandbox(
    support: Visitor, db: Database, amina_id: str
) -> None:
    support.post(PATH, {**WANTED, "sender": SENDER})
    support.post(PATH, {**WANTED, "mode": "sandbox"})
    [of_sender] = stored(db, amina_id)
    [of_sandbox] = stored(db, amina_id, sandbox=True)
    assert of_sender.scope.sender == SENDER.lower()
    assert of_sandbox.scope.sender == ""
    support.post(PATH, WANTED)
    assert len(stored(db, amina_id)) == 2
    lift(support, sender=SENDER)
    assert [each.scope.sender for each in stored(db, amina_id)] == [""]
    assert len(stored(db, amina_id, sandbox=True)) == 1
    assert logged(db)[0].before == f"live, unwanted: texts from {SENDER.lower()} (source: operator)"


def test_what_was_done_already_is_said_quietly_and_a_keyword_is_overruled(
    support: Visitor, db: Database, amina_id: str
) -> None:
    opted_out(db, amina_id, PHONE)
    for _ in range(2):
        assert support.post(PATH, WANTED).status_code == 303
    assert "That was done already" in support.get(PATH).text
    [entry] = logged(db)
    assert entry.before == "live, unwanted: all texts (source: keyword)"
    assert [each.source for each in stored(db, amina_id)] == [OptOutSource.OPERATOR]
    lift(support)
    again = support.post(LIFT, {**WANTED, "do": "lift"})
    assert again.status_code == 303
    assert "That was removed already" in support.get(PATH).text
    assert len(logged(db)) == 2
    assert support.get(LIFT, params=WANTED).status_code == 404


def test_an_opt_out_that_changed_after_the_page_was_shown_is_looked_at_first(
    support: Visitor, db: Database, amina_id: str
) -> None:
    opted_out(db, amina_id, PHONE)
    fields = {**WANTED, "do": "lift", "shown": shown_in(support.get(LIFT, params=WANTED))}
    opted_out(db, amina_id, PHONE, "sale")
    page = support.post(LIFT, fields)
    assert (page.status_code, "somebody changed it after" in page.text) == (400, True)
    assert 'value="a letter of 3 May"' in page.text
    assert len(stored(db, amina_id)) == 2
    assert list(logged(db)) == []


@pytest.mark.judged_in_python
@pytest.mark.parametrize(
    ("form", "said"),
    [
        ({"phone": ""}, "phone-error"),
        ({"phone": "12"}, "must be a phone number in international digits"),
        ({"sender": "x" * 65}, "sender-error"),
        ({"reason": ""}, "reason-error"),
        ({"account": ""}, "account-error"),
        ({"account": "nobody"}, "account-error"),
    ],
)
def test_what_is_wrong_is_said_at_its_field_and_what_was_typed_stays(
    support: Visitor, db: Database, amina_id: str, form: dict[str, str], said: str
) -> None:
    page = support.post(PATH, {**WANTED, **form})
    assert (page.status_code, said in page.text) == (400, True)
    if "account" not in form and "reason" not in form:
        assert 'value="a letter of 3 May"' in page.text
    assert stored(db, amina_id) == []


def test_what_is_queued_for_the_phone_is_canceled(
    visitor: Visitor, db: Database, house: House
) -> None:
    async def work() -> None:
        await house.send(PHONE)
        await house.db.close_hot()

    asyncio.run(work())
    sign_in_operator(visitor, db)
    visitor.get(f"{PATH}?account=amina")
    assert visitor.post(PATH, WANTED).status_code == 303
    assert house.statuses() == ["failed/blocked"]


def test_a_reason_that_names_the_phone_is_refused_for_both_changes(
    support: Visitor, db: Database, amina_id: str
) -> None:
    reason = f"+{PHONE[:3]} {PHONE[3:5]} {PHONE[5:]} wrote"
    refused = support.post(PATH, {**WANTED, "reason": reason})
    assert (refused.status_code, "must not have the phone in it" in refused.text) == (400, True)
    assert stored(db, amina_id) == []
    opted_out(db, amina_id, PHONE)
    shown = shown_in(support.get(LIFT, params=WANTED))
    asked = {**WANTED, "reason": reason, "shown": shown, "do": "lift"}
    refused = support.post(LIFT, asked)
    assert (refused.status_code, "must not have the phone in it" in refused.text) == (400, True)
    assert len(stored(db, amina_id)) == 1
    assert list(logged(db)) == []


def test_a_long_list_is_paged(support: Visitor, db: Database, amina_id: str) -> None:
    for number in range(120):
        opted_out(db, amina_id, str(233201230000 + number))
    pages = [page.text for page in support.pages(f"{PATH}?account=amina&limit=100")]
    assert [page.count(">Lift</button>") for page in pages] == [100, 20]


def test_it_takes_a_fresh_sign_in(support: Visitor, db: Database, amina_id: str) -> None:
    clock.move(11 * 60_000)
    assert "Confirm that it is you" in support.post(PATH, WANTED).text
    assert stored(db, amina_id) == []
