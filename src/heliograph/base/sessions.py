"""Connections to SQLite and PostgreSQL, with the settings that keep one stuck process from holding up the others."""

import asyncio
import socket
import sqlite3
import threading
from collections import deque
from contextlib import suppress
from pathlib import Path
from typing import Any, Final, TypeVar

import asyncpg
import psycopg
import sqlalchemy as sa
from psycopg.abc import PQGen

from heliograph.base.database_url import Host
from heliograph.base.hosts import STANDING_SQL, Hosts, Seat, Standing, standing_of
from heliograph.base.outage import READ_ONLY_SQLSTATE, is_lost, reachable

SQLITE_BUSY_TIMEOUT_MS: Final = 5_000  # how long a command beside a running server waits for its turn to write
POSTGRES_LOCK_TIMEOUT_MS: Final = 1_000  # a stopped process must not hold up others (architecture section 4)
POSTGRES_STATEMENT_TIMEOUT_MS: Final = 10_000
POSTGRES_IDLE_IN_TRANSACTION_MS: Final = 5_000
POSTGRES_ANSWER_S: Final = 12.0  # past its own limit, PostgreSQL has fallen silent: then the connection is closed from here
POSTGRES_PING_S: Final = 2.0  # for a connection to show that it lives, before it is used
ANY_HOST: Final = "any"  # which one is wanted is judged by `Hosts`, whatever PGTARGETSESSIONATTRS says
CONNECT_TIMEOUT_S: Final = 1  # psycopg makes 2 of it, libpq's least
UNACKNOWLEDGED_MS: Final = 2_000  # a host that does not even acknowledge what it was sent for so long is gone, whatever it was asked
KEEPALIVE_IDLE_S: Final = 5  # and over which nothing is said it is asked after so long,
KEEPALIVE_INTERVAL_S: Final = 1  # and again and again
KEEPALIVE_COUNT: Final = 2
KEEPALIVE: Final = {"tcp_keepalives_idle": "5", "tcp_keepalives_interval": "2", "tcp_keepalives_count": "3"}
HOT_CONNECTIONS_MAX: Final = 6  # accept, large sends, and one turn for each of a few carriers
SYNC_CONNECTIONS_MAX: Final = 16  # eight threads of requests, and as many for what must never wait for them: the configuration, sweeps

T = TypeVar("T")


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
    seat: Seat

    def wait(self, gen: PQGen[T], interval: float = 0.1, timeout: float | None = None) -> T:
        within_s = POSTGRES_PING_S if self.autocommit else self.answer_within_s  # SQLAlchemy's ping is all that runs in no transaction
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


def postgres_hosts(url: str) -> Hosts:
    """The hosts of this URL, and how each is asked what it is. Raises WrongUrl."""
    return Hosts(url, _ask)


def postgres_engine(hosts: Hosts) -> sa.Engine:
    engine = sa.create_engine("postgresql+psycopg://", creator=lambda: _connect(hosts), pool_size=SYNC_CONNECTIONS_MAX, max_overflow=0,
                              pool_timeout=2, pool_pre_ping=True, hide_parameters=True)
    sa.event.listen(engine, "checkin", _be_impatient)

    @sa.event.listens_for(engine, "checkout")
    def _is_of_this_turn(connection: _Impatient, record: object, proxy: object) -> None:
        hosts.look()
        if connection.seat.turn != hosts.turn:
            raise sa.exc.InvalidatePoolError  # whatever is as old as it, too: another one is made

    @sa.event.listens_for(engine, "handle_error")
    def _tell_hosts(context: sa.engine.ExceptionContext) -> None:
        if getattr(context.original_exception, "sqlstate", None) == READ_ONLY_SQLSTATE:
            context.is_disconnect = True
        if context.is_disconnect and context.connection is not None:
            connection = context.connection.connection.driver_connection
            hosts.failed(connection.seat.turn if isinstance(connection, _Impatient) else hosts.turn)

    return engine


def _connect(hosts: Hosts) -> _Impatient:
    """A connection to the host that can be written to. When the one that was known does not answer, the others are asked, once."""
    for is_last in (len(hosts.all) == 1, True):
        seat = hosts.seat()
        try:
            return _seated(hosts, seat)
        except psycopg.OperationalError:
            hosts.not_reached(seat)
            if is_last:
                raise
    raise AssertionError("the last try returns or raises")


def _seated(hosts: Hosts, seat: Seat) -> _Impatient:
    connection = _open(seat.host)
    try:
        standing = standing_of(connection.execute(_begin_session(_session_settings()), prepare=False).fetchone())
        connection.seat = hosts.taken(seat, standing)
        connection.autocommit = False
    except BaseException:
        connection.close()
        raise
    return connection


def _open(host: Host) -> _Impatient:
    return _Impatient.connect(
        host.url, autocommit=True, target_session_attrs=ANY_HOST, connect_timeout=CONNECT_TIMEOUT_S, application_name="heliograph",
        tcp_user_timeout=UNACKNOWLEDGED_MS, keepalives_idle=KEEPALIVE_IDLE_S, keepalives_interval=KEEPALIVE_INTERVAL_S,
        keepalives_count=KEEPALIVE_COUNT)


def _ask(host: Host) -> Standing:
    with _open(host) as connection:
        return standing_of(connection.execute(STANDING_SQL, prepare=False).fetchone())


def _begin_session(settings: dict[str, str]) -> str:
    """One statement, the first of each connection. PgBouncer refuses settings that come with the connection itself (its manual,
    ignore_startup_parameters)."""
    made = ", ".join(f"set_config('{name}', '{value}', false)" for name, value in settings.items())
    return STANDING_SQL.replace(" FROM pg_control_system()", f", {made} FROM pg_control_system()")


def _be_impatient(connection: _Impatient | None, record: object) -> None:
    if connection is not None:
        connection.answer_within_s = _Impatient.answer_within_s


class PostgresConnection(asyncpg.Connection):  # type: ignore[misc]  # the driver has no types
    """A connection that is closed when what was sent over it is not even acknowledged."""

    seat: Seat

    def __init__(self, protocol: Any, transport: Any, *more: Any, **named: Any) -> None:
        super().__init__(protocol, transport, *more, **named)
        wire = transport.get_extra_info("socket")
        with suppress(OSError):  # a Unix socket
            wire.setsockopt(socket.IPPROTO_TCP, socket.TCP_USER_TIMEOUT, UNACKNOWLEDGED_MS)
            wire.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
            wire.setsockopt(socket.IPPROTO_TCP, socket.TCP_KEEPIDLE, KEEPALIVE_IDLE_S)
            wire.setsockopt(socket.IPPROTO_TCP, socket.TCP_KEEPINTVL, KEEPALIVE_INTERVAL_S)
            wire.setsockopt(socket.IPPROTO_TCP, socket.TCP_KEEPCNT, KEEPALIVE_COUNT)


async def postgres_pool(hosts: Hosts) -> "asyncpg.Pool[asyncpg.Record]":
    """The hot paths' connections. Raises Unavailable."""

    async def connect(*_: object, **__: object) -> PostgresConnection:
        return await _connected(hosts, _hot_session_settings(), POSTGRES_STATEMENT_TIMEOUT_MS / 1_000)

    with reachable():
        return await asyncpg.create_pool(min_size=1, max_size=HOT_CONNECTIONS_MAX, connect=connect, connection_class=PostgresConnection,
                                         init=_hex_ids, reset=_as_it_is)


async def postgres_connection(hosts: Hosts) -> PostgresConnection:
    """One connection that is kept for its session. PostgreSQL finds within 11 s that nobody is at its other end any more. Raises Unavailable."""
    with reachable():
        return await _connected(hosts, _session_settings() | KEEPALIVE)


async def _connected(hosts: Hosts, settings: dict[str, str], command_timeout_s: float | None = None) -> PostgresConnection:
    """As `_connect`, in the event loop."""
    for is_last in (len(hosts.all) == 1, True):
        seat = hosts.seat() if hosts.chosen is not None else await asyncio.to_thread(hosts.seat)
        connection: PostgresConnection | None = None
        try:
            async with asyncio.timeout(CONNECT_TIMEOUT_S):
                connection = await asyncpg.connect(
                    seat.host.url, command_timeout=command_timeout_s, target_session_attrs=ANY_HOST, connection_class=PostgresConnection,
                    server_settings={"application_name": "heliograph"})
                connection.seat = hosts.taken(seat, standing_of(await connection.fetchrow(_begin_session(settings))))
            return connection
        except BaseException as error:
            if connection is not None:
                connection.terminate()
            if is_lost(error):
                hosts.not_reached(seat)
            if is_last or not is_lost(error):
                raise
    raise AssertionError("the last try returns or raises")


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
        "jit": "off",  # compiling takes longer than any statement of ours
    }


def _hot_session_settings() -> dict[str, str]:
    """The hot statements are planned once: their arrays differ in length only, and planning anew cost a fifth of the database's time.
    And by index: a plan made while a table was empty would go on reading it from end to end as it grows."""
    return _session_settings() | {"plan_cache_mode": "force_generic_plan", "enable_seqscan": "off"}
