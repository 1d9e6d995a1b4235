"""A carrier's turn is stopped, canceled, or meets what cannot be stored: nothing behind it
suffers.
"""

import asyncio
from collections.abc import Iterator
from contextlib import contextmanager

import psycopg
import pytest
import sqlalchemy as sa
import structlog

from heliograph.base import clock
from heliograph.base.errors import Unavailable
from heliograph.carriers import Outgoing, Receipt, Submission, SubmitOutcome
from heliograph.carriers.smpp import SmppSettings
from heliograph.carriers.smpp.encode import Encoder
from heliograph.database.sessions import POSTGRES_LOCK_TIMEOUT_MS
from heliograph.messages.carrier import turn
from heliograph.messages.states import RESEND_AFTER_MS
from heliograph.messages.sweeps import settle_doubts, take_over
from heliograph.messages.tables import inflight, sends, unmatched_receipts
from tests.support.capability.sending import SUCCESSOR, WORKER, House, ScriptedLink, only_worker
from tests.support.capability.turning import twice, until_nothing_waits
from tests.support.factories import awaited, phones

TEN_SEGMENTS = "x" * 1_530


class EncodingLink(ScriptedLink):
    """Prepares messages as the SMPP client does."""

    def prepare(self, message: Outgoing) -> list[Submission]:
        return Encoder(SmppSettings("carrier", "127.0.0.1", 9, "heliograph", "secret")).submissions(
            message
        )


@contextmanager
def logged() -> Iterator[list[str]]:
    """Yields the events of the log, filled in at the end."""
    events: list[str] = []
    with structlog.testing.capture_logs() as entries:
        yield events
    events += [entry["event"] for entry in entries]


def change_schema(house: House, statement: str) -> None:
    with house.db.write() as tx:
        tx.exec_driver_sql(statement)


@awaited
async def test_a_turn_that_stops_gives_back_what_it_has_not_written(house: House) -> None:
    link = await house.submitted(phones(2), TEN_SEGMENTS, window=5)
    link.turn.claiming = False
    link.answer(*link.open.values())
    await link.close(0)
    await link.turn.finish()
    assert house.count(inflight) == 0
    only_worker(house.db, SUCCESSOR)
    successor = house.turn(worker=SUCCESSOR)
    await until_nothing_waits(successor)
    assert [s.part for s in link.submitted + successor.submitted] == list(range(1, 11)) * 2
    assert house.statuses() == ["sent"] * 2


@awaited
async def test_one_thing_that_cannot_be_stored_does_not_stop_what_is_behind_it(
    house: House,
) -> None:
    link = await house.submitted(phones(50))
    refs = link.answer(*link.open.values())
    for ref, phone in zip(refs[:20], phones(20), strict=True):
        link.receive(ref, phone)
    # no database takes that number
    poison = Receipt(
        ref=None,
        state=None,
        error=None,
        recipient=None,
        sender=None,
        user_message_reference=1 << 70,
        raw=b"poison",
        token=object(),
    )
    link.turn.on_receipts([poison])
    for ref, phone in zip(refs[20:], phones(50)[20:], strict=True):
        link.receive(ref, phone)
    turning = asyncio.create_task(link.turn.run())
    async with asyncio.timeout(10):
        while house.statuses() != ["delivered"] * 50:
            await asyncio.sleep(0.01)
        while len(link.acknowledged) < 51:  # that one too, or the carrier would send it for ever
            await asyncio.sleep(0.01)
    turning.cancel()
    await asyncio.gather(turning, return_exceptions=True)
    assert poison.token in [receipt.token for receipt in link.acknowledged]
    assert house.count(unmatched_receipts, unmatched_receipts.c.raw == b"poison") == 1


@awaited
async def test_a_turn_outlives_a_lock_that_it_did_not_get(postgresql_house: House) -> None:
    house = postgresql_house
    link = await house.submitted()
    link.answer(*link.open.values(), outcome=SubmitOutcome.REFUSED)
    holder = psycopg.connect(house.db.url)
    holder.execute("SELECT FROM wallets FOR UPDATE")
    turning = asyncio.create_task(link.turn.run())
    await asyncio.sleep(POSTGRES_LOCK_TIMEOUT_MS / 1_000 + 0.3)
    assert not turning.done()
    holder.close()
    async with asyncio.timeout(5):
        while house.credits() != 1_000:
            await asyncio.sleep(0.01)
    turning.cancel()
    await asyncio.gather(turning, return_exceptions=True)


@awaited
async def test_a_turn_that_is_canceled_at_any_moment_leaves_the_database_usable(
    house: House,
) -> None:
    await house.send(phones(300))
    link = house.turn(window=5)
    for steps in range(40):
        link.answer(*link.open.values())
        turning = asyncio.create_task(link.turn.run_once())
        for _ in range(steps):
            await asyncio.sleep(0)
        turning.cancel()
        await asyncio.gather(turning, return_exceptions=True)
        async with asyncio.timeout(5):
            await link.turn.run_once()
    await until_nothing_waits(link)
    assert not twice(link)
    assert house.statuses() == ["sent"] * 300


@awaited
async def test_in_an_outage_nothing_is_left_out_and_after_it_only_what_cannot_be_stored(
    house: House, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(turn, "AFTER_FAULT_S", 0.001)
    link = await house.submitted(phones(20))
    refs = link.answer(*link.open.values())
    link.turn.on_receipts(
        [
            Receipt(
                ref=None,
                state=None,
                error=None,
                recipient=None,
                sender=None,
                user_message_reference=1 << 70,
                raw=b"poison",
                token=object(),
            )
        ]
    )
    for ref, phone in zip(refs, phones(20), strict=True):
        link.receive(ref, phone)
    house.db.fates = ["lost", "reply lost"] * 20
    with logged() as events:
        await link.turn.finish()
    assert house.statuses() == ["delivered"] * 20
    assert (events.count("answer_left_out"), events.count("receipt_left_out")) == (0, 1)


@awaited
async def test_a_database_that_lacks_a_table_for_a_while_loses_nothing_that_came_in(
    house: House, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(turn, "AFTER_FAULT_S", 0.001)
    link = await house.submitted(phones(5))
    refs = link.answer(*link.open.values())
    for ref, phone in zip(refs, phones(5), strict=True):
        link.receive(ref, phone)
    change_schema(house, "ALTER TABLE carrier_refs RENAME TO away")
    with logged() as events:
        finishing = asyncio.create_task(link.turn.finish())
        await asyncio.sleep(0.5)  # many tries
        await asyncio.to_thread(change_schema, house, "ALTER TABLE away RENAME TO carrier_refs")
        await finishing
    assert events.count("turn_failed") > 5
    assert not {"answer_left_out", "receipt_left_out"} & set(events)
    assert (house.statuses(), len(link.acknowledged)) == (["delivered"] * 5, 5)


@awaited
async def test_an_answer_that_is_refused_leaves_its_segment_in_doubt(
    house: House, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(turn, "AFTER_FAULT_S", 0.001)
    link = await house.submitted(phones(3))
    for submission, ref in zip(link.submitted, ("1" * 30, "2" * 30, "3"), strict=True):
        link.answer(submission, ref=ref)
    change_schema(
        house, "CREATE UNIQUE INDEX one_long_id ON carrier_refs (carrier_id) WHERE length(ref) = 30"
    )
    try:
        await link.turn.finish()
    finally:
        change_schema(house, "DROP INDEX one_long_id")
    assert house.statuses() == ["sent", "queued", "sent"]
    assert house.count(inflight, inflight.c.state == "in_doubt") == 1


@awaited
async def test_what_is_refused_even_as_a_doubt_is_never_submitted_again_and_found_in_doubt_later(
    house: House, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(turn, "AFTER_FAULT_S", 0.001)
    link = await house.submitted(phones(2), kind="otp")
    change_schema(
        house, "CREATE UNIQUE INDEX one_doubt ON inflight (state) WHERE state = 'in_doubt'"
    )
    try:
        link.answer(*link.open.values(), outcome=SubmitOutcome.UNANSWERED)
        await link.turn.finish()
        assert house.count(inflight, inflight.c.state == "submitting") == 1
    finally:
        change_schema(house, "DROP INDEX one_doubt")
    house.db.fates = ["lost"]
    link.receive("aa1", phones(9)[8])
    await link.turn.finish()  # what is uncertain is taken back; this is not
    await take_over(house.db, WORKER, clock.now_ms(), of_carrier=house.carrier_id)
    assert house.count(inflight, inflight.c.state == "in_doubt") == 2
    successor = house.turn()
    clock.move(by_ms=RESEND_AFTER_MS)
    assert await settle_doubts(house.db, house.carrier_id, clock.now_ms(), resend=True) == 0  # OTPs
    await successor.turn.run_once()
    assert (len(link.submitted), successor.submitted) == (2, [])


@awaited
@pytest.mark.parametrize("fate", ["", "lost", "reply lost"])
async def test_a_message_that_cannot_be_encoded_fails_alone_and_is_paid_back(
    house: House, fate: str
) -> None:
    for phone in phones(3):
        await house.send(phone, "x" * 200)
    with house.db.write() as tx:
        second = tx.execute(sa.select(sends.c.id).order_by(sends.c.id)).scalars().all()[1]
        tx.execute(sa.update(sends).where(sends.c.id == second).values(text=None))
    link = house.turn(kind=EncodingLink)
    house.db.fates = [fate]
    if fate:
        with pytest.raises(Unavailable):
            await link.turn.run_once()
    await until_nothing_waits(link)
    await link.turn.run_once()
    assert house.statuses() == ["sent", "failed/carrier_rejected", "sent"]
    assert (
        len(link.submitted),
        house.count(inflight),
        house.credits(),
        house.entries("sms_refund"),
    ) == (4, 0, 996, [2])
    house.assert_sound()


@awaited
async def test_a_turn_that_stops_while_the_database_is_away_ends_in_time_and_leaves_doubts(
    house: House,
) -> None:
    link = await house.submitted(phones(3))
    link.turn.claiming = False
    await link.close(0)
    house.db.fates = ["lost"] * 1_000
    with logged() as events:
        async with asyncio.timeout(5):
            await link.turn.finish(0.6)
    assert events.count("turn_failed") > 1
    assert events[-1] == "turn_not_finished"
    house.db.fates = []
    await house.succeeded()
    assert house.count(inflight, inflight.c.state == "in_doubt") == 3
