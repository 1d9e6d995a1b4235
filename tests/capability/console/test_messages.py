"""Operators work with messages of all accounts in the console."""

import asyncio
import html
import json
import re
from collections.abc import Callable, Coroutine
from typing import Any

import pytest
import sqlalchemy as sa

from heliograph import users
from heliograph.accounts import audit_log
from heliograph.base import clock, ids
from heliograph.base.clock import DAY_MS
from heliograph.base.paging import PageWanted
from heliograph.carriers import ReceiptState, all_carriers
from heliograph.carriers.tables import carriers
from heliograph.database.database import Database
from heliograph.messages.doubt import look_back, work_lists
from heliograph.otp.sealed_text import text_sealer
from heliograph.users import OperatorRole
from heliograph.users.sign_ins import FRESH_MS
from tests.support.capability.doubtful import in_doubt, recorded
from tests.support.capability.sending import House
from tests.support.console.operators import OPERATOR, sign_in_operator
from tests.support.factories import PHONE, SECRET_KEY, open_shops, phones
from tests.support.portal.visitor import EMAIL, Visitor, home_of

TEXT = "nobody's business but hers"
IN_DOUBT = "/console/messages/in-doubt"


def made(work: Callable[[House], Coroutine[Any, Any, Any]], house: House) -> Any:
    """Does it in an event loop of its own, as the service beside the console would."""

    async def whole() -> Any:
        try:
            return await work(house)
        finally:
            await house.db.close_hot()

    return asyncio.run(whole())


def message_ids(house: House) -> list[str]:
    return [ids.text_of_raw("msg", row.id) for row in house.messages()]


def sent_to(to: list[str], text: str = TEXT) -> Callable[[House], Coroutine[Any, Any, None]]:
    async def doubtful(house: House) -> None:
        await in_doubt(house, *to, text=text)

    return doubtful


def test_a_message_is_found_by_its_number_and_shows_where_it_is_without_its_text(
    visitor: Visitor, db: Database, house: House
) -> None:
    made(sent_to([PHONE], TEXT * 10), house)
    sign_in_operator(visitor, db, OperatorRole.AUDITOR)
    [message] = message_ids(house)
    assert f"/console/messages/{message}" in visitor.get(f"/console/messages?q=%2B{PHONE}").text
    led = visitor.get(f"/console/messages?q={message}")
    assert led.headers["location"] == f"/console/messages/{message}"
    page = visitor.get(f"/console/messages/{message}").text
    for shown in ("amina", "in doubt", "submit_sm of segment 2", "segment 2 of 2", "SMS charge"):
        assert shown in page, shown
    assert "nobody" not in page
    assert TEXT[:9].encode().hex(" ").upper() not in page
    assert "Show the text" not in page, "an auditor does not read texts"
    assert "No message is called" in visitor.get("/console/messages?q=233999").text
    assert "was not found" in visitor.get("/console/messages?q=1&account=nobody").text


def test_a_page_says_how_far_back_it_has_looked_for_a_number_and_leads_further(
    visitor: Visitor, db: Database, house: House, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(look_back, "LOOKED_UP_MAX", 20)
    made(sent_to([PHONE]), house)
    [message] = message_ids(house)
    open_shops(db, house.amina_id, 20)
    clock.move(by_ms=70 * DAY_MS)
    sign_in_operator(visitor, db, OperatorRole.SUPPORT)
    shown = visitor.get(f"/console/messages?q={PHONE}").text
    assert "as far as this page has looked" in shown
    assert "What waits for you" not in shown, "a search does not count what waits"
    while f"/console/messages/{message}" not in shown:
        further = re.search(r'rel="next" href="([^"]+)">Look further back', shown)
        assert further is not None
        shown = visitor.get(html.unescape(further[1])).text
    assert "Look further back" not in shown


def test_who_reads_a_text_stands_in_both_logs(
    visitor: Visitor, stranger: Visitor, db: Database, house: House
) -> None:
    made(sent_to([PHONE]), house)
    sign_in_operator(visitor, db, OperatorRole.SUPPORT)
    [message] = message_ids(house)
    visitor.get(f"/console/messages/{message}")
    page = visitor.post(f"/console/messages/{message}/text")
    assert "nobody&#39;s business but hers" in page.text
    assert TEXT[:9].encode().hex(" ").upper() in page.text
    with db.read() as tx:
        [logged] = users.operator_entries(tx, PageWanted(9, None))
        [told] = audit_log.page(tx, house.amina_id, PageWanted(9, None))
    assert (logged.email, logged.entry.action, logged.entry.record) == (
        OPERATOR,
        "message.read",
        message,
    )
    assert told.entry.action == "message.read"
    assert "nobody" not in str((logged, told))
    stranger.sign_in(EMAIL, house.amina_id)
    assert "Read the text of a message" in stranger.get(f"{home_of(db, house.amina_id)}/audit").text


def test_a_one_time_code_is_never_shown(visitor: Visitor, db: Database, house: House) -> None:
    async def code(house: House) -> None:
        sealed = text_sealer(SECRET_KEY).seal("471100 is your code")
        await in_doubt(house, PHONE, text=sealed, kind="otp")

    made(code, house)
    sign_in_operator(visitor, db)
    [message] = message_ids(house)
    page = visitor.get(f"/console/messages/{message}").text
    assert "never shown" in page
    assert "destination_addr" in page
    refused = visitor.post(f"/console/messages/{message}/text")
    assert refused.status_code == 403
    assert "471100" not in page + refused.text
    with db.read() as tx:
        assert list(users.operator_entries(tx, PageWanted(9, None))) == []


@pytest.mark.parametrize(
    ("do", "after", "back"),
    [
        ("sent", "sent", 0),
        ("delivered", "delivered", 0),
        ("undeliverable", "failed/undeliverable", 0),
        ("canceled", "failed/canceled", 1),
        ("resent", "queued", 0),
    ],
)
def test_messages_in_doubt_are_settled_together_after_what_that_does_is_shown(
    visitor: Visitor, db: Database, house: House, do: str, after: str, back: int
) -> None:
    made(sent_to(phones(3)), house)
    sign_in_operator(visitor, db, OperatorRole.SUPPORT)
    page = visitor.get(IN_DOUBT).text
    chosen = dict.fromkeys(message_ids(house)[:2], "yes")
    assert all(message in page for message in message_ids(house))
    form = {"carrier": str(house.carrier_id), "do": do}
    before = (house.statuses(), house.credits())
    asked = visitor.post(IN_DOUBT, {**form, **chosen})
    assert asked.status_code == 200
    assert f"<dd>{2 * back}</dd>" in asked.text
    assert "<dd>2</dd>" in asked.text
    missing = visitor.post(f"{IN_DOUBT}/decide", {**form, **chosen})
    assert missing.status_code == 400
    assert "must have 1 to 255 characters" in missing.text
    assert (house.statuses(), house.credits()) == before
    assert recorded(house) == []
    done = visitor.post(f"{IN_DOUBT}/decide", {**form, **chosen, "reason": "ticket 4711"})
    assert done.headers["location"] == f"{IN_DOUBT}?carrier={house.carrier_id}"
    assert house.statuses() == [after, after, "queued"]
    assert house.credits() == before[1] + 2 * back
    assert recorded(house) == [(do, 1, OPERATOR, "ticket 4711")] * 2
    with db.read() as tx:
        logged = users.operator_entries(tx, PageWanted(9, None))
        told = audit_log.page(tx, house.amina_id, PageWanted(9, None))
    assert {each.entry.record for each in logged} == set(chosen)
    assert {each.entry.reason for each in logged} == {"ticket 4711"}
    assert {each.entry.record for each in told} == set(chosen)
    again = visitor.post(f"{IN_DOUBT}/decide", {**form, **chosen, "reason": "ticket 4711"})
    assert again.status_code == 200
    assert "is not in doubt" in again.text
    house.assert_sound()


def test_each_message_in_doubt_says_when_it_is_sent_again_by_itself(
    visitor: Visitor, db: Database, house: House
) -> None:
    made(sent_to([PHONE]), house)
    sign_in_operator(visitor, db, OperatorRole.SUPPORT)
    with db.read() as tx:
        carrier = next(each for each in all_carriers(tx) if each.id == house.carrier_id)
        assert carrier.settings.get("in_doubt", "resend") == "resend"
    clock.move(20_000)
    page = visitor.get(IN_DOUBT).text
    assert f"{carrier.name} is set to send a message once more by itself, 120 s after" in page
    told = re.search(r">in ([0-9]+) s</time>", page)
    assert told is not None
    assert 80 <= int(told[1]) <= 100
    clock.move(120_000)
    assert '"Sent again by itself:">now</td>' in visitor.get(IN_DOUBT).text
    with db.write() as tx:
        never = json.dumps({**carrier.settings, "in_doubt": "never"})
        tx.execute(sa.update(carriers).where(carriers.c.id == carrier.id).values(settings=never))
    page = visitor.get(IN_DOUBT).text
    assert f"{carrier.name} is set to send no message again by itself" in page
    assert '"Sent again by itself:">no</td>' in page


def test_nothing_is_decided_without_a_choice_or_for_a_carrier_that_is_not_there(
    visitor: Visitor, db: Database, house: House
) -> None:
    made(sent_to([PHONE]), house)
    sign_in_operator(visitor, db)
    visitor.get(IN_DOUBT)
    carrier = str(house.carrier_id)
    none = visitor.post(IN_DOUBT, {"carrier": carrier, "do": "sent"})
    assert none.status_code == 400
    assert "Choose 1 to 100 of the list" in none.text
    [message] = message_ids(house)
    for form, status in (
        ({"carrier": carrier, "do": "receipt", message: "yes"}, 400),
        ({"carrier": "999", "do": "sent", message: "yes"}, 404),
        ({"carrier": carrier, "do": "sent", "msg_x": "yes"}, 404),
    ):
        assert visitor.post(IN_DOUBT, form).status_code == status
    for query in ("carrier=999", "carrier=x"):
        assert visitor.get(f"{IN_DOUBT}?{query}").status_code == 404


def test_a_hundred_messages_are_decided_at_once_and_more_are_on_the_next_page(
    visitor: Visitor, db: Database, house: House
) -> None:
    made(sent_to(phones(101)), house)
    sign_in_operator(visitor, db)
    pages = [page.text for page in visitor.pages(IN_DOUBT)]
    found = [re.findall(r'name="(msg_\w+)"', page) for page in pages]
    assert found == [message_ids(house)[:100], message_ids(house)[100:]]
    form = {"carrier": str(house.carrier_id), "do": "canceled", **dict.fromkeys(found[0], "yes")}
    visitor.get(IN_DOUBT)
    assert visitor.post(IN_DOUBT, form).status_code == 200
    done = visitor.post(f"{IN_DOUBT}/decide", {**form, "reason": "ticket 4711"})
    assert done.status_code == 303
    assert house.statuses() == ["failed/canceled"] * 100 + ["queued"]
    house.assert_sound()


def test_a_receipt_is_matched_to_a_message_after_what_that_does_is_shown(
    visitor: Visitor, db: Database, house: House
) -> None:
    async def doubtful(house: House) -> None:
        link = await in_doubt(house)
        await house.send(PHONE)
        await link.turn.run_once()
        link.receive("aa1", PHONE, ReceiptState.UNDELIV)
        link.receive("aa2", phones(1)[0])
        await link.turn.run_once()

    made(doubtful, house)
    sign_in_operator(visitor, db, OperatorRole.SUPPORT)
    listed = visitor.get("/console/messages/receipts").text
    assert "carrier%2Faa1" in listed
    path, message = "/console/messages/match", message_ids(house)[0]
    assert message in visitor.get(f"{path}?receipt=carrier/aa1").text
    form = {"receipt": "carrier/aa1", "message": message}
    tried = visitor.post(path, {**form, "do": "see"})
    assert tried.status_code == 200
    assert "undeliverable" in tried.text
    other = visitor.post(path, {"receipt": "carrier/aa2", "message": message, "do": "see"})
    assert other.status_code == 400
    assert "another handset" in other.text
    assert visitor.post(path, {**form, "do": "match"}).status_code == 400, "no reason"
    assert house.statuses() == ["queued", "queued"]
    done = visitor.post(path, {**form, "do": "match", "reason": "their support says so"})
    assert done.status_code == 303
    assert house.statuses()[0] == "failed/undeliverable"
    with db.read() as tx:
        [logged] = users.operator_entries(tx, PageWanted(9, None))
        assert work_lists.count_waiting(tx, [house.carrier_id])[0].unmatched == 1
    assert (logged.entry.action, logged.entry.record) == ("message.match", message)
    assert visitor.get(f"{path}?receipt=carrier/aa1").status_code == 404
    assert "Decided by hand" in visitor.get(f"/console/messages/{message}").text
    house.assert_sound()


def test_lists_without_work_say_what_will_be_there(
    visitor: Visitor, db: Database, house: House
) -> None:
    sign_in_operator(visitor, db)
    assert "Nothing waits" in visitor.get("/console/messages").text
    assert (
        "Nothing is in doubt with carrier"
        in visitor.get(f"{IN_DOUBT}?carrier={house.carrier_id}").text
    )
    assert (
        "has found its message"
        in visitor.get(f"/console/messages/receipts?carrier={house.carrier_id}").text
    )
    for wrong in ("after=x", "cursor=x", "limit=0"):
        assert visitor.get(f"/console/messages/receipts?{wrong}").status_code == 400


def test_a_decision_takes_a_fresh_sign_in(visitor: Visitor, db: Database, house: House) -> None:
    made(sent_to([PHONE]), house)
    sign_in_operator(visitor, db)
    visitor.get(IN_DOUBT)
    clock.move(FRESH_MS)
    form = {"carrier": str(house.carrier_id), "do": "sent", message_ids(house)[0]: "yes"}
    assert "Confirm that it is you" in visitor.post(IN_DOUBT, form).text
    assert house.statuses() == ["queued"]
