"""The database: who opens a transaction, on SQLite and on PostgreSQL.

`write()`, `transact()` and `read()` are synchronous SQLAlchemy Core transactions, the same statements on both databases. They stand in an
`api.py`, a command, a job or a batch, nowhere else; use cases take `tx` first and never commit.

`hot()` is for the few statements that carry the load (accepting a batch, a carrier's turn): awaited in the event loop, as
raw SQL over columns of values. On PostgreSQL it is an asyncpg connection; on SQLite the same calls run in the one writer thread.

Ids travel in raw form (32 hex digits) and times as integer milliseconds, so a value means the same on both databases.
"""

import asyncio
import sqlite3
import threading
from collections import deque
from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import asynccontextmanager, contextmanager
from functools import lru_cache
from pathlib import Path
from typing import Any, Final, Protocol, TypeVar

import asyncpg
import sqlalchemy as sa
from sqlalchemy import exc
from sqlalchemy.engine import Connection, Dialect

from heliograph.base.arrays import as_text, literal
from heliograph.base.errors import Unavailable

metadata: Final = sa.MetaData()

SQLITE_BUSY_TIMEOUT_MS: Final = 5_000  # how long a command beside a running server waits for its turn to write
POSTGRES_LOCK_TIMEOUT_MS: Final = 1_000  # a stopped process must not hold up others (architecture section 4)
POSTGRES_STATEMENT_TIMEOUT_MS: Final = 10_000
POSTGRES_IDLE_IN_TRANSACTION_MS: Final = 5_000
CONNECT_TIMEOUT_S: Final = 1
HOT_CONNECTIONS_MAX: Final = 6  # accept, large sends, and one turn for each of a few carriers
SYNC_CONNECTIONS_MAX: Final = 8
CONFLICT_TRIES: Final = 5  # of a transaction that met a deadlock, a serialization failure or a lock not got in time

T = TypeVar("T")


class RawId(sa.types.TypeDecorator[str]):
    """An id in raw form: uuid on PostgreSQL, 32 hex digits on SQLite, always 32 hex digits in Python."""

    impl = sa.Uuid(as_uuid=False)
    cache_ok = True

    def process_result_value(self, value: Any, dialect: Dialect) -> str | None:
        return None if value is None else str(value).replace("-", "")


class HotTx(Protocol):
    """A transaction of the hot paths."""

    postgresql: bool

    async def fetch(self, sql: str, *args: Any) -> list[Any]:
        """Rows of one statement with `$1…` for its values (the same text for both databases where it needs no arrays)."""
        ...

    async def over(self, sql: str, *columns: Sequence[Any]) -> list[Any]:
        """Rows of one statement over equally long columns of values: arrays to `unnest` on PostgreSQL, one execution a row on SQLite."""
        ...


class _PostgresTx:
    postgresql = True

    def __init__(self, connection: "asyncpg.pool.PoolConnectionProxy[asyncpg.Record]") -> None:
        self._connection = connection

    async def fetch(self, sql: str, *args: Any) -> list[Any]:
        rows: list[Any] = await self._connection.fetch(as_text(sql), *[literal(arg) if isinstance(arg, list) else arg for arg in args])
        return rows

    async def over(self, sql: str, *columns: Sequence[Any]) -> list[Any]:
        return await self.fetch(sql, *columns) if columns[0] else []


class _SqliteTx:
    postgresql = False

    def __init__(self, writer: "_SqliteWriter") -> None:
        self._writer = writer

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


class _FairLock:
    """A lock whose waiters get it in order of arrival: with SQLite's busy timeout alone, writers starve one another."""

    def __init__(self) -> None:
        self._guard = threading.Lock()
        self._held = False
        self._waiting: deque[threading.Lock] = deque()

    def acquire(self) -> None:
        with self._guard:
            if not self._held:
                self._held = True
                return
            turn = threading.Lock()
            turn.acquire()
            self._waiting.append(turn)
        turn.acquire()

    def release(self) -> None:
        with self._guard:
            if self._waiting:
                self._waiting.popleft().release()
            else:
                self._held = False


class _SqliteWriter:
    """The hot paths' own connection, used by one thread."""

    def __init__(self, path: Path) -> None:
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="sqlite-writer")
        self._connection = self._thread.submit(_connect_sqlite, path).result()

    async def run(self, work: Callable[[sqlite3.Connection], T]) -> T:
        return await asyncio.get_running_loop().run_in_executor(self._thread, work, self._connection)

    def close(self) -> None:
        self._thread.submit(self._connection.close).result()
        self._thread.shutdown()


def _connect_sqlite(path: Path) -> sqlite3.Connection:
    connection = sqlite3.connect(path, isolation_level=None, check_same_thread=False, timeout=SQLITE_BUSY_TIMEOUT_MS / 1_000,
                                 cached_statements=512)
    for pragma in ("journal_mode = WAL", "synchronous = FULL", "foreign_keys = ON", f"busy_timeout = {SQLITE_BUSY_TIMEOUT_MS}",
                   "temp_store = MEMORY", "cache_size = -16000"):
        connection.execute(f"PRAGMA {pragma}")
    return connection


class Database:
    """One database. Made once a process, by whatever is started; closed by `close()` (and `close_hot()` in the event loop)."""

    def __init__(self, url: str) -> None:
        self.url = url
        self.postgresql = url.startswith("postgres")
        self._lock = _FairLock()
        self._hot_turn = asyncio.Lock()  # the hot paths share one writer thread: who waits for the file must not block it
        self._hot_holds_lock = False  # set and read by that thread alone
        self._opening = asyncio.Lock()
        self._pool: asyncpg.Pool[asyncpg.Record] | None = None
        self._writer: _SqliteWriter | None = None
        self.engine = _postgres_engine(url) if self.postgresql else _sqlite_engine(sqlite_path(url))

    @contextmanager
    def write(self) -> Iterator[Connection]:
        """A transaction that is committed at the end of the block, or rolled back whole by any exception."""
        if self.postgresql:
            with _reachable(), self.engine.begin() as connection:
                yield connection
            return
        self._lock.acquire()
        try:
            with _reachable(), self.engine.connect() as connection:
                connection.exec_driver_sql("BEGIN IMMEDIATE")  # a plain BEGIN that reads first would lose updates
                yield connection
                connection.commit()
        finally:
            self._lock.release()

    def transact(self, effect: Callable[[Connection], T]) -> T:
        """What `effect(tx)` returns, from a transaction that is run again, whole, when it met what `is_conflict` names; then Unavailable."""
        for _ in range(CONFLICT_TRIES):
            try:
                with self.write() as tx:
                    return effect(tx)
            except exc.DBAPIError as error:
                if not is_conflict(error):
                    raise
        raise Unavailable("The database is busy.")

    @contextmanager
    def read(self) -> Iterator[Connection]:
        """One consistent view; nothing is stored."""
        with _reachable(), self.engine.connect() as connection:
            if not self.postgresql:
                connection.exec_driver_sql("BEGIN")
            yield connection
            connection.rollback()

    @asynccontextmanager
    async def hot(self) -> AsyncIterator[HotTx]:
        """A transaction of the hot paths, committed at the end of the block."""
        if self.postgresql:
            async with self._hot_postgres() as postgres_tx:
                yield postgres_tx
        else:
            async with self._hot_sqlite() as sqlite_tx:
                yield sqlite_tx

    @asynccontextmanager
    async def _hot_postgres(self) -> AsyncIterator[_PostgresTx]:
        if self._pool is None:
            await self.open_hot()
        assert self._pool is not None
        with _reachable():
            async with self._pool.acquire() as connection, connection.transaction():
                yield _PostgresTx(connection)

    @asynccontextmanager
    async def _hot_sqlite(self) -> AsyncIterator[_SqliteTx]:
        if self._writer is None:
            await self.open_hot()
        writer = self._writer
        assert writer is not None
        with _reachable():
            async with self._hot_turn:
                try:
                    await writer.run(self._begin)
                    yield _SqliteTx(writer)
                    await writer.run(self._commit)
                except BaseException:  # if canceled, what the thread has begun goes on: this comes right behind it
                    await asyncio.shield(writer.run(self._end))
                    raise

    def _begin(self, connection: sqlite3.Connection) -> None:
        self._lock.acquire()
        self._hot_holds_lock = True
        connection.execute("BEGIN IMMEDIATE")

    def _commit(self, connection: sqlite3.Connection) -> None:
        connection.execute("COMMIT")
        self._end(connection)

    def _end(self, connection: sqlite3.Connection) -> None:
        if connection.in_transaction:
            connection.execute("ROLLBACK")
        if self._hot_holds_lock:
            self._hot_holds_lock = False
            self._lock.release()

    async def open_hot(self) -> None:
        """Opens what `hot()` uses; called by itself at the first use."""
        if self.postgresql:
            async with self._opening:  # several at once would open a pool each, and leave all but one behind
                self._pool = self._pool or await self._open_pool()
        elif self._writer is None:
            self._writer = _SqliteWriter(sqlite_path(self.url))

    async def _open_pool(self) -> "asyncpg.Pool[asyncpg.Record]":
        with _reachable():
            return await asyncpg.create_pool(
                self.url, min_size=1, max_size=HOT_CONNECTIONS_MAX, timeout=CONNECT_TIMEOUT_S, init=_hex_ids, reset=_as_it_is,
                command_timeout=POSTGRES_STATEMENT_TIMEOUT_MS / 1_000, server_settings=_hot_session_settings())

    async def close_hot(self) -> None:
        if self._pool is not None:
            await self._pool.close()
            self._pool = None
        if self._writer is not None:
            self._writer.close()
            self._writer = None

    def close(self) -> None:
        self.engine.dispose()


def sqlite_path(url: str) -> Path:
    """`sqlite:////var/lib/heliograph/heliograph.db` → the file."""
    return Path(url.removeprefix("sqlite:///"))


@lru_cache(maxsize=256)
def _numbered(sql: str) -> str:
    """`$1` is `?1` to SQLite."""
    return sql.replace("$", "?")


async def _hex_ids(connection: "asyncpg.Connection[asyncpg.Record]") -> None:
    await connection.set_type_codec("uuid", schema="pg_catalog", encoder=bytes.fromhex, decoder=bytes.hex, format="binary")


async def _as_it_is(connection: "asyncpg.Connection[asyncpg.Record]") -> None:
    """Our transactions leave nothing behind in a session; the driver's RESET ALL after each would be a round trip more."""


def _session_settings() -> dict[str, str]:
    return {
        "application_name": "heliograph",
        "lock_timeout": str(POSTGRES_LOCK_TIMEOUT_MS),
        "statement_timeout": str(POSTGRES_STATEMENT_TIMEOUT_MS),
        "idle_in_transaction_session_timeout": str(POSTGRES_IDLE_IN_TRANSACTION_MS),
        "timezone": "UTC",
    }


def _hot_session_settings() -> dict[str, str]:
    """The hot statements are planned once: their arrays differ in length only, and planning anew cost a fifth of the database's time."""
    return _session_settings() | {"plan_cache_mode": "force_generic_plan"}


def _postgres_engine(url: str) -> sa.Engine:
    options = " ".join(f"-c {name}={value}" for name, value in _session_settings().items() if name != "application_name")
    return sa.create_engine(
        "postgresql+psycopg://" + url.split("://", 1)[1], pool_size=SYNC_CONNECTIONS_MAX, max_overflow=0, pool_timeout=2, pool_pre_ping=True,
        connect_args={"connect_timeout": CONNECT_TIMEOUT_S, "options": options, "tcp_user_timeout": 2_000, "application_name": "heliograph"})


def _sqlite_engine(path: Path) -> sa.Engine:
    return sa.create_engine("sqlite://", creator=lambda: _connect_sqlite(path), poolclass=sa.QueuePool, pool_size=SYNC_CONNECTIONS_MAX,
                            max_overflow=0, pool_timeout=5)


@contextmanager
def _reachable() -> Iterator[None]:
    """Turns "the database cannot be used right now" into 503; every other error stays what it is."""
    try:
        yield
    except (exc.InterfaceError, exc.TimeoutError, asyncpg.InterfaceError, asyncpg.PostgresConnectionError, asyncpg.CannotConnectNowError,
            asyncpg.TooManyConnectionsError, asyncpg.DiskFullError, asyncpg.QueryCanceledError,
            asyncpg.IdleInTransactionSessionTimeoutError, asyncpg.AdminShutdownError, asyncpg.CrashShutdownError,
            OSError) as error:  # refused, reset, no such host, no answer in time
        raise Unavailable("The database is not reachable.") from error
    except (exc.OperationalError, sqlite3.OperationalError) as error:
        if is_conflict(error):
            raise
        raise Unavailable("The database is not reachable.") from error


RETRIED_SQLSTATES: Final = frozenset({"40001", "40P01", "55P03"})  # serialization failure, deadlock, lock not available


def is_conflict(error: BaseException) -> bool:
    """True for what the same transaction, run again, may well not meet: deadlock, serialization failure, a lock not got in time."""
    cause = error.orig if isinstance(error, exc.DBAPIError) else error
    return getattr(cause, "sqlstate", None) in RETRIED_SQLSTATES
