"""Keeps an advisory lock of PostgreSQL for as long as a process runs. It is taken again when it was
lost, as by a restart of PostgreSQL. A SQLite file has one process only, so there nothing is to be
taken, and nothing can be lost.
"""

import asyncio
from collections.abc import Awaitable, Callable
from functools import partial
from typing import Final

from heliograph.base.errors import Unavailable
from heliograph.base.periodic import repeat, until
from heliograph.database.database import Database
from heliograph.database.postgresql.advisory_lock import AdvisoryLock

TRIES: Final = 20  # at the start: PostgreSQL takes a moment to see that a killed server is gone
RETRY_S: Final = 0.1


class KeptLock:
    """Holds the lock that processes of one kind share, or that one of them has to itself."""

    def __init__(self, db: Database, number: int, *, shared: bool) -> None:
        self._lock = AdvisoryLock(db.hosts, number, shared=shared) if db.hosts else None
        self._taking = asyncio.Lock()

    def end(self) -> None:
        if self._lock is not None:
            self._lock.release()

    async def _is_taken(self) -> bool:
        """Takes the lock if it is not taken, and returns whether it is now. It is not when another
        process has it, or when PostgreSQL has not seen the end of our own lost connection yet.
        Raises Unavailable.
        """
        if self._lock is None:
            return True
        async with self._taking:
            return self._lock.is_taken or await self._lock.take()

    async def _keep(
        self, is_taken_again: Callable[[], Awaitable[bool]], tell: Callable[[bool], None]
    ) -> None:
        """Asks `is_taken_again` whenever the lock is lost, until it is taken, and tells whether it
        is. Runs until it is cancelled, or until `is_taken_again` raises anything but Unavailable.
        """
        if self._lock is None:
            await asyncio.get_running_loop().create_future()
            return

        async def regain() -> None:
            tell(False)
            await until(partial(_unless_away, is_taken_again), look_s=RETRY_S)
            tell(True)

        await repeat(regain, wait=self._lock.wait_until_lost, fault=None)


async def _unless_away(is_taken: Callable[[], Awaitable[bool]]) -> bool:
    """Returns False while the database is away."""
    try:
        return await is_taken()
    except Unavailable:
        return False
