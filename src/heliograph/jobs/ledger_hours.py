"""The ledger is added up by hour, some minutes after each hour, by the process that does the common
work.
"""

import asyncio
from collections.abc import Callable
from typing import Final

from heliograph.base import clock
from heliograph.base.periodic import repeat
from heliograph.database.database import Database
from heliograph.wallet.ledger_hours import due_hour, store_hour, sums_of_hour

EVERY_S: Final = 10.0


async def keep_adding_up(db: Database, is_ours: Callable[[], bool]) -> None:
    """Runs until it is cancelled. `is_ours` returns whether it is for this process to do."""

    async def add_up_hours() -> None:
        while is_ours() and await asyncio.to_thread(add_up_hour, db):
            pass

    await repeat(add_up_hours, wait=EVERY_S, first_after_s=0.0, fault="ledger_hours_not_added_up")


def add_up_hour(db: Database) -> bool:
    """Adds up the next hour. It is read in one transaction and stored in another, which is short.
    Returns whether there was one that is over.
    """
    now_ms = clock.now_ms()
    with db.read() as tx:
        at_ms = due_hour(tx, now_ms)
        if at_ms is None:
            return False
        sums = sums_of_hour(tx, at_ms)
    with db.write() as tx:
        store_hour(tx, at_ms, sums, now_ms)
    return True
