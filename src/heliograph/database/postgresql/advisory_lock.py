"""An advisory lock of PostgreSQL is held by a connection of its own for as long as that lives,
and is watched.
"""

import asyncio
from typing import Final

from heliograph.base.errors import Unavailable
from heliograph.database.outage import unavailable_on_outage
from heliograph.database.postgresql.hosts import Hosts
from heliograph.database.postgresql.pool import PostgresConnection, postgres_connection

# The connection is tried this often, because nothing else tells when it is cut off.
BEAT_S: Final = 1.0
# A connection that does not answer within this time is given up, long before PostgreSQL lets
# somebody else have the lock (sessions.KEEPALIVE).
ANSWER_WITHIN_S: Final = 3.0


class AdvisoryLock:
    """Takes one advisory lock of the database, by its number. While it `is_taken`, no other
    process has it, or only others that share it. `wait_until_lost` returns when that has ended. If
    another host has taken the place of the one where the lock was taken, it counts as lost, because
    the new host knows nothing of it.
    """

    def __init__(self, hosts: Hosts, number: int, *, shared: bool = False) -> None:
        self._hosts = hosts
        self._number = number
        self._take = (
            "SELECT pg_try_advisory_lock_shared($1)"
            if shared
            else "SELECT pg_try_advisory_lock($1)"
        )
        self._connection: PostgresConnection | None = None
        self._asking = asyncio.Lock()  # a connection answers one question at a time

    @property
    def is_taken(self) -> bool:
        return self._connection is not None and self._is_held(self._connection)

    async def take(self) -> bool:
        """Takes the lock. It returns False when another session holds it. Raises Unavailable."""
        connection = await postgres_connection(self._hosts)
        try:
            with unavailable_on_outage():
                taken = bool(
                    await connection.fetchval(self._take, self._number, timeout=ANSWER_WITHIN_S)
                )
        except BaseException:
            connection.terminate()
            raise
        if taken:
            self._connection = connection
        else:
            connection.terminate()
        return taken

    async def become_exclusive(self) -> bool:
        """Returns whether nobody shares the lock. If so, nobody else can until `share_again`. A
        process that is stopped meanwhile loses the lock within seconds, by the time limit of
        idle transactions. Raises Unavailable.
        """
        await self._ask("BEGIN")
        if await self._ask("SELECT pg_try_advisory_xact_lock($1)", self._number):
            return True
        await self.share_again()
        return False

    async def share_again(self) -> None:
        """Lets others share it, after `become_exclusive`. Raises Unavailable."""
        await self._ask("COMMIT")

    async def _ask(self, sql: str, *values: int) -> object:
        if self._connection is None or not self._is_held(self._connection):
            raise Unavailable("The connection that holds the lock is gone.")
        async with self._asking:
            try:
                with unavailable_on_outage():
                    return await self._connection.fetchval(sql, *values, timeout=ANSWER_WITHIN_S)
            except BaseException:
                self._connection.terminate()  # what it holds now, nobody knows
                raise

    async def wait_until_lost(self) -> None:
        """Returns when the connection that holds the lock is gone, or does not answer."""
        connection, closed = self._connection, asyncio.Event()
        assert connection is not None
        connection.add_termination_listener(lambda _: closed.set())
        while self._is_held(connection):
            try:
                async with asyncio.timeout(BEAT_S):
                    await closed.wait()
            except TimeoutError:
                await self._try(connection)
        connection.terminate()  # if it is a host's whose place was taken

    async def _try(self, connection: PostgresConnection) -> None:
        try:
            async with self._asking:
                with unavailable_on_outage():
                    await connection.execute("SELECT 1", timeout=ANSWER_WITHIN_S)
        except Unavailable:
            self._hosts.note_lost_connection(connection.chosen_host.generation)
            connection.terminate()

    def _is_held(self, connection: PostgresConnection) -> bool:
        return (
            not connection.is_closed()
            and connection.chosen_host.promotions == self._hosts.promotions
        )

    def release(self) -> None:
        if self._connection is not None:
            self._connection.terminate()
