"""A campaign's jobs, killed half way, and whoever decides otherwise meanwhile: nothing stays held that shall go, and nothing goes that shall not."""

import psycopg

from heliograph import campaigns, messages
from heliograph.messages.hold import RUNS_AT_ONCE
from tests.capability.campaigning import sent
from tests.capability.campaigns import now
from tests.capability.sending import House
from tests.factories import awaited

PEOPLE = RUNS_AT_ONCE + 50  # each text is a run of its own, so that they are held in two steps


@awaited
async def test_what_was_held_when_a_pause_was_half_done_is_let_go_by_resuming(house: House) -> None:
    made = await sent(house, PEOPLE)
    made.decide("pause")
    assert await messages.hold(house.db, made.campaign.group_id) == RUNS_AT_ONCE  # and the process dies
    made.decide("resume")
    await made.looks(PEOPLE, 0)


@awaited
async def test_what_was_let_go_when_a_resumption_was_half_done_is_held_by_pausing_again(house: House) -> None:
    made = await sent(house, PEOPLE)
    made.decide("pause")
    await made.looks(0, PEOPLE)
    made.decide("resume")
    assert await messages.release(house.db, made.campaign.group_id) == RUNS_AT_ONCE  # and the process dies
    made.decide("pause")
    await made.looks(0, PEOPLE)
    made.decide("resume")
    await made.looks(PEOPLE, 0)


@awaited
async def test_the_rest_of_a_run_that_a_carrier_is_taking_is_held_when_it_has_taken(postgresql_house: House) -> None:
    """Its turn has the run locked while others are held, and puts the rest back when it commits."""
    house = postgresql_house
    made = await sent(house, people=10, message="Hello")
    made.decide("pause")
    with psycopg.connect(house.db.url) as turn:
        first, count = turn.execute("SELECT first_id, count FROM queue FOR UPDATE").fetchall()[0]
        await made.look()
        turn.execute("UPDATE queue SET first_id = %s, count = %s", (first.hex[:-1] + f"{int(first.hex[-1], 16) ^ 1:x}", count - 1))
    assert made.runs() == (1, 0)
    await made.looks(0, 1)


@awaited
async def test_what_is_paid_is_let_go_though_the_campaign_stops_again_by_itself(house: House) -> None:
    made = await sent(house, PEOPLE)
    made.decide("pause")
    await made.look()
    made.decide("resume")
    with house.db.write() as tx:
        campaigns.pause(tx, made.campaign.id, "sender_not_approved")
    await made.looks(PEOPLE, 0)
    assert now(house.db, made.campaign).status == "paused"
