"""An advisory lock of PostgreSQL: held by a connection of its own for as long as that lives, and watched."""

import asyncio
from typing import Final

import asyncpg

from heliograph.base.errors import Unavailable
from heliograph.base.outage import reachable
from heliograph.base.sessions import postgres_connection

BEAT_S: Final = 1.0  # how often the connection is tried: one that is cut off without a word is noticed so,
ANSWER_WITHIN_S: Final = 3.0  # and within this, long before PostgreSQL lets somebody else have the lock (sessions.KEEPALIVE)


class AdvisoryLock:
    """One lock of the database at `url`, by its number. Nobody else holds it while `held`, or only others who share it too; `lost` tells when
    that has ended."""

    def __init__(self, url: str, number: int, *, shared: bool = False) -> None:
        self._url = url
        self._number = number
        self._take = "SELECT pg_try_advisory_lock_shared($1)" if shared else "SELECT pg_try_advisory_lock($1)"
        self._connection: asyncpg.Connection[asyncpg.Record] | None = None
        self._asking = asyncio.Lock()  # a connection answers one question at a time

    @property
    def held(self) -> bool:
        return self._connection is not None and not self._connection.is_closed()

    async def take(self) -> bool:
        """False: another session holds it. Raises Unavailable."""
        connection = await postgres_connection(self._url)
        try:
            with reachable():
                taken = bool(await connection.fetchval(self._take, self._number, timeout=ANSWER_WITHIN_S))
        except BaseException:
            connection.terminate()
            raise
        if taken:
            self._connection = connection
        else:
            connection.terminate()
        return taken

    async def alone(self) -> bool:
        """Whether nobody shares it. If so, nobody else can until `together`; a process that is stopped meanwhile loses the lock within seconds,
        by the time limit of idle transactions. Raises Unavailable."""
        await self._ask("BEGIN")
        if await self._ask("SELECT pg_try_advisory_xact_lock($1)", self._number):
            return True
        await self.together()
        return False

    async def together(self) -> None:
        """Lets others share it, after `alone`. Raises Unavailable."""
        await self._ask("COMMIT")

    async def _ask(self, sql: str, *values: int) -> object:
        if self._connection is None or self._connection.is_closed():
            raise Unavailable("The connection that holds the lock is gone.")
        async with self._asking:
            try:
                with reachable():
                    return await self._connection.fetchval(sql, *values, timeout=ANSWER_WITHIN_S)
            except BaseException:
                self._connection.terminate()  # what it holds now, nobody knows
                raise

    async def lost(self) -> None:
        """Returns when the connection that holds the lock is gone, or does not answer."""
        connection, closed = self._connection, asyncio.Event()
        assert connection is not None
        connection.add_termination_listener(lambda _: closed.set())
        while not connection.is_closed():
            try:
                async with asyncio.timeout(BEAT_S):
                    await closed.wait()
            except TimeoutError:
                await self._try(connection)

    async def _try(self, connection: "asyncpg.Connection[asyncpg.Record]") -> None:
        try:
            async with self._asking:
                with reachable():
                    await connection.execute("SELECT 1", timeout=ANSWER_WITHIN_S)
        except Unavailable:
            connection.terminate()

    def release(self) -> None:
        if self._connection is not None:
            self._connection.terminate()
