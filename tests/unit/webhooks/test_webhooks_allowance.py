"""Deliveries begin in turns of their accounts, a few at once; and beside busy carriers they are
rationed, until these rest.
"""

import asyncio
import itertools
import time

from heliograph.webhooks.post_rate import BUSY_PER_S, LOOK_S, POSTS_AT_ONCE, POSTS_PER_S, PostRate
from tests.support.factories import awaited


class Backlog:
    """Holds what waits for one endpoint."""

    def __init__(self, left: int, account_id: str = "amina") -> None:
        self.left = left
        self.account_id = account_id

    def post_next(self) -> bool:
        if not self.left:
            return False
        self.left -= 1
        return True


@awaited
async def test_beside_busy_carriers_posts_are_rationed_and_every_endpoint_has_its_turn() -> None:
    per_s, began_s = 2 * BUSY_PER_S, time.monotonic()
    allowance = PostRate(lambda: int((time.monotonic() - began_s) * per_s))
    async with asyncio.timeout(10):
        while not allowance.is_limited:  # it is judged once LOOK_S have passed by its own clock
            await asyncio.sleep(0.01)
            allowance.measure_load()
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
            await asyncio.sleep(0)
    running.cancel()


@awaited
async def test_an_account_with_many_full_endpoints_delays_another_by_one_post_only() -> None:
    allowance = PostRate(lambda: 0)
    crowd, one = [Backlog(1_000, "bilal") for _ in range(50)], Backlog(20)
    running = asyncio.create_task(allowance.run())
    for backlog in (*crowd, one):
        allowance.ask(backlog)
    begun = [0]
    while one.left:
        await asyncio.sleep(0)
        begun.append(sum(1_000 - backlog.left for backlog in crowd) + 20 - one.left)
    running.cancel()
    assert begun[-1] <= 2 * 20 + POSTS_AT_ONCE
    assert max(after - before for before, after in itertools.pairwise(begun)) <= POSTS_AT_ONCE
    assert max(backlog.left for backlog in crowd) - min(backlog.left for backlog in crowd) <= 1
