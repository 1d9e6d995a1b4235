"""Roll-ups are kept while the service runs: what changes is counted some seconds later."""

from collections.abc import Callable
from typing import Final

from heliograph.database.database import Database
from heliograph.jobs.periodic_counts import count_periodically
from heliograph.messages.reports.count_rollups import RollupCounter

EVERY_S: Final = 1.0


async def keep_rolling_up(db: Database, is_ours: Callable[[], bool]) -> None:
    """Runs until it is cancelled. `is_ours` returns whether it is for this process to do."""
    await count_periodically(
        RollupCounter(db), is_ours, every_s=EVERY_S, fault="rollups_not_counted"
    )
