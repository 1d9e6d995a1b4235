"""A process remembers the configuration until its epoch moves, and never longer than 0.9 s
unchecked.

When the epoch has moved, all that is remembered is read anew in one query a kind, and is not
forgotten: a change of one key must not make the next thousand requests wait for a look-up each.
What is asked for and not remembered is loaded together with whatever else is missing at that
moment.
"""

import asyncio
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from functools import partial
from typing import Any, Final, Generic, TypeVar

from sqlalchemy.engine import Connection

from heliograph.base import cancelling, clock
from heliograph.base.errors import Unavailable
from heliograph.base.log import Log, error_fields
from heliograph.base.own_threads import OwnThreads
from heliograph.base.periodic import repeat
from heliograph.database import config
from heliograph.database.database import Database

POLL_S: Final = 0.3
# past this a change may have been missed: every answer is 503 until the database is seen again
STALE_S: Final = 0.9
# for what is not remembered, or may be out of date: past it the answer is 503, whatever the
# database does
ANSWER_S: Final = 1.5
# of each kind, read anew in half a second; past it that kind starts anew
ENTRIES_MAX: Final = 20_000
KEYS_PER_QUERY: Final = 500

K = TypeVar("K")
V = TypeVar("V")
log = Log(__name__)


@dataclass(frozen=True, eq=False)
class CachedKind(Generic[K, V]):
    """Describes one kind of values to cache. `load(tx, keys)` returns the values of those keys that
    exist; it is asked for at most KEYS_PER_QUERY at once.
    """

    name: str
    load: Callable[[Connection, Sequence[K]], dict[K, V]]


class ConfigCache:
    """Caches values of the configuration's tables, by kind and key, as of one epoch."""

    def __init__(self, db: Database) -> None:
        self._db = db
        self._kinds: dict[CachedKind[Any, Any], dict[Any, Any]] = {}
        self._missing: dict[tuple[CachedKind[Any, Any], Any], asyncio.Future[Any]] = {}
        self._loading: asyncio.Task[None] | None = None
        self._refreshing: asyncio.Task[None] | None = None
        # what is asked for and not remembered: anybody can ask, with a made-up key
        self._looks_up = OwnThreads("look-ups")
        # so the look at the epoch, without which everything is 503, waits for none of those
        self._reads_anew = OwnThreads("configuration")
        self.epoch = -1
        self._seen_s = float("-inf")
        self._is_reachable = True  # as the last poll found the database

    @property
    def is_fresh(self) -> bool:
        """Returns whether what is remembered may be used."""
        return clock.monotonic_s() - self._seen_s <= STALE_S

    def peek(self, kind: CachedKind[K, V], key: K) -> V | None:
        """Returns the remembered value, or None when it must be loaded. Raises Unavailable when
        what is remembered may be out of date.
        """
        if not self.is_fresh:
            raise Unavailable("The database is not reachable.")
        entries = self._kinds.get(kind)
        return entries.get(key) if entries is not None else None

    async def get(self, kind: CachedKind[K, V], key: K) -> V | None:
        """Returns the value, which is loaded if it is not remembered, or None when there is none
        (that is not remembered). Raises Unavailable.
        """
        found = self.peek(kind, key) if self.is_fresh else None
        if found is not None:
            return found
        async with _limit_wait():
            if not self.is_fresh:
                await self.refresh()
            found = self.peek(kind, key)
            if found is None:
                found = await self._value_of_load(kind, key)
            return found

    async def _value_of_load(self, kind: CachedKind[K, V], key: K) -> V | None:
        waiting = self._missing.get((kind, key))
        if waiting is None:
            waiting = self._missing[kind, key] = asyncio.get_running_loop().create_future()
            if self._loading is None:
                self._loading = asyncio.create_task(self._load_missing())
        value: V | None = await asyncio.shield(waiting)
        return value

    async def _load_missing(self) -> None:
        try:
            while self._missing:
                asked, self._missing = self._missing, {}
                try:
                    epoch, loaded = await self._looks_up.run(partial(self._load, list(asked)))
                except Exception as error:  # noqa: BLE001  whoever waits gets it
                    cancelling.raise_if_cancelled(error)
                    for waiting in asked.values():
                        waiting.set_exception(error)
                        waiting.exception()  # its waiter may have gone: then nobody else reads it
                    continue
                for (kind, key), waiting in asked.items():
                    value = loaded.get(kind, {}).get(key)
                    if value is not None and epoch == self.epoch:
                        self._remember(kind, key, value)
                    waiting.set_result(value)
        finally:
            self._loading = None

    def _remember(self, kind: CachedKind[K, V], key: K, value: V) -> None:
        entries = self._kinds.setdefault(kind, {})
        if len(entries) >= ENTRIES_MAX:
            entries.clear()
        entries[key] = value

    def _load(
        self, asked: list[tuple[CachedKind[Any, Any], Any]]
    ) -> tuple[int, dict[CachedKind[Any, Any], dict[Any, Any]]]:
        by_kind: dict[CachedKind[Any, Any], list[Any]] = {}
        for kind, key in asked:
            by_kind.setdefault(kind, []).append(key)
        with self._db.read() as tx:
            epoch = config.epoch(tx)  # first: what is read after it is at least as new
            loaded: dict[CachedKind[Any, Any], dict[Any, Any]] = {kind: {} for kind in by_kind}
            for kind, keys in by_kind.items():
                for start in range(0, len(keys), KEYS_PER_QUERY):
                    loaded[kind] |= kind.load(tx, keys[start : start + KEYS_PER_QUERY])
            return epoch, loaded

    async def refresh(self) -> None:
        """Brings what is remembered up to the present epoch. Raises Unavailable when the database
        cannot be read.

        There is one read at a time, and whoever asks before it begins shares it. Whoever asks later
        waits for the next one, because the read under way may have missed what they want to see.
        """
        async with _limit_wait():
            before = self._refreshing
            if before is not None and not before.done():
                await asyncio.wait({before})
            if self._refreshing is None or self._refreshing is before:
                self._refreshing = asyncio.create_task(self._read_anew())
                self._refreshing.add_done_callback(_take_load_error)
            await asyncio.shield(self._refreshing)

    async def _read_anew(self) -> None:
        asked_s, epoch = await self._reads_anew.run(self._read_epoch)
        if epoch != self.epoch:
            remembered = [(kind, key) for kind, entries in self._kinds.items() for key in entries]
            self.epoch, self._kinds = await self._reads_anew.run(partial(self._load, remembered))
        self._seen_s = asked_s

    def confirm(self, epoch: int, asked_s: float) -> bool:
        """Says that another transaction, begun at `asked_s`, saw this epoch. It returns True
        when that is the remembered one: then nothing is out of date, and a busy process needs no
        poll to know it.
        """
        if epoch != self.epoch:
            return False
        self._seen_s = max(self._seen_s, asked_s)
        return True

    def _read_epoch(self) -> tuple[float, int]:
        """Reads the epoch, and a moment just before that. The wait for a thread or a connection
        lies before the moment, so it does not make the epoch older.
        """
        with self._db.read() as tx:
            return clock.monotonic_s(), config.epoch(tx)

    async def close(self) -> None:
        """Lets its threads go, after what they read now."""
        await self._looks_up.close()
        await self._reads_anew.close()

    async def poll(self) -> None:
        """Asks for the epoch again and again. It runs until it is cancelled."""
        await repeat(self._poll_once, wait=POLL_S, first_after_s=0.0, fault=None)

    async def _poll_once(self) -> None:
        was_reachable = self._is_reachable
        try:
            await self.refresh()
            self._is_reachable = True
            if not was_reachable:
                log.info("database_reachable_again")
        # whatever it was, the next poll must come: without it everything is 503
        except Exception as error:  # noqa: BLE001
            cancelling.raise_if_cancelled(error)
            self._is_reachable = False
            if was_reachable:
                log.warning("database_unreachable", **error_fields(error))


@asynccontextmanager
async def _limit_wait() -> AsyncIterator[None]:
    """Limits the waiting in the block to ANSWER_S; what is waited for goes on past that. Raises
    Unavailable.
    """
    try:
        async with asyncio.timeout(ANSWER_S):
            yield
    except TimeoutError as error:
        raise Unavailable("The database is not reachable.") from error


def _take_load_error(task: "asyncio.Task[None]") -> None:
    """Asks how a load ended. Those who waited for it may have gone, and then nobody else asks."""
    if not task.cancelled():
        task.exception()
