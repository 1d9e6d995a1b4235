"""Stores texts from handsets whose parts do not all come, once a minute. The process that does the
common work does it.
"""

import asyncio
from collections.abc import Callable
from typing import Final

from heliograph.base import clock
from heliograph.base.periodic import repeat
from heliograph.carriers import all_carriers
from heliograph.database.database import Database
from heliograph.inbound.receive.overdue import forget_parts, store_all_overdue

EVERY_S: Final = 60.0


async def keep_completing(db: Database, is_ours: Callable[[], bool]) -> None:
    """Runs until it is cancelled. `is_ours` returns whether it is for this process to do."""

    async def complete_due() -> None:
        if is_ours() and not clock.is_disputed():
            await complete(db)

    await repeat(complete_due, wait=EVERY_S, fault="inbound_not_completed")


async def complete(db: Database) -> None:
    """Does all that is due now."""
    now_ms = clock.now_ms()
    names = await asyncio.to_thread(_names, db)
    await store_all_overdue(db, names, now_ms)
    await forget_parts(db, now_ms)


def _names(db: Database) -> dict[int, str]:
    with db.read() as tx:
        return {carrier.id: carrier.name for carrier in all_carriers(tx)}
