"""A carrier's turn that is stopped, canceled, or meets what cannot be stored: nothing behind it suffers."""

import asyncio

import psycopg

from heliograph.base.sessions import POSTGRES_LOCK_TIMEOUT_MS
from heliograph.carriers import Outcome, Receipt
from heliograph.messages.tables import inflight
from tests.capability.sending import House
from tests.capability.test_turn import twice, until_nothing_waits
from tests.factories import awaited, phones

TEN_SEGMENTS = "x" * 1_530


@awaited
async def test_a_turn_that_stops_gives_back_what_it_has_not_written(house: House) -> None:
    link = await house.submitted(phones(2), TEN_SEGMENTS, window=5)
    link.turn.claiming = False
    link.answer(*link.open.values())
    await link.close(0)
    await link.turn.finish()
    assert house.count(inflight) == 0
    successor = house.turn(worker=8)
    await until_nothing_waits(successor)
    assert [s.part for s in link.submitted + successor.submitted] == list(range(1, 11)) * 2
    assert house.statuses() == ["sent"] * 2


@awaited
async def test_one_thing_that_cannot_be_stored_does_not_stop_what_is_behind_it(house: House) -> None:
    link = await house.submitted(phones(50))
    refs = link.answer(*link.open.values())
    for ref, phone in zip(refs[:20], phones(20), strict=True):
        link.receive(ref, phone)
    poison = Receipt(None, None, None, None, None, 1 << 70, b"", object())  # no database takes that number
    link.turn.received([poison])
    for ref, phone in zip(refs[20:], phones(50)[20:], strict=True):
        link.receive(ref, phone)
    turning = asyncio.create_task(link.turn.run())
    async with asyncio.timeout(10):
        while house.statuses() != ["delivered"] * 50:
            await asyncio.sleep(0.01)
        while poison not in link.acknowledged:  # or the carrier would send it for ever
            await asyncio.sleep(0.01)
    turning.cancel()
    await asyncio.gather(turning, return_exceptions=True)
    assert len(link.acknowledged) == 51


@awaited
async def test_a_turn_outlives_a_lock_that_it_did_not_get(postgresql_house: House) -> None:
    house = postgresql_house
    link = await house.submitted()
    link.answer(*link.open.values(), outcome=Outcome.REFUSED)
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
async def test_a_turn_that_is_canceled_at_any_moment_leaves_the_database_usable(house: House) -> None:
    await house.send(phones(300))
    link = house.turn(window=5)
    for steps in range(40):
        link.answer(*link.open.values())
        turning = asyncio.create_task(link.turn.once())
        for _ in range(steps):
            await asyncio.sleep(0)
        turning.cancel()
        await asyncio.gather(turning, return_exceptions=True)
        async with asyncio.timeout(5):
            await link.turn.once()
    await until_nothing_waits(link)
    assert not twice(link)
    assert house.statuses() == ["sent"] * 300
