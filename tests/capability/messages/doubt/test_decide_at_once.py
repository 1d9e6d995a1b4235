"""An operator decides beside a turn, the sweeps, and another operator: each doubt ends one way, and
is paid back once.
"""

import asyncio
from random import Random

import pytest
import sqlalchemy as sa

from heliograph.base import clock
from heliograph.carriers import SubmitOutcome
from heliograph.database import sessions
from heliograph.messages.carrier import CarrierFacts
from heliograph.messages.doubt.decide import Decision
from heliograph.messages.doubt.receipts import match_doubts
from heliograph.messages.sweeps import settle_doubts
from heliograph.messages.tables import inflight, queue
from tests.support.capability.doubtful import AFTER, TOLD, decided, in_doubt, recorded
from tests.support.capability.sending import House
from tests.support.factories import awaited, phones


@pytest.fixture
def patient_house(postgresql_house: House, monkeypatch: pytest.MonkeyPatch) -> House:
    """Returns a house whose transactions wait longer for locks than a busy machine keeps them
    waiting.
    """
    monkeypatch.setattr(sessions, "POSTGRES_LOCK_TIMEOUT_MS", 9_000)
    return postgresql_house


@awaited
@pytest.mark.parametrize("decision", [*TOLD, Decision.RESENT])
async def test_an_answer_that_waits_for_a_decision_under_way_finds_it_made(
    patient_house: House, decision: Decision
) -> None:
    house = patient_house
    link = await in_doubt(house)
    late = link.submitted[0]
    link.window = 0
    # holds what the decision comes to last but one, so that it holds the doubt
    async with house.db.hot() as other:
        await other.fetch("SELECT id FROM messages FOR UPDATE")
        deciding = asyncio.create_task(decided(house, decision))
        await waiting_for_locks(house, 1)
        link.answer(late, outcome=SubmitOutcome.REFUSED, late=True)
        turning = asyncio.create_task(link.turn.run_once())
        await waiting_for_locks(house, 2)
    done, _ = await asyncio.gather(deciding, turning)
    assert done[0].refused is None
    assert house.statuses() == [AFTER.get(decision, "queued")]
    house.assert_sound()


@awaited
@pytest.mark.parametrize("decision", [*TOLD, Decision.RESENT])
async def test_a_decision_that_waits_for_an_answer_under_way_finds_no_doubt(
    patient_house: House, decision: Decision
) -> None:
    house = patient_house
    link = await in_doubt(house)
    async with house.db.hot() as other:
        await other.fetch("SELECT id FROM messages FOR UPDATE")
        link.answer(link.submitted[0], outcome=SubmitOutcome.REFUSED, late=True)
        turning = asyncio.create_task(link.turn.run_once())
        await waiting_for_locks(house, 1)
        deciding = asyncio.create_task(decided(house, decision))
        await waiting_for_locks(house, 2)
    done, _ = await asyncio.gather(deciding, turning)
    assert "is not in doubt: it is failed" in str(done[0].refused)
    assert (house.statuses(), house.credits(), house.entries("sms_refund"), recorded(house)) == (
        ["failed/carrier_rejected"],
        1_000,
        [1],
        [],
    )
    house.assert_sound()


async def waiting_for_locks(house: House, sessions: int) -> None:
    """Waits until so many sessions of this database wait for rows that another one holds."""
    query = sa.text(
        """
            SELECT count(*) FROM pg_stat_activity WHERE datname = current_database()
                AND wait_event_type = 'Lock'"""
    )
    while True:
        with house.db.read() as tx:
            if tx.execute(query).scalar_one() >= sessions:
                return
        await asyncio.sleep(0.005)


@awaited
async def test_decisions_and_late_answers_at_once_end_each_message_one_way_and_pay_back_once(
    house: House,
) -> None:
    """Everybody acts at once, again and again: two operators with opposite words, late answers,
    receipts, and the sweeps.
    """
    random = Random(4711)
    link = await in_doubt(house, *phones(60), text="x" * 200)
    carrier = CarrierFacts(house.carrier_id, "carrier", "all", "as_is")
    while house.count(inflight) or house.count(queue):
        rows = [
            place
            for place, row in enumerate(house.messages())
            if row.status in ("queued", "failed")
        ] or [0]
        some = random.sample(rows, min(len(rows), 8))
        for submission in random.sample(link.submitted, 6):
            link.answer(
                submission,
                late=True,
                outcome=random.choice(
                    [SubmitOutcome.ACCEPTED, SubmitOutcome.REFUSED, SubmitOutcome.THROTTLED]
                ),
                ref=f"{submission.message_id[-6:]}{submission.part}z",
            )
        link.answer(
            *random.sample(list(link.open.values()), len(link.open)),
            outcome=SubmitOutcome.UNANSWERED,
        )
        before = {row.id: row for row in house.messages()}
        await asyncio.gather(
            decided(house, random.choice([*TOLD, Decision.RESENT]), *some),
            decided(house, random.choice(TOLD), *reversed(some)),
            link.turn.run_once(),
            match_doubts(house.db, carrier, 0, clock.now_ms()),
            settle_doubts(house.db, house.carrier_id, clock.now_ms(), resend=True),
        )
        house.assert_sound()
        for row in house.messages():
            if before[row.id].status in ("delivered", "failed"):
                assert (row.status, row.error_code) == (
                    before[row.id].status,
                    before[row.id].error_code,
                )
        clock.move(by_ms=1_000)
    assert {row.status for row in house.messages()} <= {"sent", "delivered", "failed"}
    assert house.credits() == 1_000 - 120 + sum(row.refunded for row in house.messages())
