"""Nothing is lost of what the simulator held when its process was killed, for nothing of it had
left the house.
"""

import asyncio
from pathlib import Path

from heliograph.base.settings import Settings
from heliograph.carriers import SIMULATOR_ID
from heliograph.messages.carrier import CarrierFacts
from heliograph.messages.carrier.turn import Turn
from heliograph.messages.tables import inflight
from heliograph.processes.carriers import Dispatch
from tests.support.capability.sending import House, ScriptedLink, lease_of, only_worker
from tests.support.factories import SECRET_KEY, awaited, open_route, phones
from tests.support.polling import until

DELIVERED, LATE, FAILING = "233201234567", "233201234003", "233201234000"


def dispatch(house: House, worker: int) -> Dispatch:
    """Returns the Dispatch of a process that begins, after all others have died."""
    only_worker(house.db, worker)
    return Dispatch(
        house.db,
        house.cache,
        Settings(Path(), house.db.url, SECRET_KEY),
        lease_of(house.db, worker),
        house.queue,
    )


async def kill(tasks: "set[asyncio.Task[None]]") -> None:
    """Stops the tasks as a killed process stops: in the middle of whatever it is doing, and without
    another word.
    """
    for task in tasks:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)


async def start(of: Dispatch) -> "set[asyncio.Task[None]]":
    """Starts it, and returns the tasks that are its life."""
    before = asyncio.all_tasks()
    await of.start()
    return asyncio.all_tasks() - before


@awaited
async def test_receipts_that_a_killed_process_owed_come_from_the_next_one(house: House) -> None:
    open_route(house.db, "simulator")
    life = await start(dispatch(house, 1))
    await house.send([DELIVERED, LATE])
    await house.send(LATE, "x" * 400)
    await until(lambda: house.statuses() == ["delivered", "sent", "sent"], "one is delivered")
    await kill(life)
    another = dispatch(house, 2)
    await another.start()
    assert house.statuses() == ["delivered", "sent", "sent"]
    await another.stop()  # at its end it owes nothing
    assert house.statuses() == ["delivered"] * 3


@awaited
async def test_submissions_that_died_with_their_process_are_made_again_at_once(
    house: House,
) -> None:
    open_route(house.db, "simulator")
    await house.send([*phones(3, first=100), FAILING])
    await house.send(DELIVERED, kind="otp")
    facts = CarrierFacts(SIMULATOR_ID, "simulator")
    only_worker(house.db, 1)
    turn = Turn(house.db, facts, 1, lambda state, detail: None, lambda: True, str)
    turn.link = ScriptedLink(turn, 100)
    await turn.run_once()
    assert house.count(inflight, inflight.c.state == "submitting") == 5
    another = dispatch(house, 2)
    await another.start()
    ends = ["delivered"] * 3 + ["failed/undeliverable", "delivered"]
    await until(lambda: house.statuses() == ends, "all have their ends")
    await another.stop()
    assert house.count(inflight) == 0
    house.assert_sound()
