"""Operators see what is queued in the console, and cancel one message or all of an account."""

import asyncio
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

import pytest
import sqlalchemy as sa

from heliograph import accounts
from heliograph.accounts import audit_log
from heliograph.base import ids
from heliograph.base.paging import PageWanted
from heliograph.console.message_pages import queued_messages
from heliograph.database.database import Database
from heliograph.messages.sweeps import sweep
from heliograph.users import OperatorEntry, OperatorRole
from tests.support.capability.sending import House
from tests.support.console.logs import logged
from tests.support.console.operators import sign_in_operator
from tests.support.factories import PHONE, phones
from tests.support.portal.visitor import EMAIL, Visitor, home_of

TWO_SEGMENTS = "x" * 200
WHY = {"reason": "ticket 4711"}


def queued(house: House, *to: str, text: str = "hello", taken: bool = False) -> list[str]:
    """Queues messages, and lets their carrier take them. Returns the ids of all messages."""

    async def made() -> None:
        await house.send(list(to) or PHONE, text)
        if taken:
            await house.turn().turn.run_once()
        await house.db.close_hot()

    asyncio.run(made())
    return [ids.text_of_raw("msg", row.id) for row in house.messages()]


def path_of(db: Database, account_id: str) -> str:
    with db.read() as tx:
        text_id = accounts.text_id(accounts.by_id(tx, account_id))
    return f"/console/accounts/{text_id}/queued"


def told_account(house: House) -> list[str | None]:
    """Returns what amina's audit log says, the newest first."""
    with house.db.read() as tx:
        return [
            each.entry.detail for each in audit_log.page(tx, house.amina_id, PageWanted(9, None))
        ]


# Lets the transaction fail that would log five messages. The second statement takes the first one
# back.
BREAK_OFF: Final = {
    "sqlite": (
        "CREATE TRIGGER broken_off BEFORE UPDATE ON operator_log WHEN NEW.before = '5 queued'"
        " BEGIN SELECT RAISE(ABORT, 'broken_off'); END",
        "DROP TRIGGER broken_off",
    ),
    "postgresql": (
        "ALTER TABLE operator_log ADD CONSTRAINT broken_off CHECK (before <> '5 queued')",
        "ALTER TABLE operator_log DROP CONSTRAINT broken_off",
    ),
}


@contextmanager
def broken_off_at_five(db: Database) -> Iterator[None]:
    """Lets the work of a form be broken off when it has canceled four messages."""
    refuse, allow = BREAK_OFF["postgresql" if db.postgresql else "sqlite"]
    with db.write() as tx:
        tx.execute(sa.text(refuse))
    try:
        with pytest.raises(sa.exc.IntegrityError, match="broken_off"):
            yield
    finally:
        with db.write() as tx:
            tx.execute(sa.text(allow))


def test_a_queued_message_is_canceled_on_its_page_which_says_what_goes_back(
    visitor: Visitor, stranger: Visitor, db: Database, house: House
) -> None:
    [message] = queued(house, text=TWO_SEGMENTS)
    path = f"/console/messages/{message}"
    sign_in_operator(visitor, db, OperatorRole.SUPPORT)
    before = house.credits()
    page = visitor.get(path).text
    assert "2 SMS credits go back to the wallet of amina" in page
    form = {"do": "cancel", "shown": "2"}
    assert "must have 1 to 255 characters" in visitor.post(f"{path}/cancel", form).text
    visitor.get(path)
    done = visitor.post(f"{path}/cancel", {**form, **WHY})
    assert (done.status_code, done.headers["location"]) == (303, path)
    assert (house.statuses(), house.credits()) == (["failed/canceled"], before + 2)
    [entry] = logged(db)
    assert entry == OperatorEntry(
        "message.cancel",
        house.amina_id,
        message,
        "queued",
        "failed: canceled, 2 credits back",
        "ticket 4711",
    )
    with db.read() as tx:
        [told] = audit_log.page(tx, house.amina_id, PageWanted(9, None))
    assert (told.entry.action, told.entry.record) == ("message.cancel", message)
    assert "4711" not in str(told)
    page = visitor.get(path).text
    assert "The message was canceled." in page
    assert "Cancel it" not in page
    again = visitor.post(f"{path}/cancel", {**form, **WHY})
    assert (again.status_code, again.headers["location"]) == (303, path)
    assert "That was done already" in visitor.get(path).text
    assert len(logged(db)) == 1
    stranger.sign_in(EMAIL, house.amina_id)
    assert "Canceled queued messages" in stranger.get(f"{home_of(db, house.amina_id)}/audit").text
    house.assert_sound()


def test_a_message_that_has_left_the_queue_is_not_canceled(
    visitor: Visitor, db: Database, house: House
) -> None:
    [message] = queued(house)
    path = f"/console/messages/{message}"
    sign_in_operator(visitor, db)
    visitor.get(path)
    queued(house, phones(1)[0], taken=True)
    refused = visitor.post(f"{path}/cancel", {"do": "cancel", "shown": "1", **WHY})
    assert refused.status_code == 400
    assert f"The message {message} has left the queue: a carrier has it" in refused.text
    assert house.statuses() == ["queued"] * 2
    assert logged(db) == []
    assert "Cancel it" not in visitor.get(path).text


def test_credits_that_were_not_shown_do_not_go_back(
    visitor: Visitor, db: Database, house: House
) -> None:
    [message] = queued(house, text=TWO_SEGMENTS)
    path = f"/console/messages/{message}"
    sign_in_operator(visitor, db)
    visitor.get(path)
    before = house.credits()
    late = visitor.post(f"{path}/cancel", {"do": "cancel", "shown": "1", **WHY})
    assert (late.status_code, "are not what goes back now" in late.text) == (400, True)
    assert (house.statuses(), house.credits()) == (["queued"], before)
    assert logged(db) == []


def test_who_may_not_decide_sees_no_button(visitor: Visitor, db: Database, house: House) -> None:
    [message] = queued(house)
    sign_in_operator(visitor, db, OperatorRole.FINANCE)
    assert "Cancel it" not in visitor.get(f"/console/messages/{message}").text
    page = visitor.get(path_of(db, house.amina_id)).text
    assert message in page
    assert "Your role looks at this" in page


def test_all_that_is_queued_of_an_account_is_canceled_and_closing_leads_there(
    visitor: Visitor, db: Database, house: House, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sweep, "BATCH_MAX", 2)
    messages = queued(house, *phones(5), text=TWO_SEGMENTS)
    path = path_of(db, house.amina_id)
    sign_in_operator(visitor, db)
    assert f'href="{path}"' in visitor.get(path.replace("/queued", "/close")).text
    assert f'href="{path}"' in visitor.get(path.removesuffix("/queued")).text
    page = visitor.get(path).text
    assert all(f"/console/messages/{message}" in page for message in messages)
    assert "10 SMS credits go back to the wallet of amina" in page
    assert "Cancel 5 messages" in page
    missing = visitor.post(path, {"do": "cancel"})
    assert (missing.status_code, "must have 1 to 255" in missing.text) == (400, True)
    visitor.get(path)
    before = house.credits()
    done = visitor.post(path, {"do": "cancel", **WHY})
    assert (done.status_code, done.headers["location"]) == (303, path)
    assert house.statuses() == ["failed/canceled"] * 5
    assert house.credits() == before + 10
    [entry] = logged(db)
    assert entry._replace(account_id=None) == OperatorEntry(
        *("message.cancel", None, None),
        *("5 queued", "failed: canceled, 10 credits back", "ticket 4711"),
    )
    assert told_account(house) == ["5 queued messages canceled, 10 credits back"]
    page = visitor.get(path).text
    assert "Nothing is queued" in page
    assert "have been given" not in page, "no carrier was given what was canceled"
    house.assert_sound()


def test_one_that_is_broken_off_says_in_both_logs_what_was_canceled_until_then(
    visitor: Visitor, db: Database, house: House, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sweep, "BATCH_MAX", 2)
    queued(house, *phones(5), text=TWO_SEGMENTS)
    path = path_of(db, house.amina_id)
    sign_in_operator(visitor, db)
    visitor.get(path)
    before = house.credits()
    with broken_off_at_five(db):
        visitor.post(path, {"do": "cancel", **WHY})
    assert sorted(house.statuses()) == ["failed/canceled"] * 4 + ["queued"]
    assert house.credits() == before + 8
    [entry] = logged(db)
    assert (entry.before, entry.after) == ("4 queued", "failed: canceled, 8 credits back")
    assert told_account(house) == ["4 queued messages canceled, 8 credits back"]
    house.assert_sound()


def test_the_same_form_cancels_once_and_what_is_queued_later_stays(
    visitor: Visitor, db: Database, house: House
) -> None:
    queued(house)
    path = path_of(db, house.amina_id)
    sign_in_operator(visitor, db)
    visitor.get(path)
    form = {"do": "cancel", "once": "of this form", **WHY}
    assert visitor.post(path, form).status_code == 303
    queued(house)
    assert visitor.post(path, form).status_code == 303
    assert "That was done already" in visitor.get(path).text
    assert house.statuses() == ["failed/canceled", "queued"]


def test_one_form_cancels_so_many_and_says_so(
    visitor: Visitor, db: Database, house: House, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(queued_messages, "CANCELED_MAX", 2)
    monkeypatch.setattr(queued_messages, "PRICED_MAX", 2)
    monkeypatch.setattr(sweep, "BATCH_MAX", 1)
    queued(house, *phones(3))
    path = path_of(db, house.amina_id)
    sign_in_operator(visitor, db)
    page = visitor.get(path).text
    assert "Cancel the first 2" in page
    assert "The credits that were charged for them go back" in page
    visitor.post(path, {"do": "cancel", **WHY})
    assert sorted(house.statuses()) == ["failed/canceled", "failed/canceled", "queued"]
    [entry] = logged(db)
    assert (entry.before, entry.after) == ("2 queued", "failed: canceled, 2 credits back")
