"""Ends the looks of operators at an account's portal whose time is over, and writes it down. The
process that does the common work does it.
"""

import asyncio
from collections.abc import Callable
from typing import Final

from heliograph.base import clock
from heliograph.base.periodic import repeat
from heliograph.database.database import Database
from heliograph.users import portal_views

EVERY_S: Final = 30.0


async def keep_ending_views(db: Database, is_ours: Callable[[], bool]) -> None:
    """Runs until it is cancelled. `is_ours` returns whether it is for this process to do."""

    async def end_overdue() -> None:
        if is_ours():
            await asyncio.to_thread(end_views, db)

    await repeat(end_overdue, wait=EVERY_S, fault="portal_views_not_ended")


def end_views(db: Database) -> None:
    """Ends the looks that are over now."""
    with db.write() as tx:
        portal_views.end_overdue_views(tx, now_ms=clock.now_ms())
