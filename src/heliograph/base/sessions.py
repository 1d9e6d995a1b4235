"""Connections to SQLite and PostgreSQL, with the settings that keep one stuck process from holding up the others."""

import sqlite3
import threading
from collections import deque
from pathlib import Path
from typing import Any, Final, TypeVar

import asyncpg
import psycopg
import sqlalchemy as sa
from psycopg.abc import PQGen

from heliograph.base.outage import reachable

SQLITE_BUSY_TIMEOUT_MS: Final = 5_000  # how long a command beside a running server waits for its turn to write
POSTGRES_LOCK_TIMEOUT_MS: Final = 1_000  # a stopped process must not hold up others (architecture section 4)
POSTGRES_STATEMENT_TIMEOUT_MS: Final = 10_000
POSTGRES_IDLE_IN_TRANSACTION_MS: Final = 5_000
POSTGRES_ANSWER_S: Final = 12.0  # past its own limit, PostgreSQL has fallen silent: then the connection is closed from here
POSTGRES_PING_S: Final = 2.0  # for a connection to show that it lives, before it is used
CONNECT_TIMEOUT_S: Final = 1
KEEPALIVE: Final = {"tcp_keepalives_idle": "5", "tcp_keepalives_interval": "2", "tcp_keepalives_count": "3"}
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

    def wait(self, gen: PQGen[T], interval: float = 0.1, timeout: float | None = None) -> T:
        within_s = self.answer_within_s
        if self.autocommit and within_s is not None:
            within_s = POSTGRES_PING_S  # SQLAlchemy's ping is all that runs in no transaction
        try:
            return super().wait(gen, interval, within_s if timeout is None else timeout)
        except psycopg.OperationalError as error:
            if error.sqlstate is None and timeout is None:  # not PostgreSQL's words
                self.pgconn.finish()
            raise


def wait_for_it(tx: sa.Connection) -> None:
    """What `tx` asks until its connection is given back may take as long as it does."""
    connection = tx.connection.driver_connection
    if isinstance(connection, _Impatient):
        connection.answer_within_s = None


def postgres_engine(url: str) -> sa.Engine:
    options = " ".join(f"-c {name}={value}" for name, value in _session_settings().items() if name != "application_name")
    engine = sa.create_engine(
        "postgresql+psycopg://" + url.split("://", 1)[1], pool_size=SYNC_CONNECTIONS_MAX, max_overflow=0, pool_timeout=2, pool_pre_ping=True,
        hide_parameters=True,
        connect_args={"connect_timeout": CONNECT_TIMEOUT_S, "options": options, "tcp_user_timeout": 2_000, "application_name": _name})
    sa.event.listen(engine, "do_connect", lambda dialect, record, args, values: _Impatient.connect(*args, **values))
    sa.event.listen(engine, "checkin", _be_impatient)
    return engine


def _be_impatient(connection: _Impatient | None, record: object) -> None:
    if connection is not None:
        connection.answer_within_s = _Impatient.answer_within_s


async def postgres_pool(url: str) -> "asyncpg.Pool[asyncpg.Record]":
    """The hot paths' connections. Raises Unavailable."""
    with reachable():
        return await asyncpg.create_pool(
            url, min_size=1, max_size=HOT_CONNECTIONS_MAX, timeout=CONNECT_TIMEOUT_S, init=_hex_ids, reset=_as_it_is,
            command_timeout=POSTGRES_STATEMENT_TIMEOUT_MS / 1_000, server_settings=_hot_session_settings())


async def postgres_connection(url: str) -> "asyncpg.Connection[asyncpg.Record]":
    """One connection that is kept for its session. PostgreSQL finds within 11 s that nobody is at its other end any more. Raises Unavailable."""
    with reachable():
        return await asyncpg.connect(url, timeout=CONNECT_TIMEOUT_S, server_settings=_session_settings() | KEEPALIVE)


async def _hex_ids(connection: "asyncpg.Connection[asyncpg.Record]") -> None:
    await connection.set_type_codec("uuid", schema="pg_catalog", encoder=bytes.fromhex, decoder=bytes.hex, format="binary")


async def _as_it_is(connection: "asyncpg.Connection[asyncpg.Record]") -> None:
    """Our transactions leave nothing behind in a session; the driver's RESET ALL after each would be a round trip more."""


def _session_settings() -> dict[str, str]:
    return {
        "application_name": _name,
        "lock_timeout": str(POSTGRES_LOCK_TIMEOUT_MS),
        "statement_timeout": str(POSTGRES_STATEMENT_TIMEOUT_MS),
        "idle_in_transaction_session_timeout": str(POSTGRES_IDLE_IN_TRANSACTION_MS),
        "timezone": "UTC",
        "jit": "off",  # compiling takes longer than any statement of ours
    }


def _hot_session_settings() -> dict[str, str]:
    """The hot statements are planned once: their arrays differ in length only, and planning anew cost a fifth of the database's time.
    And by index: a plan made while a table was empty would go on reading it from end to end as it grows."""
    return _session_settings() | {"plan_cache_mode": "force_generic_plan", "enable_seqscan": "off"}
