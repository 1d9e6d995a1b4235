"""Before a carrier is told that STOP has arrived, nothing of what it withdraws is queued any more,
whoever was accepting it at the same moment. On SQLite there is one writer, and no such moment.
"""

import asyncio

import pytest

from heliograph.base import clock
from heliograph.messages.carrier.withdrawn_by_opt_out import ACCEPTED_BESIDE_MS
from heliograph.opt_outs import OptOutOwner, OptOutSource, suppress
from tests.support.capability.gated import GatedDatabase
from tests.support.capability.line import Line
from tests.support.capability.sending import House
from tests.support.factories import PHONE, awaited, phones

[OTHER] = phones(1)
# after an opt-out: whoever accepts a text then has seen it
PASSES_AFTER_MS = ACCEPTED_BESIDE_MS + 1


@pytest.fixture
def gated_house(postgresql_url: str) -> House:
    return House(postgresql_url, GatedDatabase)


async def let_wait(task: "asyncio.Task[object]") -> None:
    """Gives a task all the time that it takes if it waits for nobody."""
    await asyncio.wait([task], timeout=0.3)
    assert not task.done(), "it waits for the other one"


@pytest.mark.parametrize("has_others", [False, True])
@awaited
async def test_what_is_just_being_accepted_when_stop_comes_is_canceled(
    gated_house: House, has_others: bool
) -> None:
    house, db = gated_house, gated_house.db
    assert isinstance(db, GatedDatabase)
    line = Line(house, answers=False)
    if has_others:  # then each recipient is asked about
        with db.write() as tx:
            owner, now_ms = OptOutOwner(house.amina_id, False), clock.now_ms()
            suppress(tx, owner, [OTHER], source=OptOutSource.API, now_ms=now_ms)
    before = house.credits()
    gate = db.close_gate()
    accepting = asyncio.create_task(house.send([PHONE, "233201234568"]))
    await db.held.wait()
    db.gate = None
    stopping = asyncio.create_task(line.says("STOP"))
    await let_wait(stopping)
    gate.set()
    await asyncio.gather(accepting, stopping)
    assert house.statuses() == ["failed/blocked", "queued"]
    assert house.credits() == before - 1
    house.assert_sound()


@awaited
async def test_what_waits_for_the_wallet_while_stop_is_stored_is_canceled(
    gated_house: House,
) -> None:
    """It has looked for opt-outs before this one was there."""
    house, db = gated_house, gated_house.db
    assert isinstance(db, GatedDatabase)
    line = Line(house)
    await house.cache.refresh()
    gate = db.close_gate()
    stopping = asyncio.create_task(line.says("STOP"))
    await db.held.wait()
    db.gate = None
    clock.move(by_ms=5)
    try:
        accepting = asyncio.create_task(house.tried(PHONE))
        await let_wait(accepting)
        gate.set()
        await asyncio.gather(accepting, stopping)
    finally:
        clock.move(by_ms=-5)
    assert sorted(house.statuses()) == ["failed/blocked", "queued"], "its confirmation stays"
    house.assert_sound()


@awaited
async def test_a_text_that_may_pass_the_opt_out_stays(gated_house: House) -> None:
    house = gated_house
    line = Line(house, answers=False)
    house.allow_transactional()
    await line.says("STOP")
    clock.move(by_ms=PASSES_AFTER_MS)
    try:
        await house.send(PHONE, "Your receipt.", transactional=True)
        await line.says("STOP")
    finally:
        clock.move(by_ms=-PASSES_AFTER_MS)
    assert house.statuses() == ["queued"]
