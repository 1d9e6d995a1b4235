"""Each process that answers the API counts a key's requests together with all others that do,
through Redis, or is the only one of its database.

An advisory lock of PostgreSQL sees to it: it is shared by those with REDIS_URL, and one process's
own without. A SQLite file has one process only.
"""

import asyncio
from collections.abc import Callable
from functools import partial
from typing import Final

from heliograph.base.log import Log
from heliograph.base.periodic import repeat
from heliograph.base.settings import SettingError, Settings
from heliograph.database.database import Database
from heliograph.database.leases import LOOK_S
from heliograph.keys import Limiter
from heliograph.processes.kept_lock import RETRY_S, TRIES, KeptLock

API_LOCK: Final = 0x48454C41
# 12 s: PostgreSQL keeps a lock of ours for 11 s when nobody told it of the connection's end
# (sessions.KEEPALIVE)
TRIES_AGAIN: Final = 120

log = Log(__name__)


class CountingLock(KeptLock):
    """Makes sure that all API processes of a database count together, or that there is only one."""

    def __init__(self, db: Database, settings: Settings) -> None:
        self._together = settings.redis_url is not None
        super().__init__(db, API_LOCK, shared=self._together)

    async def take(self) -> None:
        """Takes the lock of API processes, which they share if Redis counts for all of them. Raises
        SettingError when another process counts otherwise, Unavailable.
        """
        await self._take(TRIES)

    async def _take(self, tries: int) -> bool:
        for _ in range(tries):
            if await self._is_taken():
                return True
            await asyncio.sleep(RETRY_S)
        if self._together:
            raise SettingError(
                "REDIS_URL",
                "no value in another API process of this database",
                "the same redis://… in all API processes",
            )
        raise needs_redis("no value, but another API process uses this database")

    async def keep(self) -> None:
        """Takes the lock again whenever it is lost, as by a restart of PostgreSQL. It runs until it
        is cancelled. Raises SettingError when another process has it meanwhile.
        """
        await self._keep(partial(self._take, TRIES_AGAIN), _tell)


def _tell(is_taken: bool) -> None:
    if is_taken:
        log.info("api_lock_held_again")
    else:
        log.warning("api_lock_lost")


def needs_redis(found: str) -> SettingError:
    """Returns the error that REDIS_URL is missing where API processes share the limits of keys.
    `found` is what was there instead.
    """
    return SettingError(
        "REDIS_URL", found, "redis://…, so that API processes count a key's requests together"
    )


async def share_limits(limiter: Limiter, processes: Callable[[], int]) -> None:
    """Tells a limiter how many live processes share what a key may use while Redis is away, until
    cancelled.
    """
    await repeat(
        lambda: limiter.share_with(processes()), wait=LOOK_S, first_after_s=0.0, fault=None
    )
