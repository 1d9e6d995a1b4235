"""Connections to SQLite and PostgreSQL, with the settings that keep one stuck process from holding up the others."""

import sqlite3
import threading
from collections import deque
from functools import partial
from pathlib import Path
from typing import Any, Final, TypeVar

import asyncpg
import psycopg
import sqlalchemy as sa
from psycopg.abc import PQGen

from heliograph.base.commits import WHO_AM_I, Backend, Commits, NotConfirmedInTime
from heliograph.base.outage import reachable

SQLITE_BUSY_TIMEOUT_MS: Final = 5_000  # how long a command beside a running server waits for its turn to write
POSTGRES_LOCK_TIMEOUT_MS: Final = 1_000  # a stopped process must not hold up others (architecture section 4)
POSTGRES_STATEMENT_TIMEOUT_MS: Final = 10_000
POSTGRES_IDLE_IN_TRANSACTION_MS: Final = 5_000
POSTGRES_ANSWER_S: Final = 12.0  # past its own limit, PostgreSQL has fallen silent: then the connection is closed from here
POSTGRES_PING_S: Final = 2.0  # for a connection to show that it lives, before it is used
CONNECT_TIMEOUT_S: Final = 1
# PostgreSQL finds within 11 s that nobody is at a connection's other end any more. By the kernel's own limits it takes hours: after a few cuts of
# the network, connections of processes that are long back would be all that it has.
KEEPALIVE: Final = {"tcp_keepalives_idle": "5", "tcp_keepalives_interval": "2", "tcp_keepalives_count": "3", "tcp_user_timeout": "11000"}
DURABLE: Final = "on"  # PostgreSQL answers a COMMIT when it is on its disk, and on that of its synchronous standby where it has one
HOT_CONNECTIONS_MAX: Final = 6  # accept, large sends, and one turn for each of a few carriers
SYNC_CONNECTIONS_MAX: Final = 16  # eight threads of requests, and as many for what must never wait for them: the configuration, sweeps

_name = "heliograph"  # of all sessions of this process in PostgreSQL

T = TypeVar("T")


def call_them(name: str) -> None:
    """Names the sessions that are opened from now on, for whoever looks at `pg_stat_activity`."""
    global _name
    _name = name


def name() -> str:
    """Returns the name that sessions are given now."""
    return _name


class FairLock:
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


def sqlite_path(url: str) -> Path:
    """`sqlite:////var/lib/heliograph/heliograph.db` → the file."""
    return Path(url.removeprefix("sqlite:///"))


def connect_sqlite(path: Path) -> sqlite3.Connection:
    connection = sqlite3.connect(path, isolation_level=None, check_same_thread=False, timeout=SQLITE_BUSY_TIMEOUT_MS / 1_000,
                                 cached_statements=512)
    for pragma in ("journal_mode = WAL", "synchronous = FULL", "foreign_keys = ON", f"busy_timeout = {SQLITE_BUSY_TIMEOUT_MS}",
                   "temp_store = MEMORY", "cache_size = -16000"):
        connection.execute(f"PRAGMA {pragma}")
    return connection


def sqlite_engine(path: Path) -> sa.Engine:
    return sa.create_engine("sqlite://", creator=lambda: connect_sqlite(path), poolclass=sa.QueuePool, pool_size=SYNC_CONNECTIONS_MAX,
                            max_overflow=0, pool_timeout=5, hide_parameters=True)


class _Impatient(psycopg.Connection[Any]):
    """A connection that is closed when no answer comes. PostgreSQL's own limits are of no use when it is stopped, or cut off without a word: what
    it was asked has been acknowledged, so TCP has no complaint, and a thread would wait for ever."""

    answer_within_s: float | None = POSTGRES_ANSWER_S
    commits: Commits
    backend: Backend
    _is_committing = False

    def commit(self) -> None:
        """Commits, or raises NotConfirmedInTime. Then the connection is closed, and the commit goes on: PostgreSQL does not look who is there."""
        self._is_committing = self.answer_within_s is not None
        try:
            super().commit()
        except psycopg.OperationalError as error:
            if not self._is_committing or error.sqlstate is not None:
                raise
            is_connected = self.pgconn.status == psycopg.pq.ConnStatus.OK
            self.pgconn.finish()
            if not is_connected:
                raise
            self.commits.add(self.backend)
            raise NotConfirmedInTime(str(error)) from error
        finally:
            self._is_committing = False

    def wait(self, gen: PQGen[T], interval: float = 0.1, timeout: float | None = None) -> T:
        within_s = self.answer_within_s
        if self.autocommit and within_s is not None:
            within_s = POSTGRES_PING_S  # SQLAlchemy's ping is all that runs in no transaction
        if self._is_committing:
            within_s = self.commits.within_s
        try:
            return super().wait(gen, interval, within_s if timeout is None else timeout)
        except psycopg.OperationalError as error:
            if error.sqlstate is None and timeout is None and not self._is_committing:  # not PostgreSQL's words
                self.pgconn.finish()
            raise


def wait_for_it(tx: sa.Connection) -> None:
    """What `tx` asks until its connection is given back may take as long as it does."""
    answer_within(tx, None)


def answer_within(tx: sa.Connection, seconds: float | None) -> None:
    """What `tx` asks until its connection is given back has this long for an answer, each time."""
    connection = tx.connection.driver_connection
    if isinstance(connection, _Impatient):
        connection.answer_within_s = seconds


def postgres_session(url: str) -> "psycopg.Connection[Any]":
    """Opens one connection beside the engine's, for questions that must not wait for others: it is closed when an answer takes POSTGRES_PING_S."""
    return _Impatient.connect(url, autocommit=True, connect_timeout=CONNECT_TIMEOUT_S, tcp_user_timeout=2_000, application_name="heliograph")


def postgres_engine(url: str, commits: Commits, synchronous_commit: str = DURABLE) -> sa.Engine:
    options = " ".join(f"-c {name}={value}" for name, value in _session_settings(synchronous_commit).items() if name != "application_name")
    engine = sa.create_engine(
        "postgresql+psycopg://" + url.split("://", 1)[1], pool_size=SYNC_CONNECTIONS_MAX, max_overflow=0, pool_timeout=2, pool_pre_ping=True,
        hide_parameters=True,
        connect_args={"connect_timeout": CONNECT_TIMEOUT_S, "options": options, "tcp_user_timeout": 2_000, "application_name": _name})
    sa.event.listen(engine, "do_connect", lambda dialect, record, args, values: _Impatient.connect(*args, **values))
    sa.event.listen(engine, "connect", partial(_know_backend, commits))
    sa.event.listen(engine, "checkin", _be_impatient)
    return engine


def _know_backend(commits: Commits, connection: _Impatient, record: object) -> None:
    """A commit that is not confirmed is asked after by its session."""
    row = connection.execute(WHO_AM_I).fetchone()
    connection.rollback()
    assert row is not None
    connection.commits, connection.backend = commits, Backend(*row)


def _be_impatient(connection: _Impatient | None, record: object) -> None:
    if connection is not None:
        connection.answer_within_s = _Impatient.answer_within_s


async def postgres_pool(url: str, synchronous_commit: str = DURABLE) -> "asyncpg.Pool[asyncpg.Record]":
    """The hot paths' connections. Raises Unavailable."""
    with reachable():
        return await asyncpg.create_pool(
            url, min_size=1, max_size=HOT_CONNECTIONS_MAX, timeout=CONNECT_TIMEOUT_S, init=_prepare_hot, reset=_as_it_is,
            connection_class=HotConnection, command_timeout=POSTGRES_STATEMENT_TIMEOUT_MS / 1_000,
            server_settings=_hot_session_settings(synchronous_commit))


async def postgres_connection(url: str) -> "asyncpg.Connection[asyncpg.Record]":
    """One connection that is kept for its session. Raises Unavailable."""
    with reachable():
        return await asyncpg.connect(url, timeout=CONNECT_TIMEOUT_S, server_settings=_session_settings(DURABLE))


class HotConnection(asyncpg.Connection):  # type: ignore[misc]
    """A connection of the hot paths, which knows its session: a commit that is not confirmed is asked after by it."""

    backend: Backend


async def _prepare_hot(connection: HotConnection) -> None:
    connection.backend = Backend(*await connection.fetchrow(WHO_AM_I))
    await connection.set_type_codec("uuid", schema="pg_catalog", encoder=bytes.fromhex, decoder=bytes.hex, format="binary")


async def _as_it_is(connection: "asyncpg.Connection[asyncpg.Record]") -> None:
    """Our transactions leave nothing behind in a session; the driver's RESET ALL after each would be a round trip more."""


def _session_settings(synchronous_commit: str) -> dict[str, str]:
    return {
        "synchronous_commit": synchronous_commit,  # whatever the server, the database or the role has: accepted means stored
        "application_name": _name,
        "lock_timeout": str(POSTGRES_LOCK_TIMEOUT_MS),
        "statement_timeout": str(POSTGRES_STATEMENT_TIMEOUT_MS),
        "idle_in_transaction_session_timeout": str(POSTGRES_IDLE_IN_TRANSACTION_MS),
        "timezone": "UTC",
        "jit": "off",  # compiling takes longer than any statement of ours
        **KEEPALIVE,
    }


def _hot_session_settings(synchronous_commit: str) -> dict[str, str]:
    """The hot statements are planned once: their arrays differ in length only, and planning anew cost a fifth of the database's time.
    And by index: a plan made while a table was empty would go on reading it from end to end as it grows."""
    return _session_settings(synchronous_commit) | {"plan_cache_mode": "force_generic_plan", "enable_seqscan": "off"}
