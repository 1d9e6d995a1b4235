"""Deliveries beside busy carriers: rationed, each endpoint in turn, and free again when carriers rest."""

import asyncio
import time

from heliograph.webhooks.allowance import BUSY_PER_S, LOOK_S, POSTS_PER_S, Allowance
from tests.factories import awaited


class Backlog:
    """What waits for one endpoint."""

    def __init__(self, left: int) -> None:
        self.left = left

    def post_next(self) -> bool:
        self.left -= self.left > 0
        return self.left > 0


@awaited
async def test_beside_busy_carriers_posts_are_rationed_and_every_endpoint_has_its_turn() -> None:
    per_s, began_s = 2 * BUSY_PER_S, time.monotonic()
    allowance = Allowance(lambda: int((time.monotonic() - began_s) * per_s))
    async with asyncio.timeout(10):
        while not allowance.is_limited:  # it is judged once LOOK_S have passed by its own clock
            await asyncio.sleep(0.01)
            allowance.look()
    assert time.monotonic() - began_s >= LOOK_S - 0.01
    backlogs = [Backlog(100_000), Backlog(100_000), Backlog(3)]
    running = asyncio.create_task(allowance.run())
    for backlog in backlogs:
        allowance.ask(backlog)
    asked_s = time.monotonic()
    await asyncio.sleep(0.4)
    posted = [100_000 - backlog.left for backlog in backlogs[:2]]
    assert 0 < sum(posted) <= (time.monotonic() - asked_s + LOOK_S) * POSTS_PER_S
    assert (abs(posted[0] - posted[1]) <= 1, backlogs[2].left) == (True, 0)
    per_s = 0  # they rest
    async with asyncio.timeout(10):
        while any(backlog.left for backlog in backlogs):
            await asyncio.sleep(0.01)
    running.cancel()
