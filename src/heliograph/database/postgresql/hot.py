"""Runs transactions of the hot paths on PostgreSQL, by asyncpg."""

import asyncio
from collections.abc import AsyncIterator, Iterator, Mapping, Sequence
from contextlib import AsyncExitStack, asynccontextmanager, contextmanager, suppress
from typing import Any, Final

import asyncpg

from heliograph.base import cancelling, clock
from heliograph.database.arrays import as_text, literal
from heliograph.database.commits import WAITS_FOR_STANDBY, Backend, Commits, Unconfirmed
from heliograph.database.hot import CommitListeners, HotTx
from heliograph.database.outage import is_lost, unavailable_on_outage
from heliograph.database.postgresql.hosts import Hosts
from heliograph.database.postgresql.pool import postgres_pool
from heliograph.database.postgresql.pool_slots import Slots
from heliograph.database.sessions import DURABLE, HOT_CONNECTIONS_MAX

LOCK_NOT_AVAILABLE: Final = "55P03"
# a COMMIT has no limit: past one, the driver would cancel it; and None is the limit of statements
# to it
A_YEAR_S: Final = 31_536_000.0
CLOSE_S: Final = 2.0  # for connections to be closed in order at the end


class _PostgresTx:
    postgresql = True

    def __init__(
        self,
        connection: "asyncpg.pool.PoolConnectionProxy[asyncpg.Record]",
        known: Mapping[int, int],
    ) -> None:
        self._connection = connection
        self.signals: set[str] = set()
        self.learned: dict[int, int] = {}
        self.known = known

    async def fetch(self, sql: str, *args: Any) -> list[Any]:
        with self._connection.asking:
            rows: list[Any] = await self._connection.fetch(
                as_text(sql), *[literal(arg) if isinstance(arg, list) else arg for arg in args]
            )
        return rows

    async def each(self, sql: str, sets: Sequence[Sequence[Any]]) -> list[Any]:
        raise NotImplementedError("PostgreSQL takes all sets at once, as arrays")


class PostgresHot:
    """Runs hot transactions on a pool of connections, which is opened at the first use. A COMMIT is
    never cancelled; only the wait for it is.
    """

    def __init__(
        self,
        hosts: Hosts,
        listeners: CommitListeners,
        commits: Commits,
        synchronous_commit: str = DURABLE,
    ) -> None:
        self._hosts = hosts
        self._synchronous_commit = synchronous_commit
        self._listeners = listeners
        self._commits = commits
        self._slots = Slots(HOT_CONNECTIONS_MAX)
        self._opening = asyncio.Lock()
        self._pool: asyncpg.Pool[asyncpg.Record] | None = None
        self._committing: set[asyncio.Task[None]] = set()
        self._generation = hosts.generation  # of the pool's connections: see Hosts

    @asynccontextmanager
    async def transaction(self) -> AsyncIterator[HotTx]:
        """Opens a transaction on a connection of the pool. It is committed at the end."""
        self._commits.check()
        pool = self._pool or await self._open_pool()
        await self._renew(pool)
        with unavailable_on_outage():
            async with AsyncExitStack() as holding:
                await self._slots.take()
                holding.callback(self._slots.give_back)
                connection = await holding.enter_async_context(pool.acquire())
                # it may have taken long to be made: nobody begins what would only wait for a lock
                self._commits.check()
                # not of one that could not be made: those that exist stay in use
                with self._report_lost_connection(connection.chosen_host.generation):
                    connection.asking.may_cut = True
                    with connection.asking:
                        await connection.execute("BEGIN")
                    tx = _PostgresTx(connection, self._listeners.known)
                    try:
                        yield tx
                    except BaseException as error:
                        await self._roll_back(connection, error)
                        raise
                    await self._commit(connection, tx, holding.pop_all())

    async def _open_pool(self) -> "asyncpg.Pool[asyncpg.Record]":
        # several at once would open a pool each, and leave all but one behind
        async with self._opening:
            if self._pool is None:
                self._pool = await postgres_pool(self._hosts, self._synchronous_commit)
                self._commits.on_unconfirmed(self._slots.refuse_waiting)
        return self._pool

    async def _renew(self, pool: "asyncpg.Pool[asyncpg.Record]") -> None:
        """Has connections of an earlier generation replaced before they are used."""
        self._hosts.ask_others_if_due()
        if self._generation != self._hosts.generation:
            self._generation = self._hosts.generation
            self._listeners.known.clear()  # of another server, which may have lost it
            await pool.expire_connections()

    async def _roll_back(self, connection: Any, error: BaseException) -> None:
        """Raises Unconfirmed when a lock was not got because somebody's commit is not
        confirmed, and has all others here refused too.
        """
        if connection.is_closed():
            return
        with connection.asking:
            await connection.execute("ROLLBACK")
            is_unconfirmed = getattr(
                error, "sqlstate", None
            ) == LOCK_NOT_AVAILABLE and await connection.fetchval(WAITS_FOR_STANDBY)
        if is_unconfirmed:
            self._commits.note_others_wait()
            raise Unconfirmed from error

    def _commit(
        self, connection: Any, tx: _PostgresTx, holding: AsyncExitStack
    ) -> "asyncio.Future[None]":
        """Begins to commit, in a task of its own. What is returned ends with the answer, or as
        Unconfirmed when none comes in time. The COMMIT goes on in either case; what is `holding`
        the connection ends with it.
        """
        answer: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        task = asyncio.create_task(self._wait_for_answer(connection, tx, holding, answer))
        self._committing.add(task)
        task.add_done_callback(self._committing.discard)
        return answer

    async def _wait_for_answer(
        self,
        connection: Any,
        tx: _PostgresTx,
        holding: AsyncExitStack,
        answer: "asyncio.Future[None]",
    ) -> None:
        loop = asyncio.get_running_loop()
        backend: Backend = connection.backend
        timer = loop.call_later(
            self._commits.within_s, self._note_unconfirmed, backend, connection, answer
        )
        try:
            async with holding:
                connection.asking.may_cut = False
                with connection.asking:
                    await connection.execute("COMMIT", timeout=A_YEAR_S)
        except BaseException as error:
            if not answer.done():
                answer.set_exception(error) if isinstance(error, Exception) else answer.cancel()
            cancelling.raise_if_cancelled(error)
            if not isinstance(error, Exception):
                raise
        else:
            self._commits.confirmed_s = clock.monotonic_s()
            self._listeners.notify(tx.signals, tx.learned)
            if not answer.done():
                answer.set_result(None)
        finally:
            timer.cancel()
            self._commits.note_ended(backend)

    def _note_unconfirmed(
        self, backend: Backend, connection: Any, answer: "asyncio.Future[None]"
    ) -> None:
        loop = asyncio.get_running_loop()
        self._commits.add(backend, lambda: loop.call_soon_threadsafe(_end_wait, connection))
        if not answer.done():
            answer.set_exception(Unconfirmed())

    @contextmanager
    def _report_lost_connection(self, generation: int) -> Iterator[None]:
        """Tells the hosts when a connection is lost. The other connections of its generation are
        not tried any more: each would take as long to fail as this one did.
        """
        try:
            yield
        except (
            OSError,
            asyncpg.PostgresError,
            asyncpg.InterfaceError,
            asyncpg.InternalClientError,
        ) as error:
            if is_lost(error):
                self._hosts.note_lost_connection(generation)
            raise

    async def close(self) -> None:
        if self._pool is not None:
            with suppress(TimeoutError):  # then the connections are cut
                async with asyncio.timeout(CLOSE_S):
                    await self._pool.close()
            self._pool = None


def _end_wait(connection: Any) -> None:
    """Ends the wait for an answer that was lost; one that has come meanwhile has given the
    connection back.
    """
    with suppress(asyncpg.InterfaceError):
        connection.terminate()
