"""Connects synchronous transactions to PostgreSQL: an SQLAlchemy engine over psycopg."""

from collections.abc import Callable, Generator
from contextlib import closing
from time import monotonic
from typing import Any, Final, TypeVar

import psycopg
import sqlalchemy as sa
from psycopg.abc import PQGen

from heliograph.base.database_url import Host
from heliograph.database.commits import WHO_AM_I, Backend, Commits, NotConfirmedInTime
from heliograph.database.outage import READ_ONLY_SQLSTATE
from heliograph.database.postgresql.hosts import (
    OVERDUE_AFTER_S,
    ChosenHost,
    Hosts,
    HostStatus,
    status_of,
    status_sql,
)
from heliograph.database.postgresql.session_settings import begin_session, session_settings
from heliograph.database.sessions import (
    ANY_HOST,
    CONNECT_TIMEOUT_S,
    DURABLE,
    KEEPALIVE_COUNT,
    KEEPALIVE_IDLE_S,
    KEEPALIVE_INTERVAL_S,
    SYNC_CONNECTIONS_MAX,
    UNACKNOWLEDGED_MS,
    session_name,
)

# past its own limit, PostgreSQL has fallen silent: then the connection is closed from here
POSTGRES_ANSWER_S: Final = 12.0
POSTGRES_PING_S: Final = 1.0  # for a connection to show that it lives, before it is used

T = TypeVar("T")


class _DriverNotConfirmedInTime(NotConfirmedInTime, psycopg.OperationalError):
    """Lets SQLAlchemy treat NotConfirmedInTime as an error of the driver's."""


class LimitedConnection(psycopg.Connection[Any]):
    """Closes a connection when no answer comes. PostgreSQL's own limits are of no use when it is
    stopped, or cut off without a word: what it was asked has been acknowledged, so TCP has no
    complaint, and a thread would wait for ever.
    """

    answer_within_s: float | None = POSTGRES_ANSWER_S
    commits: Commits
    backend: Backend
    chosen_host: ChosenHost
    hosts: Hosts | None = None  # once it is connected to one
    _is_committing = False

    def commit(self) -> None:
        """Commits, or raises NotConfirmedInTime. Then the connection is closed, and the commit goes
        on: PostgreSQL does not look who is there.
        """
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
            raise _DriverNotConfirmedInTime(str(error)) from error
        finally:
            self._is_committing = False

    def wait(self, gen: PQGen[T], interval: float = 0.1, timeout: float | None = None) -> T:
        """Waits for an answer of the server, for as long as this kind of statement may take."""
        within_s = self.answer_within_s
        # SQLAlchemy's is all that runs in no transaction
        is_ping = self.autocommit and within_s is not None
        if is_ping:
            within_s = POSTGRES_PING_S
            self._require_current_generation()
        elif self._is_committing:
            within_s = self.commits.within_s
        elif within_s is not None and self.hosts is not None:
            gen = self._probe_when_overdue(self.hosts, gen)
        try:
            return super().wait(gen, interval, within_s if timeout is None else timeout)
        except psycopg.OperationalError as error:
            # not PostgreSQL's words
            if error.sqlstate is None and timeout is None and not self._is_committing:
                is_silent = self.pgconn.status == psycopg.pq.ConnStatus.OK
                self.pgconn.finish()
                # SQLAlchemy makes another connection at once
                if is_ping and self.hosts is not None:
                    self.hosts.note_lost_connection(self.chosen_host.generation, silent=is_silent)
            raise

    def _require_current_generation(self) -> None:
        if self.hosts is not None and self.chosen_host.generation != self.hosts.generation:
            self.pgconn.finish()
            raise psycopg.OperationalError("a connection as old as this one was lost")

    def _probe_when_overdue(self, hosts: Hosts, gen: PQGen[T]) -> Generator[Any, Any, T]:
        """Runs `gen`. Whenever an answer is overdue, its host is asked whether it is there.
        Raises OperationalError if it is not. Whoever waits wakes it many times a second, ready
        or not.
        """
        is_silent = False

        def cut() -> None:
            nonlocal is_silent
            is_silent = True

        overdue_s = monotonic() + OVERDUE_AFTER_S
        try:
            wanted = next(gen)
            while True:
                ready = yield wanted
                if not ready and is_silent:
                    raise psycopg.OperationalError("the host has fallen silent")
                if not ready and monotonic() >= overdue_s:
                    overdue_s = monotonic() + OVERDUE_AFTER_S
                    hosts.probe(self.chosen_host.generation, cut)
                wanted = gen.send(ready)
        except StopIteration as ended:
            hosts.heard_s = monotonic()
            answer: T = ended.value
            return answer


def postgres_hosts(url: str) -> Hosts:
    """Returns the hosts of this URL, and how each is asked what it is. Raises WrongUrl."""
    return Hosts(url, _ask)


def postgres_commits(hosts: Hosts) -> Commits:
    """Returns the unconfirmed commits of this process, asked after on connections of their own."""
    return Commits(lambda: _session(hosts), lost=psycopg.Error)


def _session(hosts: Hosts) -> LimitedConnection:
    """Opens one connection beside the engine's, for questions that must not wait for others: it is
    closed when an answer takes POSTGRES_PING_S. It is needed when an answer has not come for long:
    first all hosts are asked, because another one may have been promoted.
    """
    hosts.probe(hosts.generation).wait()
    return _open(hosts.chosen_host().host)


def postgres_engine(hosts: Hosts, commits: Commits, synchronous_commit: str = DURABLE) -> sa.Engine:
    """Returns the engine of synchronous transactions."""
    engine = sa.create_engine(
        "postgresql+psycopg://",
        creator=lambda: _connect(hosts, commits, synchronous_commit),
        pool_size=SYNC_CONNECTIONS_MAX,
        max_overflow=0,
        pool_timeout=2,
        pool_pre_ping=True,
        hide_parameters=True,
    )
    sa.event.listen(engine, "checkin", _restore_answer_limit)

    @sa.event.listens_for(engine, "checkout")
    def _discard_if_older(connection: LimitedConnection, record: object, proxy: object) -> None:
        hosts.ask_others_if_due()
        if connection.chosen_host.generation != hosts.generation:
            raise sa.exc.InvalidatePoolError  # whatever is as old as it, too: another one is made

    @sa.event.listens_for(engine, "handle_error")
    def _notify_hosts(context: sa.engine.ExceptionContext) -> None:
        if getattr(context.original_exception, "sqlstate", None) == READ_ONLY_SQLSTATE:
            context.is_disconnect = True
        if context.is_disconnect and context.connection is not None:
            connection = context.connection.connection.driver_connection
            hosts.note_lost_connection(
                connection.chosen_host.generation
                if isinstance(connection, LimitedConnection)
                else hosts.generation
            )

    return engine


def _connect(hosts: Hosts, commits: Commits, synchronous_commit: str) -> LimitedConnection:
    """Opens a connection to the host that can be written to. When the one that was known does not
    answer, the others are asked, once.
    """
    for is_last in (len(hosts.all) == 1, True):
        chosen = hosts.chosen_host()
        try:
            connection = _connect_to(hosts, chosen, synchronous_commit)
        except psycopg.OperationalError as error:
            hosts.note_unreachable(
                chosen, silent=isinstance(error, psycopg.errors.ConnectionTimeout)
            )
            if is_last:
                raise
        else:
            connection.commits, connection.hosts = commits, hosts
            return connection
    raise AssertionError("the last try returns or raises")


def _connect_to(hosts: Hosts, chosen: ChosenHost, synchronous_commit: str) -> LimitedConnection:
    connection = _open(chosen.host)
    try:
        settings = session_settings(synchronous_commit)
        status = _status(
            hosts, connection, lambda with_system: begin_session(settings, with_system=with_system)
        )
        connection.chosen_host = hosts.require_usable(chosen, status)
        row = connection.execute(WHO_AM_I, prepare=False).fetchone()
        assert row is not None
        # a commit that is not confirmed is asked after by its session
        connection.backend = Backend(*row)
        connection.autocommit = False
    except BaseException:
        connection.close()
        raise
    return connection


def _open(host: Host) -> LimitedConnection:
    return LimitedConnection.connect(
        host.url,
        autocommit=True,
        target_session_attrs=ANY_HOST,
        connect_timeout=CONNECT_TIMEOUT_S,
        application_name=session_name(),
        tcp_user_timeout=UNACKNOWLEDGED_MS,
        keepalives_idle=KEEPALIVE_IDLE_S,
        keepalives_interval=KEEPALIVE_INTERVAL_S,
        keepalives_count=KEEPALIVE_COUNT,
    )


def _ask(hosts: Hosts, host: Host) -> HostStatus:
    with closing(_open(host)) as connection:
        return _status(hosts, connection, status_sql)


def _status(hosts: Hosts, connection: LimitedConnection, sql: Callable[[bool], str]) -> HostStatus:
    """Returns what the host says of itself. It is asked with the statement that `sql` makes with
    or without the system's identifier, as the role may.
    """
    with_system = hosts.may_ask_system  # now: another thread may find out meanwhile that it may not
    try:
        return status_of(connection.execute(sql(with_system), prepare=False).fetchone())
    except psycopg.errors.InsufficientPrivilege:
        if not with_system:
            raise
        hosts.note_forbidden_question()
        return status_of(connection.execute(sql(False), prepare=False).fetchone())


def _restore_answer_limit(connection: LimitedConnection | None, record: object) -> None:
    if connection is not None:
        connection.answer_within_s = LimitedConnection.answer_within_s
