"""What a process remembers of the configuration, and for how long: until the epoch moves, never longer than 0.9 s unchecked."""

import asyncio
from collections.abc import Callable, Hashable
from typing import Any, Final, TypeVar

import structlog
from sqlalchemy.engine import Connection

from heliograph.base import clock, config
from heliograph.base.db import Database
from heliograph.base.errors import Unavailable

POLL_S: Final = 0.3
STALE_S: Final = 0.9  # past this a change may have been missed: every answer is 503 until the database is seen again
ENTRIES_MAX: Final = 200_000  # of each kind; then that kind starts anew

K = TypeVar("K", bound=Hashable)
V = TypeVar("V")
_MISSING: Final = object()
log = structlog.get_logger(__name__)


class ConfigCache:
    """Values loaded from the configuration's tables, by kind and key, all dropped when `config.epoch` moves."""

    def __init__(self, db: Database) -> None:
        self._db = db
        self._kinds: dict[str, dict[Any, Any]] = {}
        self.epoch = -1
        self._seen_s = float("-inf")

    def peek(self, kind: str, key: Hashable) -> Any:
        """The remembered value; None when it must be loaded. Raises Unavailable when what is remembered may be out of date."""
        self.check()
        return self._kinds.get(kind, {}).get(key)

    def check(self) -> None:
        if clock.monotonic_s() - self._seen_s > STALE_S:
            raise Unavailable("The database is not reachable.")

    async def get(self, kind: str, key: K, load: Callable[[Connection, K], V]) -> V:
        """The value, loaded in a thread if it is not remembered. Absence (a None) is loaded anew each time."""
        if clock.monotonic_s() - self._seen_s > STALE_S:
            await self.refresh()
        found = self._kinds.get(kind, {}).get(key, _MISSING)
        if found is not _MISSING:
            return found  # type: ignore[no-any-return]
        epoch, value = await asyncio.to_thread(self._load, key, load)
        self._moved_to(epoch)
        if value is not None and epoch == self.epoch:
            entries = self._kinds.setdefault(kind, {})
            if len(entries) >= ENTRIES_MAX:
                entries.clear()
            entries[key] = value
        return value

    def _load(self, key: K, load: Callable[[Connection, K], V]) -> tuple[int, V]:
        with self._db.read() as tx:
            return config.epoch(tx), load(tx, key)

    def _moved_to(self, epoch: int) -> None:
        if epoch > self.epoch:  # a slow reader may bring an older one: it is then simply not remembered
            self._kinds.clear()
            self.epoch = epoch

    async def refresh(self) -> None:
        """Reads the epoch now; raises Unavailable when the database cannot be read."""
        asked_s = clock.monotonic_s()
        self._moved_to(await asyncio.to_thread(self._read_epoch))
        self._seen_s = asked_s

    def _read_epoch(self) -> int:
        with self._db.read() as tx:
            return config.epoch(tx)

    async def poll(self) -> None:
        """Runs until cancelled."""
        reachable = True
        while True:
            try:
                await self.refresh()
                if not reachable:
                    log.info("database_reachable_again")
                reachable = True
            except Unavailable:
                if reachable:
                    log.warning("database_unreachable")
                reachable = False
            await asyncio.sleep(POLL_S)
