"""Compares this machine's clock with the database's every minute, in each process that runs."""

import asyncio
from typing import Final

from heliograph.base import clock, metrics
from heliograph.base.log import Log
from heliograph.base.periodic import repeat
from heliograph.database.clock_check import measure
from heliograph.database.database import Database

# How far the clock of a running process may be from the database's, which is more than any
# correction. Further apart, what it holds would be ended, or sent, too early.
CLAIM_MS_MAX: Final = 5_000
EVERY_S: Final = 60.0

log = Log(__name__)


async def keep_comparing(db: Database) -> None:
    """Compares every minute, until cancelled."""
    await repeat(
        lambda: asyncio.to_thread(compare, db),
        wait=EVERY_S,
        fault="clock_not_compared",
        level="warning",
    )


def compare(db: Database) -> None:
    """Compares once: nears the database's clock, or disputes it. Raises Unavailable."""
    measured = measure(db)
    if measured is None:
        return
    metrics.CLOCK_APART.set(measured.apart_ms / 1_000)
    apart = measured.apart_ms > CLAIM_MS_MAX
    if apart:
        log.error("clock_apart", seconds=round(measured.ahead_us / 1e6, 3))
    else:
        clock.follow_database_clock(measured.to_correct_us)
        if clock.is_disputed():
            log.info("clock_agrees_again", seconds=round(measured.ahead_us / 1e6, 3))
    clock.set_disputed(apart)
