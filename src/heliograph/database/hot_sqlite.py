"""Runs transactions of the hot paths on SQLite, in the one writer thread."""

import asyncio
import sqlite3
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import asynccontextmanager
from functools import lru_cache
from pathlib import Path
from typing import Any, Final, TypeAlias, TypeVar

from heliograph.base import clock
from heliograph.database.commits import Commits
from heliograph.database.hot import CommitListeners, HotTx
from heliograph.database.outage import unavailable_on_outage
from heliograph.database.sessions import FairLock, connect_sqlite

T = TypeVar("T")
_Work: TypeAlias = Callable[[sqlite3.Connection], T]

# sets of values that may wait in a transaction: with more, the event loop goes on with something
# else while they are stored
WAITING_MAX: Final = 100


class _SqliteTx:
    """Runs a transaction in the writer thread. To wake that thread, and to be woken by it, costs as
    much as a small statement. So `begin` and each statement that returns no rows wait for the next
    one that does, or for the end of the transaction.
    """

    postgresql = False

    def __init__(
        self, writer: "_SqliteWriter", begin: _Work[None], known: Mapping[int, int]
    ) -> None:
        self._writer = writer
        self._waiting: list[_Work[object]] = [begin]
        self._waiting_sets = 0
        self.signals: set[str] = set()
        self.learned: dict[int, int] = {}
        self.known = known

    async def fetch(self, sql: str, *args: Any) -> list[Any]:
        return await self.run(
            lambda connection: connection.execute(_sqlite_sql(sql), args).fetchall()
        )

    async def each(self, sql: str, sets: Sequence[Sequence[Any]]) -> list[Any]:
        if _returns_rows(sql):
            return await self.run(
                lambda connection: [
                    row for values in sets for row in connection.execute(sql, values)
                ]
            )
        if self._waiting_sets + len(sets) > WAITING_MAX:
            await self.run(lambda connection: connection.executemany(sql, sets))
            return []
        self._waiting.append(lambda connection: connection.executemany(sql, sets))
        self._waiting_sets += len(sets)
        return []

    async def run(self, work: _Work[T]) -> T:
        """Returns what `work` returns, once everything that waits has been done before it."""
        if not self._waiting:
            return await self._writer.run(work)
        waiting, self._waiting, self._waiting_sets = self._waiting, [], 0

        def everything(connection: sqlite3.Connection) -> T:
            for earlier in waiting:
                earlier(connection)
            return work(connection)

        return await self._writer.run(everything)


class SqliteHot:
    """Runs hot transactions in the writer thread, which starts at the first use. `lock` is the
    process's: whoever writes to the file holds it.
    """

    def __init__(
        self, path: Path, lock: FairLock, listeners: CommitListeners, commits: Commits
    ) -> None:
        self._path = path
        self._lock = lock
        self._listeners = listeners
        self._commits = commits
        # the hot paths share the thread: who waits for the file must not block it
        self._one_at_a_time = asyncio.Lock()
        self._holds_lock = False  # set and read by that thread alone
        self._writer: _SqliteWriter | None = None

    @asynccontextmanager
    async def transaction(self) -> AsyncIterator[HotTx]:
        """Opens a transaction for writing, alone in this process. It begins with its first
        statement, and is committed at the end.
        """
        writer = self._writer = self._writer or _SqliteWriter(self._path)
        with unavailable_on_outage():
            async with self._one_at_a_time:
                tx = _SqliteTx(writer, self._begin, self._listeners.known)
                try:
                    yield tx
                    await tx.run(self._commit)
                # if canceled, what the thread has begun goes on: this comes right behind it
                except BaseException:
                    await asyncio.shield(writer.run(self._end))
                    raise
        self._commits.confirmed_s = clock.monotonic_s()
        self._listeners.notify(tx.signals, tx.learned)

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
    """Holds the hot paths' own connection, which one thread uses."""

    def __init__(self, path: Path) -> None:
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="sqlite-writer")
        self._connection = self._thread.submit(connect_sqlite, path).result()

    async def run(self, work: _Work[T]) -> T:
        return await asyncio.get_running_loop().run_in_executor(
            self._thread, work, self._connection
        )

    def close(self) -> None:
        self._thread.submit(self._connection.close).result()
        self._thread.shutdown()


@lru_cache(maxsize=256)
def _returns_rows(sql: str) -> bool:
    return sql.lstrip().startswith("SELECT") or "RETURNING" in sql


@lru_cache(maxsize=256)
def _sqlite_sql(sql: str) -> str:
    """Writes `$1` as `?1`, which is what SQLite calls it."""
    return sql.replace("$", "?")
