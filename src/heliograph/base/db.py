"""The database: who opens a transaction, on SQLite and on PostgreSQL.

`write()`, `transact()` and `read()` are synchronous SQLAlchemy Core transactions, the same statements on both databases. They stand in an
`api.py`, a command, a job or a batch, nowhere else; use cases take `tx` first and never commit. `hot()` is for the few statements that
carry the load (accepting a batch, a carrier's turn).

Ids travel in raw form (32 hex digits) and times as integer milliseconds, so a value means the same on both databases.
"""

from collections.abc import Callable, Iterator
from contextlib import AbstractAsyncContextManager, contextmanager
from typing import Any, Final, TypeVar

import sqlalchemy as sa
from sqlalchemy import exc
from sqlalchemy.engine import Connection, Dialect

from heliograph.base.errors import Unavailable
from heliograph.base.hot import HotTx, News, PostgresHot, SqliteHot
from heliograph.base.outage import CONFLICT_TRIES, is_conflict, reachable, readable
from heliograph.base.sessions import FairLock, postgres_engine, postgres_hosts, sqlite_engine, sqlite_path

metadata: Final = sa.MetaData()

T = TypeVar("T")


class RawId(sa.types.TypeDecorator[str]):
    """An id in raw form: uuid on PostgreSQL, 32 hex digits on SQLite, always 32 hex digits in Python."""

    impl = sa.Uuid(as_uuid=False)
    cache_ok = True

    def process_result_value(self, value: Any, dialect: Dialect) -> str | None:
        return None if value is None else str(value).replace("-", "")


class Database:
    """One database. Made once a process, by whatever is started; closed by `close()` (and `close_hot()` in the event loop)."""

    def __init__(self, url: str) -> None:
        self.url = url
        self.postgresql = url.startswith("postgres")
        self._lock = FairLock()
        self.news = News()  # of hot transactions
        self.hosts = postgres_hosts(url) if self.postgresql else None  # None on SQLite
        self._hot = PostgresHot(self.hosts, self.news) if self.hosts else SqliteHot(sqlite_path(url), self._lock, self.news)
        self.engine = postgres_engine(self.hosts) if self.hosts else sqlite_engine(sqlite_path(url))

    @contextmanager
    def write(self) -> Iterator[Connection]:
        """A transaction that is committed at the end of the block, or rolled back whole by any exception."""
        if self.postgresql:
            with reachable(), self.engine.begin() as connection:
                yield connection
            return
        self._lock.acquire()
        try:
            with reachable(), self.engine.connect() as connection:
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
        with readable(), self.engine.connect() as connection:
            if not self.postgresql:
                connection.exec_driver_sql("BEGIN")
            yield connection
            connection.rollback()

    def hot(self) -> AbstractAsyncContextManager[HotTx]:
        """A transaction of the hot paths, committed at the end of the block."""
        return self._hot.transaction()

    async def close_hot(self) -> None:
        await self._hot.close()

    def close(self) -> None:
        self.engine.dispose()
