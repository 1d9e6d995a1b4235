"""Rate sheets are applied when their time comes, each once and in a transaction of its own.

One process does it for all. What it does is safe beside another one: a sheet that was applied or
withdrawn meanwhile is left alone.
"""

import asyncio
from collections.abc import Callable
from typing import Final

from heliograph.base import clock
from heliograph.base.log import Log
from heliograph.base.periodic import repeat
from heliograph.database.database import Database
from heliograph.pricing import sheets

LOOK_S: Final = 1.0  # so late is a sheet at most

log = Log(__name__)


async def keep_applying(db: Database, is_ours: Callable[[], bool]) -> None:
    """Runs until it is cancelled. `is_ours` returns whether it is for this process to do. While
    nobody knows the time, no sheet is applied.
    """

    async def apply_due() -> None:
        while is_ours() and not clock.is_disputed() and await asyncio.to_thread(apply_next, db):
            pass

    await repeat(apply_due, wait=LOOK_S, fault="rate_sheet_not_applied")


def apply_next(db: Database) -> bool:
    """Applies the sheet whose time came first, and returns whether there was one."""
    with db.read() as tx:
        due = sheets.due_sheet(tx, now_ms=clock.now_ms())
    if due is None:
        return False

    applied = db.transact(lambda tx: sheets.apply_if_planned(tx, due, now_ms=clock.now_ms()))
    if applied:
        log.info("rate_sheet_applied", sheet=due.text_id)
    return True
