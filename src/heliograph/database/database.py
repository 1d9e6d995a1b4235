"""Opens transactions, on SQLite and on PostgreSQL.

`write()`, `transact()` and `read()` are synchronous SQLAlchemy Core transactions, with the same
statements on both databases. They stand in an `api.py`, a command, a job or a batch, and nowhere
else; use cases take `tx` first and never commit. `hot()` is for the few statements that carry the
load (accepting a batch, a carrier's turn).

Ids travel in raw form (32 hex digits) and times as integer milliseconds, so a value means the same
on both databases.
"""

from collections.abc import Callable, Iterator
from contextlib import AbstractAsyncContextManager, contextmanager
from typing import TYPE_CHECKING, Any, Final, TypeVar

import sqlalchemy as sa
from sqlalchemy import exc
from sqlalchemy.engine import Connection, Dialect

from heliograph.base.errors import Unavailable
from heliograph.database.commits import (
    CommitProbe,
    Commits,
    refuse_if_unconfirmed,
    unconfirmed_on_timeout,
)
from heliograph.database.hot import CommitListeners, HotTx
from heliograph.database.hot_sqlite import SqliteHot
from heliograph.database.outage import (
    CONFLICT_TRIES,
    is_conflict,
    unavailable_on_outage,
    unavailable_on_outage_or_lock,
)
from heliograph.database.sessions import DURABLE, FairLock, sqlite_engine, sqlite_path

if TYPE_CHECKING:
    from heliograph.database.postgresql.hosts import Hosts
    from heliograph.database.postgresql.hot import PostgresHot

metadata: Final = sa.MetaData()

T = TypeVar("T")


class RawId(sa.types.TypeDecorator[str]):
    """Stores an id in raw form: as a uuid on PostgreSQL, as 32 hex digits on SQLite. In Python it
    is always 32 hex digits.
    """

    impl = sa.Uuid(as_uuid=False)
    cache_ok = True

    def process_result_value(self, value: Any, dialect: Dialect) -> str | None:
        return None if value is None else str(value).replace("-", "")


_AFTER_COMMIT: Final = "heliograph_after_commit"  # of a connection's `info`


def after_commit(tx: Connection, work: "Callable[[Database], object]") -> None:
    """Has something done once a transaction of `write()` or `transact()` on PostgreSQL is
    committed, before they return, in transactions of its own. If it raises, they do. If the
    transaction is rolled back, or the process dies, it is not done.
    """
    tx.info[_AFTER_COMMIT].append(work)


def _no_session() -> CommitProbe:
    raise AssertionError("no commit of SQLite is ever unconfirmed")


class Database:
    """Opens one database. Each process makes it once, and closes it by `close()` (and `close_hot()`
    in the event loop). `synchronous_commit` says when PostgreSQL may answer a COMMIT; it is one of
    settings.SYNCHRONOUS_COMMITS.
    """

    def __init__(self, url: str, synchronous_commit: str = DURABLE) -> None:
        self.url = url
        self.postgresql = url.startswith("postgres")
        self._lock = FairLock()
        self.listeners = CommitListeners()  # of hot transactions
        self.hosts: Hosts | None = None  # on SQLite
        self.commits: Commits
        self._hot: PostgresHot | SqliteHot
        if self.postgresql:
            self._connect_postgresql(synchronous_commit)
        else:
            path = sqlite_path(url)
            self.commits = Commits(_no_session)
            self._hot = SqliteHot(path, self._lock, self.listeners, self.commits)
            self.engine = sqlite_engine(path)

    def _connect_postgresql(self, synchronous_commit: str) -> None:
        """Loads the drivers only now: that takes half as long as a command on SQLite."""
        from heliograph.database.postgresql import engine
        from heliograph.database.postgresql.hot import PostgresHot

        hosts = self.hosts = engine.postgres_hosts(self.url)
        self.commits = engine.postgres_commits(hosts)
        self._hot = PostgresHot(hosts, self.listeners, self.commits, synchronous_commit)
        self.engine = engine.postgres_engine(hosts, self.commits, synchronous_commit)

    @contextmanager
    def write(self) -> Iterator[Connection]:
        """Opens a transaction that is committed at the end of the block, or rolled back whole by
        any exception. What `after_commit` was given is done then.

        Raises Unavailable. If that is Unconfirmed, the transaction may have been committed, or may
        be yet.
        """
        if self.postgresql:
            self.commits.check()
            due: list[Callable[[Database], object]] = []
            with (
                unconfirmed_on_timeout(),
                unavailable_on_outage(),
                self.engine.begin() as connection,
            ):
                connection.info[_AFTER_COMMIT] = due
                yield connection
            for work in due:
                work(self)
            return
        self._lock.acquire()
        try:
            with unavailable_on_outage(), self.engine.connect() as connection:
                # a plain BEGIN that reads first would lose updates
                connection.exec_driver_sql("BEGIN IMMEDIATE")
                yield connection
                connection.commit()
        finally:
            self._lock.release()

    def transact(self, effect: Callable[[Connection], T]) -> T:
        """Returns what `effect(tx)` returns, from a transaction that is run again, whole, when
        it met what `is_conflict` names. Raises Unavailable when it goes on meeting that.
        """
        for _ in range(CONFLICT_TRIES):
            try:
                with self.write() as tx:
                    return effect(tx)
            except exc.DBAPIError as error:
                if not is_conflict(error):
                    raise
            with self.read() as tx:
                refuse_if_unconfirmed(tx)
        raise Unavailable("The database is busy.")

    @contextmanager
    def read(self) -> Iterator[Connection]:
        """Opens a transaction in which nothing is stored. On PostgreSQL, each statement sees what
        is committed when it begins; see `snapshot`.
        """
        with unavailable_on_outage_or_lock(), self.engine.connect() as connection:
            if not self.postgresql:
                connection.exec_driver_sql("BEGIN")
            yield connection
            connection.rollback()

    @contextmanager
    def snapshot(self) -> Iterator[Connection]:
        """Opens a transaction in which nothing is stored, and all of whose statements see one
        moment: for figures that are read by several and must agree.
        """
        with self.read() as connection:
            if self.postgresql:
                connection.exec_driver_sql("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ")
            yield connection

    def hot(self) -> AbstractAsyncContextManager[HotTx]:
        """Opens a transaction of the hot paths, which is committed at the end of the block."""
        return self._hot.transaction()

    async def close_hot(self) -> None:
        await self._hot.close()

    def close(self) -> None:
        self.engine.dispose()
