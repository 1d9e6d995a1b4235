"""Others have taken over the work of a process that does not know it yet: it claims nothing more,
writes nothing more to the wire, and takes nothing back. What it still learns of what it had sent
counts.
"""

import asyncio
from collections.abc import Sequence
from typing import Any

import pytest

from heliograph.base import clock
from heliograph.base.errors import Unavailable
from heliograph.carriers import LinkState, Outgoing, Submission, SubmitOutcome
from heliograph.database.hot import HotTx
from heliograph.database.leases import Lease
from heliograph.messages.carrier import claim as claims
from heliograph.messages.carrier import messages_sql
from heliograph.messages.changes import message_lock
from heliograph.messages.sweeps import take_over
from heliograph.messages.tables import inflight, queue
from tests.support.capability.sending import SUCCESSOR, House, ScriptedLink
from tests.support.factories import awaited, phones

TEN_SEGMENTS = "x" * 1_530


def begun(house: House, *, alone: bool) -> int:
    lease = Lease(house.db, "serve")
    lease.begin(["serve", "worker"] if alone else [])
    return lease.number


@awaited
async def test_who_was_retired_claims_nothing(house: House) -> None:
    older, newer = begun(house, alone=True), begun(house, alone=True)
    await house.send(phones(3))
    late, link = house.turn(worker=older), house.turn(worker=newer)
    await late.turn.run_once()
    assert (late.submitted, house.count(queue)) == ([], 1)
    await link.turn.run_once()
    assert len(link.submitted) == 3


@awaited
async def test_what_the_living_have_on_the_wire_is_nobody_elses_to_take_over(house: House) -> None:
    first, second = begun(house, alone=True), begun(house, alone=False)
    await house.send(phones(3))
    await house.turn(worker=second).turn.run_once()
    assert await take_over(house.db, first, clock.now_ms()) == 0
    assert house.count(inflight, inflight.c.state == "submitting", inflight.c.worker == second) == 3


class StoppedLink(ScriptedLink):
    """The process is stopped while it claims, and goes on long after."""

    house: House

    def prepare(self, message: Outgoing) -> list[Submission]:
        self.house.may_write = False
        return super().prepare(message)


@awaited
async def test_who_was_stopped_since_it_claimed_writes_nothing(house: House) -> None:
    await house.send(phones(3))
    link = house.turn(kind=StoppedLink)
    assert isinstance(link, StoppedLink)
    link.house = house
    await link.turn.run_once()
    assert (link.submitted, house.count(inflight, inflight.c.state == "submitting")) == ([], 3)
    for _ in range(3):
        await link.turn.run_once()
    # given back, and nothing claimed
    assert (link.submitted, house.count(inflight), house.count(queue)) == ([], 0, 3)
    house.may_write = True
    successor = house.turn()
    await successor.turn.run_once()
    assert len(successor.submitted) == 3


@awaited
async def test_what_the_retired_give_back_or_lose_is_the_successors(house: House) -> None:
    """The wire took half of a long message; the other half was claimed only, and has the
    same number of try again at the successor's.
    """
    late = await house.submitted(phones(1), TEN_SEGMENTS, window=5)
    assert await house.succeeded() == 1  # message
    successor = house.turn(worker=SUCCESSOR)
    await successor.turn.run_once()
    assert [submission.part for submission in successor.submitted] == [6, 7, 8, 9, 10]
    late.state = LinkState.BACKING_OFF
    await late.turn.run_once()  # gives back what it thinks it has claimed
    # and were it to think that it has lost them
    late.answer(*successor.submitted, outcome=SubmitOutcome.UNANSWERED)
    await late.turn.run_once()
    assert (
        house.count(inflight, inflight.c.worker == SUCCESSOR, inflight.c.state == "submitting") == 5
    )
    assert house.count(queue) == 0
    late.answer(*late.submitted)  # of what is in doubt, anybody may learn
    await late.turn.run_once()
    successor.answer(*successor.submitted)
    await successor.turn.run_once()
    assert (house.count(inflight), house.statuses()) == (0, ["sent"])
    house.assert_sound()


@awaited
async def test_what_the_retired_give_back_leaves_the_successors_doubt(house: House) -> None:
    """The claimed half goes out from the successor, whose connection breaks: nobody knows
    whether it was sent, and a zombie least of all.
    """
    late = await house.submitted(phones(1), TEN_SEGMENTS, window=5)
    await house.succeeded()
    successor = house.turn(worker=SUCCESSOR)
    await successor.turn.run_once()
    successor.answer(*successor.submitted, outcome=SubmitOutcome.UNANSWERED)
    await successor.turn.run_once()
    late.state = LinkState.BACKING_OFF
    house.may_write = False
    for link in (late, late, successor):
        await link.turn.run_once()
    assert (house.count(inflight, inflight.c.state == "in_doubt"), house.count(queue)) == (10, 0)
    assert len(successor.submitted) == 5


@awaited
@pytest.mark.parametrize("kind", ["sms", "otp"])
async def test_an_answer_that_is_recorded_twice_leaves_anothers_doubt(
    house: House, kind: str
) -> None:
    """The reply to the first COMMIT was lost, and another process has claimed and submitted what it
    gave back.
    """
    first = await house.submitted(phones(1), kind=kind)
    first.answer(*first.submitted, outcome=SubmitOutcome.THROTTLED)
    first.turn.claiming = False
    house.db.fates = ["reply lost"]
    with pytest.raises(Unavailable):
        await first.turn.run_once()
    second_epoch = Lease(house.db, "worker")
    second_epoch.begin()
    clock.move(by_ms=1_000)
    second = house.turn(worker=second_epoch.number)
    await second.turn.run_once()
    second.answer(*second.submitted, outcome=SubmitOutcome.UNANSWERED)
    await second.turn.run_once()
    await first.turn.run_once()
    clock.move(by_ms=1_000)
    await second.turn.run_once()
    assert (
        len(second.submitted),
        house.count(inflight, inflight.c.state == "in_doubt"),
        house.count(queue),
    ) == (1, 1, 0)


@awaited
async def test_a_part_that_was_accepted_while_another_process_claims_goes_out_once(
    postgresql_house: House, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It is accepted between the other one's look at the message and its claim."""
    house = postgresql_house
    first = await house.submitted(phones(1), TEN_SEGMENTS)
    throttled, *others = first.submitted
    first.answer(throttled, outcome=SubmitOutcome.THROTTLED)
    first.turn.claiming = False
    await first.turn.run_once()
    clock.move(by_ms=1_000)
    lease = Lease(house.db, "worker")
    await asyncio.to_thread(lease.begin)
    second = house.turn(worker=lease.number)
    look = messages_sql.outgoing

    async def look_and_lose_time(
        tx: HotTx, message_ids: list[str]
    ) -> list[messages_sql.OutgoingMessage]:
        rows = await look(tx, message_ids)
        monkeypatch.setattr(messages_sql, "outgoing", look)
        first.answer(*others)
        await first.turn.run_once()
        return rows

    monkeypatch.setattr(messages_sql, "outgoing", look_and_lose_time)
    await second.turn.run_once()
    assert [submission.part for submission in second.submitted] == [throttled.part]
    second.answer(*second.submitted)
    await second.turn.run_once()
    assert (house.count(inflight), house.statuses()) == (0, ["sent"])


@awaited
async def test_a_claim_waits_for_nobody_who_is_about_to_store_an_answer(
    postgresql_house: House, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The turn of one process ends parts of a message and then waits for the message, which the
    other one may hold while it claims: neither would go on.
    """
    house = postgresql_house
    first = await house.submitted(phones(1), TEN_SEGMENTS)
    throttled, *others = first.submitted
    first.answer(throttled, outcome=SubmitOutcome.THROTTLED)
    first.turn.claiming = False
    await first.turn.run_once()
    clock.move(by_ms=1_000)
    lease = Lease(house.db, "worker")
    await asyncio.to_thread(lease.begin)
    second = house.turn(worker=lease.number)
    lock, has_ended_parts, has_claimed = (
        message_lock.lock_messages,
        asyncio.Event(),
        asyncio.Event(),
    )

    async def lock_later(tx: HotTx, message_ids: set[str]) -> list[message_lock.LockedMessage]:
        monkeypatch.setattr(message_lock, "lock_messages", lock)
        has_ended_parts.set()
        await has_claimed.wait()
        return await lock(tx, message_ids)

    monkeypatch.setattr(message_lock, "lock_messages", lock_later)
    first.answer(*others)
    storing = asyncio.create_task(first.turn.run_once())
    await has_ended_parts.wait()
    try:
        await second.turn.run_once()
    finally:
        has_claimed.set()
        await storing
    assert [submission.part for submission in second.submitted] == [throttled.part]
    second.answer(*second.submitted)
    await second.turn.run_once()
    assert (house.count(inflight), house.statuses()) == (0, ["sent"])


@awaited
async def test_what_is_paid_back_is_not_sent_after_all(
    postgresql_house: House, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The carrier refuses one part, whose process finds nothing of the message on the wire, just
    before another process's claim of the other part is committed.
    """
    house = postgresql_house
    first = await house.submitted(phones(1), "x" * 300)
    refused, throttled = first.submitted
    first.answer(throttled, outcome=SubmitOutcome.THROTTLED)
    first.turn.claiming = False
    await first.turn.run_once()
    clock.move(by_ms=1_000)
    lease = Lease(house.db, "worker")
    await asyncio.to_thread(lease.begin)
    second, claim, storing = (
        house.turn(worker=lease.number),
        claims.claim,
        list[asyncio.Task[float]](),
    )

    async def claim_and_lose_time(*args: Any, **named: Any) -> claims.Claim:
        claimed = await claim(*args, **named)
        first.answer(refused, outcome=SubmitOutcome.REFUSED)
        storing.append(asyncio.create_task(first.turn.run_once()))
        await asyncio.wait(storing, timeout=0.3)
        return claimed

    monkeypatch.setattr(claims, "claim", claim_and_lose_time)
    await second.turn.run_once()
    await asyncio.gather(*storing)
    second.answer(*second.submitted)
    await second.turn.run_once()
    [message] = house.messages()
    assert (
        len(second.submitted),
        message.status,
        message.parts_accepted.bit_count() + message.refunded,
    ) == (1, "failed", 2)
    house.assert_sound()


@awaited
async def test_a_message_that_somebody_settles_just_now_is_claimed_later(
    postgresql_house: House, monkeypatch: pytest.MonkeyPatch
) -> None:
    house = postgresql_house
    first = await house.submitted(phones(1), "x" * 300)
    accepted, throttled = first.submitted
    first.answer(throttled, outcome=SubmitOutcome.THROTTLED)
    first.turn.claiming = False
    await first.turn.run_once()
    clock.move(by_ms=1_000)
    lease = Lease(house.db, "worker")
    await asyncio.to_thread(lease.begin)
    second = house.turn(worker=lease.number)
    store, has_locked, may_go_on = messages_sql.store_messages, asyncio.Event(), asyncio.Event()

    async def store_later(tx: HotTx, rows: Sequence[messages_sql.SettledMessage]) -> None:
        monkeypatch.setattr(messages_sql, "store_messages", store)
        has_locked.set()
        await may_go_on.wait()
        await store(tx, rows)

    monkeypatch.setattr(messages_sql, "store_messages", store_later)
    first.answer(accepted)
    storing = asyncio.create_task(first.turn.run_once())
    await has_locked.wait()
    try:
        await second.turn.run_once()
        assert (second.submitted, house.count(queue)) == ([], 1)
    finally:
        may_go_on.set()
        await storing
    await second.turn.run_once()
    second.answer(*second.submitted)
    await second.turn.run_once()
    assert (len(second.submitted), house.statuses()) == (1, ["sent"])
