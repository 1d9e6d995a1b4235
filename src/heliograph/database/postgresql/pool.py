"""Makes connections to PostgreSQL that are awaited in the event loop, by asyncpg: the pool of the
hot paths, and single ones.
"""

import asyncio
import socket
import time
from contextlib import suppress
from typing import Any

import asyncpg

from heliograph.base import cancelling
from heliograph.database.commits import WHO_AM_I, Backend
from heliograph.database.outage import is_lost, unavailable_on_outage
from heliograph.database.postgresql.hosts import (
    OVERDUE_AFTER_S,
    ChosenHost,
    Hosts,
    HostStatus,
    status_of,
)
from heliograph.database.postgresql.session_settings import (
    begin_session,
    hot_session_settings,
    session_settings,
)
from heliograph.database.sessions import (
    ANY_HOST,
    CONNECT_TIMEOUT_S,
    DURABLE,
    HOT_CONNECTIONS_MAX,
    KEEPALIVE_COUNT,
    KEEPALIVE_IDLE_S,
    KEEPALIVE_INTERVAL_S,
    POSTGRES_STATEMENT_TIMEOUT_MS,
    UNACKNOWLEDGED_MS,
    session_name,
)


class StatementWatch:
    """Watches over an answer that is waited for, from the beginning of a `with` block to its end.
    Whenever one is overdue the host is asked whether it is there; if it is not, the connection is
    cut without a word, unless `may_cut` is False: asyncpg would wait for the cancellation of what
    it asked. A timer for each statement would cost as much as a small one does, so there is one a
    second at most.
    """

    def __init__(self, hosts: Hosts, connection: "PostgresConnection") -> None:
        self._hosts = hosts
        self._connection = connection
        self._loop = asyncio.get_running_loop()
        self._asked_s: float | None = None  # monotonic; None: no answer is waited for
        self._timer: asyncio.TimerHandle | None = None
        self.may_cut = True

    def __enter__(self) -> None:
        self._asked_s = time.monotonic()
        if self._timer is None:
            self._timer = self._loop.call_later(OVERDUE_AFTER_S, self._check)

    def __exit__(self, error: type[BaseException] | None, *_: object) -> None:
        self._asked_s = None
        if error is None:
            self._hosts.heard_s = time.monotonic()

    def _check(self) -> None:
        asked_s, self._timer = self._asked_s, None
        if asked_s is None:
            return
        left_s = asked_s + OVERDUE_AFTER_S - time.monotonic()
        self._timer = self._loop.call_later(left_s if left_s > 0 else OVERDUE_AFTER_S, self._check)
        if left_s <= 0:
            self._hosts.probe(
                self._connection.chosen_host.generation,
                lambda: self._loop.call_soon_threadsafe(self._cut, asked_s),
            )

    def _cut(self, asked_s: float) -> None:
        if self.may_cut and self._asked_s == asked_s:  # else the answer has come meanwhile
            self._connection.terminate()


class PostgresConnection(asyncpg.Connection):  # type: ignore[misc]  # the driver has no types
    """Closes itself when what was sent over it is not even acknowledged. A connection of the hot
    paths knows its session (`backend`), by which it is found out what became of a commit that was
    not confirmed.
    """

    chosen_host: ChosenHost
    asking: StatementWatch
    backend: Backend

    def __init__(self, protocol: Any, transport: Any, *more: Any, **named: Any) -> None:
        super().__init__(protocol, transport, *more, **named)
        wire = transport.get_extra_info("socket")
        with suppress(OSError):  # a Unix socket
            wire.setsockopt(socket.IPPROTO_TCP, socket.TCP_USER_TIMEOUT, UNACKNOWLEDGED_MS)
            wire.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
            wire.setsockopt(socket.IPPROTO_TCP, socket.TCP_KEEPIDLE, KEEPALIVE_IDLE_S)
            wire.setsockopt(socket.IPPROTO_TCP, socket.TCP_KEEPINTVL, KEEPALIVE_INTERVAL_S)
            wire.setsockopt(socket.IPPROTO_TCP, socket.TCP_KEEPCNT, KEEPALIVE_COUNT)


async def postgres_pool(
    hosts: Hosts, synchronous_commit: str = DURABLE
) -> "asyncpg.Pool[asyncpg.Record]":
    """Returns the hot paths' connections. Raises Unavailable."""

    async def connect(*_: object, **__: object) -> PostgresConnection:
        return await _connect(
            hosts, hot_session_settings(synchronous_commit), POSTGRES_STATEMENT_TIMEOUT_MS / 1_000
        )

    with unavailable_on_outage():
        return await asyncpg.create_pool(
            min_size=1,
            max_size=HOT_CONNECTIONS_MAX,
            connect=connect,
            connection_class=PostgresConnection,
            init=_prepare_hot,
            reset=_keep_session_state,
        )


async def postgres_connection(hosts: Hosts) -> PostgresConnection:
    """Opens one connection that is kept for its session. Raises Unavailable."""
    with unavailable_on_outage():
        return await _connect(hosts, session_settings(DURABLE))


async def _connect(
    hosts: Hosts, settings: dict[str, str], command_timeout_s: float | None = None
) -> PostgresConnection:
    """Connects as `_connect` does, in the event loop."""
    for is_last in (len(hosts.all) == 1, True):
        chosen = (
            hosts.chosen_host()
            if hosts.chosen is not None
            else await asyncio.to_thread(hosts.chosen_host)
        )
        connection: PostgresConnection | None = None
        try:
            async with asyncio.timeout(CONNECT_TIMEOUT_S):
                connection = await asyncpg.connect(
                    chosen.host.url,
                    command_timeout=command_timeout_s,
                    target_session_attrs=ANY_HOST,
                    connection_class=PostgresConnection,
                    server_settings={"application_name": session_name()},
                )
                connection.chosen_host = hosts.require_usable(
                    chosen, await _status(hosts, connection, settings)
                )
            connection.asking = StatementWatch(hosts, connection)
            return connection
        except BaseException as error:
            if connection is not None:
                connection.terminate()
            cancelling.raise_if_cancelled(error)
            if is_lost(error):
                hosts.note_unreachable(chosen, silent=isinstance(error, TimeoutError))
            if is_last or not is_lost(error):
                raise
    raise AssertionError("the last try returns or raises")


async def _status(
    hosts: Hosts, connection: PostgresConnection, settings: dict[str, str]
) -> HostStatus:
    """Begins the session and returns what the host says of itself; without the system
    where the role may not ask for it.
    """
    # now: another connection may find out meanwhile that it may not
    with_system = hosts.may_ask_system
    try:
        return status_of(
            await connection.fetchrow(begin_session(settings, with_system=with_system))
        )
    except asyncpg.InsufficientPrivilegeError:
        if not with_system:
            raise
        hosts.note_forbidden_question()
        return status_of(await connection.fetchrow(begin_session(settings, with_system=False)))


async def _prepare_hot(connection: PostgresConnection) -> None:
    connection.backend = Backend(*await connection.fetchrow(WHO_AM_I))
    await connection.set_type_codec(
        "uuid", schema="pg_catalog", encoder=bytes.fromhex, decoder=bytes.hex, format="binary"
    )


async def _keep_session_state(connection: "asyncpg.Connection[asyncpg.Record]") -> None:
    """Leaves a connection as it is. Our transactions leave nothing behind in a session, and the
    driver's RESET ALL after each would be a round trip more.
    """
