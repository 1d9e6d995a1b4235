"""`/readyz` tells whether requests can be answered now. Anybody may ask, as often as he likes,
and it costs the same.
"""

import asyncio
from collections.abc import Callable, Sequence
from typing import Final, TypeAlias

from heliograph.base import clock
from heliograph.base.errors import Unavailable
from heliograph.base.own_threads import OwnThreads
from heliograph.database import schema
from heliograph.database.cache import ANSWER_S
from heliograph.database.database import Database

# four checks a second at most, however many ask: a balancer asks every second
SHARED_S: Final = 0.25

Check: TypeAlias = Callable[[], None]


class Readiness:
    """Checks what must hold for this process to be ready, in order. `at_once` are checks that cost
    nothing, so they run for each request. `checks` ask the database, in a thread of their own; one
    run of them is shared by all requests that come within SHARED_S of its beginning. A check that
    fails raises Unavailable, which says why.
    """

    def __init__(self, at_once: Sequence[Check], checks: Sequence[Check]) -> None:
        self._at_once = at_once
        self._checks = checks
        self._threads = OwnThreads("readyz")
        self._running: asyncio.Future[None] | None = None
        self._began_s = float("-inf")

    async def require(self) -> None:
        """Raises Unavailable when something does not hold, or is not known in time."""
        for check in self._at_once:
            check()
        running = self._shared()
        await asyncio.wait({running}, timeout=ANSWER_S)
        # those who ask next wait for the same run: a silent database takes one thread, not one for
        # each
        if not running.done():
            raise Unavailable("The database is not reachable.")
        error = running.exception()
        if isinstance(error, Unavailable):
            # one for each: a raised exception keeps its waiter's frames
            raise Unavailable(error.message, reason=error.reason)
        if error is not None:
            raise error

    def _shared(self) -> "asyncio.Future[None]":
        if self._running is None or (
            self._running.done() and clock.monotonic_s() - self._began_s > SHARED_S
        ):
            self._began_s = clock.monotonic_s()
            self._running = asyncio.ensure_future(self._threads.run(self._run))
            self._running.add_done_callback(_retrieve_exception)
        return self._running

    def _run(self) -> None:
        for check in self._checks:
            check()

    async def close(self) -> None:
        await self._threads.close()


def has_schema(db: Database) -> Check:
    """Returns the check that the database answers and has a schema that this version works with."""

    def check() -> None:
        with db.read() as tx:
            if not schema.is_current(tx):
                raise Unavailable(
                    "The database does not have this version's schema; run `heliograph migrate`."
                )

    return check


def _retrieve_exception(run: "asyncio.Future[None]") -> None:
    """Asks how a run ended. All who waited for it may have gone, and then nobody else asks."""
    if not run.cancelled():
        run.exception()
