"""An operator decides in a transaction of a page: that does what commands do, and is tried out
before without a trace.
"""

import asyncio
from collections.abc import Callable, Coroutine
from typing import Any, TypeVar

import pytest
from sqlalchemy.engine import Connection

from heliograph.base import clock, ids
from heliograph.base.clock import DAY_MS
from heliograph.base.errors import InvalidRequest
from heliograph.base.paging import first_id_of
from heliograph.carriers import ReceiptState
from heliograph.messages.carrier import CarrierFacts
from heliograph.messages.doubt import audited_decisions, find, look_back, unmatched, work_lists
from heliograph.messages.doubt.decide import Decision, DecisionResult, read_decided_by
from heliograph.messages.tables import inflight, operator_decisions, queue
from heliograph.wallet.tables import ledger_entries
from tests.support.capability.doubtful import AFTER, TOLD, in_doubt, recorded
from tests.support.capability.sending import House
from tests.support.factories import PHONE, awaited, open_account, open_carrier, open_shops, phones

T = TypeVar("T")
WHO = read_decided_by("kofi", "ticket 4711")
THREE_SEGMENTS = "x" * 400


async def in_page(house: House, work: Callable[[Connection], T]) -> T:
    """Does it as a page does, in a thread without an event loop."""
    return await asyncio.to_thread(house.db.transact, work)


def settling(
    house: House, decision: Decision, *, is_tried: bool = False
) -> Coroutine[Any, Any, list[DecisionResult]]:
    """Decides about all messages."""
    message_ids = [row.id for row in house.messages()]
    facts = CarrierFacts(house.carrier_id, "carrier")

    def settle(tx: Connection) -> list[DecisionResult]:
        def change() -> list[DecisionResult]:
            return audited_decisions.settle(tx, facts, message_ids, decision, WHO, clock.now_ms())

        return audited_decisions.preview_of(tx, change) if is_tried else change()

    return in_page(house, settle)


@awaited
@pytest.mark.parametrize("decision", TOLD)
async def test_a_decision_of_a_page_settles_the_doubt_and_is_recorded(
    house: House, decision: Decision
) -> None:
    await in_doubt(house, *phones(2))
    done = await settling(house, decision)
    assert [each.refused for each in done] == [None, None]
    assert house.statuses() == [AFTER[decision]] * 2
    assert recorded(house) == [(decision.value, 1, "kofi", "ticket 4711")] * 2
    house.assert_sound()


@awaited
@pytest.mark.parametrize("decision", [*TOLD, Decision.RESENT])
async def test_a_decision_that_is_tried_out_tells_what_it_will_do_and_changes_nothing(
    house: House, decision: Decision
) -> None:
    await in_doubt(house, *phones(2), text=THREE_SEGMENTS)
    credits, before = house.credits(), house.statuses()
    tried = await settling(house, decision, is_tried=True)
    assert (house.statuses(), house.credits()) == (before, credits)
    assert (house.count(operator_decisions), house.count(queue), house.count(inflight)) == (0, 0, 6)
    assert house.count(ledger_entries, ledger_entries.c.type == "sms_refund") == 0
    done = await settling(house, decision)
    assert tried == done
    assert house.credits() == credits + sum(each.credits_refunded for each in tried)
    house.assert_sound()


@awaited
async def test_a_message_that_is_not_in_doubt_is_refused_beside_those_that_are(
    house: House,
) -> None:
    link = await in_doubt(house, *phones(2))
    link.answer(link.submitted[0], late=True)
    await link.turn.run_once()
    tried = await settling(house, Decision.CANCELED, is_tried=True)
    assert ["is not in doubt" in (each.refused or "") for each in tried] == [True, False]


async def matching(house: House, receipt_id: str, *, is_tried: bool = False) -> DecisionResult:
    wanted = audited_decisions.ReceiptMatch(receipt_id, house.messages()[0].id, as_one=False)
    facts = CarrierFacts(house.carrier_id, "carrier", id_format="as_is")

    def match(tx: Connection) -> DecisionResult:
        def change() -> DecisionResult:
            return audited_decisions.match(tx, facts, wanted, "kofi", clock.now_ms())

        return audited_decisions.preview_of(tx, change) if is_tried else change()

    return await in_page(house, match)


@awaited
async def test_a_receipt_is_tried_with_a_message_and_then_given_to_it(house: House) -> None:
    link = await in_doubt(house)
    await house.send(PHONE)  # so that it may be of two, and is of none
    await link.turn.run_once()
    link.receive("aa1", PHONE, ReceiptState.UNDELIV)
    await link.turn.run_once()
    with house.db.read() as tx:
        [receipt] = work_lists.oldest_unmatched(tx, house.carrier_id, None, 10)
    receipt_id = unmatched.text_id(receipt, "carrier")
    tried = await matching(house, receipt_id, is_tried=True)
    assert house.statuses() == ["queued", "queued"]
    assert tried == await matching(house, receipt_id)
    assert (tried.status, tried.error_code, tried.credits_refunded) == (
        "failed",
        "undeliverable",
        0,
    )
    assert house.statuses()[0] == "failed/undeliverable"
    house.assert_sound()


@awaited
async def test_a_receipt_of_another_handset_is_refused(house: House) -> None:
    link = await in_doubt(house)
    link.receive("aa1", phones(1)[0])
    await link.turn.run_once()
    with pytest.raises(InvalidRequest, match="another handset"):
        await matching(house, "carrier/aa1", is_tried=True)


@awaited
async def test_the_lists_of_work_go_from_the_oldest_on_and_count_by_carrier(house: House) -> None:
    link = await in_doubt(house, *phones(5))
    for number, phone in enumerate(phones(5, first=100)):
        link.receive(f"aa{number}", phone)
        if number == 3:
            link.receive(None, phone)
        await link.turn.run_once()
        clock.move(by_ms=1_000)
    other = open_carrier(house.db, "other", prefix="44")
    with house.db.read() as tx:
        first = work_lists.oldest_in_doubt(tx, house.carrier_id, None, 3)
        rest = work_lists.oldest_in_doubt(tx, house.carrier_id, first[-1].message.id, 3)
        assert [each.message.id for each in first + rest] == [row.id for row in house.messages()]
        assert work_lists.oldest_in_doubt(tx, other, None, 3) == []
        seen, after = [], None
        while page := work_lists.oldest_unmatched(tx, house.carrier_id, after, 2):
            seen += page
            after = work_lists.cursor_at(page[-1])
        assert [each.printed for each in seen if each.printed] == [f"aa{n}" for n in range(5)]
        assert (len(seen), sorted(seen, key=lambda each: each.at_ms)) == (6, seen)
        assert work_lists.count_waiting(tx, [house.carrier_id, other]) == sorted(
            [
                work_lists.WaitingForOperator(house.carrier_id, 5, 6),
                work_lists.WaitingForOperator(other, 0, 0),
            ]
        )


@awaited
async def test_messages_of_all_accounts_are_found_by_whatever_names_them(house: House) -> None:
    chidi = open_account(house.db, "chidi", credits=10, sender="CHIDI")
    await house.send([PHONE, *phones(2)])
    await house.send(PHONE, account_id=chidi, sender="CHIDI")
    link = house.turn()
    await link.turn.run_once()
    refs = link.answer(*link.submitted)
    await link.turn.run_once()
    one, *_, last = house.messages()

    def found(text: str, **narrowed: Any) -> find.FoundMessages:
        with house.db.read() as tx:
            return find.find(tx, find.SearchQuery(text, **narrowed), limit=2, now_ms=clock.now_ms())

    def places(found: find.FoundMessages) -> list[int]:
        there = [row.id for row in house.messages()]
        return [there.index(each.message.id) for each in found.rows]

    send_id = ids.text_of_raw("snd", ids.raw_of_number(int(one.id, 16) - 1))
    assert places(found(ids.text_of_raw("msg", one.id))) == [0]
    by_send = found(send_id)
    assert (places(by_send), places(found(send_id, before=by_send.before))) == ([2, 1], [0])
    assert places(found(f"+{PHONE}")) == [3, 0]
    assert places(found(PHONE, account_id=chidi)) == [3]
    assert places(found(refs[-1])) == places(found(f"carrier/{refs[-1].upper()}")) == [3]
    assert found(refs[-1]).meanings == ("carrier",)
    assert places(found(refs[-1], account_id=house.amina_id)) == []
    for nothing in ("", "msg_no", "carrier/", "elsewhere/1a", "x" * 500, "\0", "%"):
        assert places(found(nothing)) == [], nothing
    assert last.recipient == int(PHONE)


@awaited
async def test_a_number_is_looked_for_in_all_accounts_month_by_month_if_there_are_many(
    house: House, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(look_back, "LOOKED_UP_MAX", 20)
    await house.send(PHONE)
    [message] = house.messages()

    def found(before: str | None = None) -> find.FoundMessages:
        with house.db.read() as tx:
            sought = find.SearchQuery(PHONE, before=before)
            return find.find(tx, sought, limit=2, now_ms=clock.now_ms())

    sent_at_ms = clock.now_ms()
    clock.move(by_ms=100 * DAY_MS)
    assert [each.message.id for each in found().rows] == [message.id], "there are few accounts"
    open_shops(house.db, house.amina_id, 20)
    await house.send("233200000777")  # of this month
    pages, before = 0, None
    while not (page := found(before)).rows:
        assert page.since_ms is not None, "it says how far it has looked"
        assert page.since_ms > sent_at_ms
        assert page.before == first_id_of(page.since_ms)
        pages, before = pages + 1, page.before
    assert pages in (2, 3, 4), "a page looks at a month, the first one at 7 days at least"
    assert ([each.message.id for each in page.rows], page.before) == ([message.id], None)
    assert found("f" * 32).rows == found().rows == [], "below an id of a time that is to come"
    assert found("0" * 32).before is None
