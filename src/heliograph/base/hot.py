"""Transactions of the hot paths: a few statements that carry the load, awaited in the event loop as raw SQL over columns of values.

On PostgreSQL a transaction is one of an asyncpg connection; on SQLite the same calls run in the one writer thread.
"""

import asyncio
import sqlite3
from collections.abc import AsyncIterator, Callable, Coroutine, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import asynccontextmanager, contextmanager, suppress
from functools import lru_cache
from pathlib import Path
from typing import Any, Final, Protocol, TypeVar

import asyncpg

from heliograph.base.arrays import as_text, literal
from heliograph.base.hosts import Hosts
from heliograph.base.outage import is_lost, reachable
from heliograph.base.sessions import FairLock, connect_sqlite, postgres_pool

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
    """A pool of connections, opened at the first use."""

    def __init__(self, hosts: Hosts, news: News) -> None:
        self._hosts = hosts
        self._news = news
        self._opening = asyncio.Lock()
        self._pool: asyncpg.Pool[asyncpg.Record] | None = None
        self._turn = hosts.turn  # of the pool's connections: see Hosts

    @asynccontextmanager
    async def transaction(self) -> AsyncIterator[HotTx]:
        if self._pool is None:
            async with self._opening:  # several at once would open a pool each, and leave all but one behind
                self._pool = self._pool or await postgres_pool(self._hosts)
        self._hosts.look()
        if self._turn != self._hosts.turn:
            self._turn = self._hosts.turn
            await self._pool.expire_connections()
        turn = self._turn
        with reachable(), self._told(turn):
            async with self._pool.acquire() as connection:
                tx = _PostgresTx(connection)
                async with connection.transaction():
                    yield tx
        self._news.committed(tx.news)

    @contextmanager
    def _told(self, turn: int) -> Iterator[None]:
        """Tells the hosts when a connection is lost: none of its age is tried after it, each of which would cost as long as this one did."""
        try:
            yield
        except (OSError, asyncpg.PostgresError, asyncpg.InterfaceError, asyncpg.InternalClientError) as error:
            if is_lost(error):
                self._hosts.failed(turn)
            raise

    async def close(self) -> None:
        if self._pool is not None:
            with suppress(TimeoutError):  # then the connections are cut
                async with asyncio.timeout(CLOSE_S):
                    await self._pool.close()
            self._pool = None


class SqliteHot:
    """The writer thread, started at the first use. `lock` is the process's: whoever writes to the file holds it."""

    def __init__(self, path: Path, lock: FairLock, news: News) -> None:
        self._path = path
        self._lock = lock
        self._news = news
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
