"""Roll-ups are kept while the service runs: what changes is counted some seconds later."""

import asyncio
from collections.abc import Callable
from threading import Event
from typing import Final

from heliograph.base import clock
from heliograph.base.periodic import repeat
from heliograph.database.database import Database
from heliograph.messages.reports.count_rollups import RollupCounter

EVERY_S: Final = 1.0


async def keep_rolling_up(db: Database, is_ours: Callable[[], bool]) -> None:
    """Runs until it is cancelled. `is_ours` returns whether it is for this process to do."""
    counter, ended = RollupCounter(db), Event()

    def goes_on() -> bool:
        return is_ours() and not ended.is_set()

    async def once() -> None:
        if is_ours():
            await asyncio.to_thread(counter.once, clock.now_ms(), goes_on)

    try:
        await repeat(once, wait=EVERY_S, fault="rollups_not_counted")
    finally:
        ended.set()  # the thread ends with the quarter that it counts
