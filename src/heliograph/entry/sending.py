"""The half of the service that sends: carriers, sweeps and pruning, in the one process that has the database's queue to itself."""

import asyncio
from typing import Final

from heliograph.base.cache import ConfigCache
from heliograph.base.db import Database
from heliograph.base.leases import Lease
from heliograph.base.settings import Settings
from heliograph.entry.dispatch import Dispatch
from heliograph.entry.only_server import DatabaseHeld, require_schema
from heliograph.entry.pruning import keep_pruning
from heliograph.entry.waking import listen
from heliograph.messages import FairQueue

KINDS: Final = ("serve", "worker")  # of processes that send: one at a time


class Sending:
    """`hold` before anything else, `start` when the configuration is known, `stop` before the end, `release` in any case."""

    def __init__(self, db: Database, cache: ConfigCache, settings: Settings, queue: FairQueue) -> None:
        self._db = db
        self._cache = cache
        self._settings = settings
        self._queue = queue
        self._held = DatabaseHeld(db)
        self._beside: list[asyncio.Task[None]] = []
        self._dispatch: Dispatch | None = None
        self.keeping: asyncio.Task[None]  # ends when this process may not go on

    async def hold(self, kind: str) -> None:
        """Takes the database's queue. Raises AlreadyServed, SettingError, OperationalError."""
        self._lease = Lease(self._db, kind)
        await self._held.take()
        await asyncio.to_thread(require_schema, self._db)
        await asyncio.to_thread(self._lease.begin, KINDS)

    async def start(self) -> None:
        self._dispatch = Dispatch(self._db, self._cache, self._settings, self._lease.epoch, self._queue)
        await self._dispatch.start()
        self.keeping = asyncio.create_task(self._held.keep(self._lease.epoch, self._dispatch.may_claim))
        self._beside = [asyncio.create_task(keep_pruning(self._db))]
        if self._settings.redis_url:
            self._beside.append(asyncio.create_task(listen(self._settings.redis_url, self._dispatch.wake)))

    def wake(self, carrier_ids: set[int]) -> None:
        """Something was queued for these carriers."""
        if self._dispatch is not None:
            self._dispatch.wake(carrier_ids)

    async def stop(self) -> None:
        """Stops claiming, finishes the windows, unbinds. Raises why this process could not go on, if that was it."""
        assert self._dispatch is not None
        for task in self._beside:
            task.cancel()
        ended_itself = self.keeping.done()
        self.keeping.cancel()
        await self._dispatch.stop()
        if ended_itself:
            self.keeping.result()

    def release(self) -> None:
        self._held.end()
