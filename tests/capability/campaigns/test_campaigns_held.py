"""When a campaign's jobs are killed half way, and somebody decides otherwise meanwhile, nothing
stays held that shall go, and nothing goes that shall not.
"""

import asyncio

import psycopg
import sqlalchemy as sa

from heliograph import campaigns
from heliograph.base import clock
from heliograph.carriers import SubmitOutcome
from heliograph.messages.queue.rank import HELD_FROM_US
from heliograph.messages.states import RESEND_AFTER_MS
from heliograph.messages.sweeps import hold, release, settle_doubts
from heliograph.messages.sweeps.pause import RUNS_AT_ONCE
from heliograph.messages.tables import queue
from tests.support.capability.campaigning import Running, sent
from tests.support.capability.campaigns import now
from tests.support.capability.sending import House
from tests.support.factories import awaited

PEOPLE = RUNS_AT_ONCE + 50  # each text is a run of its own, so that they are held in two steps


@awaited
async def test_what_was_held_when_a_pause_was_half_done_is_let_go_by_resuming(house: House) -> None:
    made = await sent(house, PEOPLE)
    made.decide("pause")
    # and the process dies
    assert await hold(house.db, made.campaign.group_id) == RUNS_AT_ONCE
    made.decide("resume")
    await made.looks(PEOPLE, 0)


@awaited
async def test_what_was_let_go_when_a_resumption_was_half_done_is_held_by_pausing_again(
    house: House,
) -> None:
    made = await sent(house, PEOPLE)
    made.decide("pause")
    await made.looks(0, PEOPLE)
    made.decide("resume")
    # and the process dies
    assert await release(house.db, made.campaign.group_id) == RUNS_AT_ONCE
    made.decide("pause")
    await made.looks(0, PEOPLE)
    made.decide("resume")
    await made.looks(PEOPLE, 0)


@awaited
async def test_the_rest_of_a_run_that_a_carrier_is_taking_is_held_when_it_has_taken(
    postgresql_house: House,
) -> None:
    """Its turn has the run locked while others are held, and puts the rest back when it commits."""
    house = postgresql_house
    made = await sent(house, people=10, message="Hello")
    made.decide("pause")
    with psycopg.connect(house.db.url) as turn:
        first, count = turn.execute("SELECT first_id, count FROM queue FOR UPDATE").fetchall()[0]
        await made.look()
        turn.execute(
            "UPDATE queue SET first_id = %s, count = %s",
            (first.hex[:-1] + f"{int(first.hex[-1], 16) ^ 1:x}", count - 1),
        )
    assert made.runs() == (1, 0)
    await made.looks(0, 1)


@awaited
async def test_what_is_paid_is_let_go_though_the_campaign_stops_again_by_itself(
    house: House,
) -> None:
    made = await sent(house, PEOPLE)
    made.decide("pause")
    await made.look()
    made.decide("resume")
    with house.db.write() as tx:
        campaigns.pause(tx, made.campaign.id, "sender_not_approved")
    await made.looks(PEOPLE, 0)
    assert now(house.db, made.campaign).status == "paused"


@awaited
async def test_what_comes_back_while_it_is_paused_waits_too(house: House) -> None:
    """It was throttled, is to be tried again, is in doubt, or was never written because the process
    died.
    """
    running = Running(house, 6)
    await running.look()
    running.link.window = 4
    await running.link.turn.run_once()
    with house.db.write() as tx:
        campaigns.pause(tx, running.campaign.id)
    await running.look()
    outcomes = (
        SubmitOutcome.THROTTLED,
        SubmitOutcome.RETRY,
        SubmitOutcome.UNANSWERED,
        SubmitOutcome.ACCEPTED,
    )
    for submission, outcome in zip(list(running.link.open.values()), outcomes, strict=True):
        running.link.answer(submission, outcome=outcome)
    await running.link.turn.run_once()
    clock.move(by_ms=RESEND_AFTER_MS + 1)
    try:
        assert await settle_doubts(house.db, house.carrier_id, clock.now_ms(), resend=True) == 1
        running.link.window = 100
        await running.look()
        await running.send()
        await running.look()
        assert (len(running.link.submitted), house.statuses()) == (
            4,
            ["queued", "queued", "queued", "sent", "queued", "queued"],
        )
        assert running.state() == ("paused", "paused_by_operator")
        with house.db.write() as tx:
            campaigns.resume(tx, running.campaign.id)
        await running.look()
        await running.send()
        assert (len(running.link.submitted), house.statuses()) == (
            9,
            ["delivered"] * 3 + ["sent"] + ["delivered"] * 2,
        )
    finally:
        clock.move(by_ms=-RESEND_AFTER_MS - 1)
    house.assert_sound()


@awaited
async def test_what_comes_back_waits_for_a_decision_that_is_just_stored(
    postgresql_house: House,
) -> None:
    house = postgresql_house
    running = Running(house, 3)
    await running.look()
    await running.link.turn.run_once()
    running.link.answer(*list(running.link.open.values()), outcome=SubmitOutcome.THROTTLED)
    with psycopg.connect(house.db.url) as jobs:
        jobs.execute("UPDATE groups SET held = true")
        turn = asyncio.create_task(running.link.turn.run_once())
        await asyncio.sleep(0.2)
        assert house.count(queue) == 0
    await turn
    assert (house.count(queue, queue.c.rank_us >= HELD_FROM_US), house.count(queue)) == (3, 3)


@awaited
async def test_a_look_waits_for_what_is_just_coming_back(postgresql_house: House) -> None:
    house = postgresql_house
    made = await sent(house, people=3, message="Hello")
    made.decide("pause")
    with psycopg.connect(house.db.url) as turn:
        turn.execute("SELECT held FROM groups FOR SHARE")
        turn.execute(
            "INSERT INTO queue SELECT carrier_id, 77, first_id, 1, send_id, segments, prefix,"
            " attempt, not_before_ms, expires_at_ms FROM queue"
        )
        look = asyncio.create_task(made.look())
        await asyncio.sleep(0.3)
        assert not look.done()
    await look
    assert made.runs() == (1, 1)
    await made.looks(0, 2)
    made.decide("resume")
    await made.looks(2, 0)


@awaited
async def test_parts_of_one_message_that_come_back_one_after_the_other_meet(house: House) -> None:
    """The first comes before the pause, and the second while it is let go again: both have the same
    place.
    """
    made = await sent(house, people=2)
    made.decide("pause")
    _copied(house, by_us=HELD_FROM_US)
    await made.looks(0, 2)
    made.decide("resume")
    _copied(house, by_us=-HELD_FROM_US)
    await made.looks(2, 0)


def _copied(house: House, by_us: int) -> None:
    """Puts each run into the queue once more, so that it stands there twice."""
    columns = [
        (queue.c.rank_us + by_us).label("rank_us") if column.name == "rank_us" else column
        for column in queue.c
    ]
    with house.db.write() as tx:
        tx.execute(
            queue.insert().from_select([column.name for column in queue.c], sa.select(*columns))
        )
