"""Transactions of the hot paths: a few statements that carry the load, awaited in the event loop as raw SQL over columns of values.

On PostgreSQL a transaction is one of an asyncpg connection; on SQLite the same calls run in the one writer thread.
"""

import asyncio
import sqlite3
from collections.abc import AsyncIterator, Callable, Coroutine, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import AsyncExitStack, asynccontextmanager, suppress
from functools import lru_cache
from pathlib import Path
from typing import Any, Final, Protocol, TypeVar

import asyncpg

from heliograph.base import clock
from heliograph.base.arrays import as_text, literal
from heliograph.base.commits import WAITS_FOR_STANDBY, Backend, Commits, Unconfirmed
from heliograph.base.outage import reachable
from heliograph.base.sessions import DURABLE, HOT_CONNECTIONS_MAX, FairLock, connect_sqlite, postgres_pool
from heliograph.base.slots import Slots

LOCK_NOT_AVAILABLE: Final = "55P03"
A_YEAR_S: Final = 31_536_000.0  # a COMMIT has no limit: past one, the driver would cancel it; and None is the limit of statements to it
CLOSE_S: Final = 2.0  # for connections to be closed in order at the end

T = TypeVar("T")


class HotTx(Protocol):
    """A transaction of the hot paths. `news`: what others of this process hear once it is committed, by name (`News`)."""

    postgresql: bool
    news: set[str]

    async def fetch(self, sql: str, *args: Any) -> list[Any]:
        """Rows of one statement with `$1…` for its values (the same text for both databases where it needs no arrays)."""
        ...

    async def over(self, sql: str, *columns: Sequence[Any]) -> list[Any]:
        """Rows of one statement over equally long columns of values: arrays to `unnest` on PostgreSQL, one execution a row on SQLite."""
        ...


async def meanwhile(asked: Coroutine[Any, Any, object], work: Callable[[], T]) -> T:
    """What `work` returns, done while the database is busy with what it was `asked`."""
    asking = asyncio.ensure_future(asked)
    try:
        await asyncio.sleep(0)  # in which it is asked
        return work()
    finally:
        await asking


class Statement:
    """One statement in its two texts, over columns of values."""

    def __init__(self, postgresql: str, sqlite: str) -> None:
        self._postgresql, self._sqlite = postgresql, sqlite

    async def over(self, tx: HotTx, *columns: list[Any]) -> list[Any]:
        return await tx.over(self._postgresql if tx.postgresql else self._sqlite, *columns)

    async def rows(self, tx: HotTx, rows: list[tuple[Any, ...]]) -> list[Any]:
        return await self.over(tx, *map(list, zip(*rows, strict=True))) if rows else []


class News:
    """Who in this process hears what of committed transactions, in the event loop. Other processes hear nothing: they look by themselves."""

    def __init__(self) -> None:
        self._heard_by: dict[str, list[Callable[[], None]]] = {}

    def hear(self, name: str, tell: Callable[[], None]) -> None:
        self._heard_by.setdefault(name, []).append(tell)

    def ignore(self, name: str, tell: Callable[[], None]) -> None:
        self._heard_by[name].remove(tell)

    def committed(self, news: set[str]) -> None:
        for name in news:
            for tell in self._heard_by.get(name, ()):
                tell()


class _PostgresTx:
    postgresql = True

    def __init__(self, connection: "asyncpg.pool.PoolConnectionProxy[asyncpg.Record]") -> None:
        self._connection = connection
        self.news: set[str] = set()

    async def fetch(self, sql: str, *args: Any) -> list[Any]:
        rows: list[Any] = await self._connection.fetch(as_text(sql), *[literal(arg) if isinstance(arg, list) else arg for arg in args])
        return rows

    async def over(self, sql: str, *columns: Sequence[Any]) -> list[Any]:
        return await self.fetch(sql, *columns) if columns[0] else []


class _SqliteTx:
    postgresql = False

    def __init__(self, writer: "_SqliteWriter") -> None:
        self._writer = writer
        self.news: set[str] = set()

    async def fetch(self, sql: str, *args: Any) -> list[Any]:
        return await self._writer.run(lambda connection: connection.execute(_numbered(sql), args).fetchall())

    async def over(self, sql: str, *columns: Sequence[Any]) -> list[Any]:
        if not columns[0]:
            return []
        if sql.lstrip().startswith("SELECT") or "RETURNING" in sql:
            return await self._writer.run(
                lambda connection: [row for values in zip(*columns, strict=True) for row in connection.execute(sql, values)])
        await self._writer.run(lambda connection: connection.executemany(sql, zip(*columns, strict=True)))
        return []


class PostgresHot:
    """A pool of connections, opened at the first use. A COMMIT is never cancelled: cancelled is whoever waits for it."""

    def __init__(self, url: str, news: News, commits: Commits, synchronous_commit: str = DURABLE) -> None:
        self._url = url
        self._synchronous_commit = synchronous_commit
        self._news = news
        self._commits = commits
        self._slots = Slots(HOT_CONNECTIONS_MAX)
        self._opening = asyncio.Lock()
        self._pool: asyncpg.Pool[asyncpg.Record] | None = None
        self._committing: set[asyncio.Task[None]] = set()

    @asynccontextmanager
    async def transaction(self) -> AsyncIterator[HotTx]:
        self._commits.check()
        pool = self._pool or await self._opened()
        with reachable():
            async with AsyncExitStack() as holding:
                await self._slots.take()
                holding.callback(self._slots.give_back)
                connection = await holding.enter_async_context(pool.acquire())
                await connection.execute("BEGIN")
                tx = _PostgresTx(connection)
                try:
                    yield tx
                except BaseException as error:
                    await self._roll_back(connection, error)
                    raise
                await self._commit(connection, tx, holding.pop_all())

    async def _opened(self) -> "asyncpg.Pool[asyncpg.Record]":
        async with self._opening:  # several at once would open a pool each, and leave all but one behind
            if self._pool is None:
                self._pool = await postgres_pool(self._url, self._synchronous_commit)
                self._commits.hear(self._slots.refuse_waiting)
        return self._pool

    async def _roll_back(self, connection: Any, error: BaseException) -> None:
        """Raises Unconfirmed when a lock was not got because somebody's commit is not confirmed."""
        if connection.is_closed():
            return
        await connection.execute("ROLLBACK")
        if getattr(error, "sqlstate", None) == LOCK_NOT_AVAILABLE and await connection.fetchval(WAITS_FOR_STANDBY):
            raise Unconfirmed from error

    def _commit(self, connection: Any, tx: _PostgresTx, holding: AsyncExitStack) -> "asyncio.Future[None]":
        """Begins to commit, in a task of its own. What is returned ends with the answer, or as Unconfirmed when none comes in time. The COMMIT goes
        on in either case; what is `holding` the connection ends with it."""
        told: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        task = asyncio.create_task(self._until_answered(connection, tx, holding, told))
        self._committing.add(task)
        task.add_done_callback(self._committing.discard)
        return told

    async def _until_answered(self, connection: Any, tx: _PostgresTx, holding: AsyncExitStack, told: "asyncio.Future[None]") -> None:
        loop = asyncio.get_running_loop()
        backend: Backend = connection.backend
        timer = loop.call_later(self._commits.within_s, self._unconfirmed, backend, connection, told)
        try:
            async with holding:
                await connection.execute("COMMIT", timeout=A_YEAR_S)
        except BaseException as error:
            if not told.done():
                told.set_exception(error) if isinstance(error, Exception) else told.cancel()
            if not isinstance(error, Exception):
                raise
        else:
            self._commits.confirmed_s = clock.monotonic_s()
            self._news.committed(tx.news)
            if not told.done():
                told.set_result(None)
        finally:
            timer.cancel()
            self._commits.over(backend)

    def _unconfirmed(self, backend: Backend, connection: Any, told: "asyncio.Future[None]") -> None:
        loop = asyncio.get_running_loop()
        self._commits.add(backend, lambda: loop.call_soon_threadsafe(_cut, connection))
        if not told.done():
            told.set_exception(Unconfirmed())

    async def close(self) -> None:
        if self._pool is not None:
            with suppress(TimeoutError):  # then the connections are cut
                async with asyncio.timeout(CLOSE_S):
                    await self._pool.close()
            self._pool = None


def _cut(connection: Any) -> None:
    """Ends the wait for an answer that was lost; one that has come meanwhile has given the connection back."""
    with suppress(asyncpg.InterfaceError):
        connection.terminate()


class SqliteHot:
    """The writer thread, started at the first use. `lock` is the process's: whoever writes to the file holds it."""

    def __init__(self, path: Path, lock: FairLock, news: News, commits: Commits) -> None:
        self._path = path
        self._lock = lock
        self._news = news
        self._commits = commits
        self._turn = asyncio.Lock()  # the hot paths share the thread: who waits for the file must not block it
        self._holds_lock = False  # set and read by that thread alone
        self._writer: _SqliteWriter | None = None

    @asynccontextmanager
    async def transaction(self) -> AsyncIterator[HotTx]:
        writer = self._writer = self._writer or _SqliteWriter(self._path)
        with reachable():
            async with self._turn:
                tx = _SqliteTx(writer)
                try:
                    await writer.run(self._begin)
                    yield tx
                    await writer.run(self._commit)
                except BaseException:  # if canceled, what the thread has begun goes on: this comes right behind it
                    await asyncio.shield(writer.run(self._end))
                    raise
        self._commits.confirmed_s = clock.monotonic_s()
        self._news.committed(tx.news)

    def _begin(self, connection: sqlite3.Connection) -> None:
        self._lock.acquire()
        self._holds_lock = True
        connection.execute("BEGIN IMMEDIATE")

    def _commit(self, connection: sqlite3.Connection) -> None:
        connection.execute("COMMIT")
        self._end(connection)

    def _end(self, connection: sqlite3.Connection) -> None:
        if connection.in_transaction:
            connection.execute("ROLLBACK")
        if self._holds_lock:
            self._holds_lock = False
            self._lock.release()

    async def close(self) -> None:
        if self._writer is not None:
            self._writer.close()
            self._writer = None


class _SqliteWriter:
    """The hot paths' own connection, used by one thread."""

    def __init__(self, path: Path) -> None:
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="sqlite-writer")
        self._connection = self._thread.submit(connect_sqlite, path).result()

    async def run(self, work: Callable[[sqlite3.Connection], T]) -> T:
        return await asyncio.get_running_loop().run_in_executor(self._thread, work, self._connection)

    def close(self) -> None:
        self._thread.submit(self._connection.close).result()
        self._thread.shutdown()


@lru_cache(maxsize=256)
def _numbered(sql: str) -> str:
    """`$1` is `?1` to SQLite."""
    return sql.replace("$", "?")
