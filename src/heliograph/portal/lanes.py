"""Requests for pages wait in lanes of their own, so that the API never waits for pages. Slow work
has lanes of its own, too: nobody who looks at a page waits for passwords that are compared, for a
receiver of webhooks or a carrier that does not answer, or for a phone that is erased.
"""

from collections.abc import Callable
from enum import Enum
from typing import Final, NamedTuple, TypeVar

from heliograph.base.errors import Unavailable
from heliograph.base.own_threads import OwnThreads

T = TypeVar("T")


class _Size(NamedTuple):
    """Says how many requests a lane answers at once, and how many more may wait."""

    threads: int
    waiting: int


class Lane(Enum):
    """Names what is waited for."""

    PAGES = "pages"
    PASSWORDS = "passwords"
    WEBHOOK_TESTS = "webhook tests"
    TRIAL_BINDS = "trial binds"
    ERASURES = "erasures"


# each that is answered may hold a connection of the database; a password takes 64 MiB
SIZES: Final = {
    Lane.PAGES: _Size(4, 200),
    Lane.PASSWORDS: _Size(1, 20),
    Lane.WEBHOOK_TESTS: _Size(2, 10),
    Lane.TRIAL_BINDS: _Size(2, 4),
    Lane.ERASURES: _Size(1, 4),
}


class Lanes:
    """Runs what answers requests in the threads of its lane."""

    def __init__(self) -> None:
        self._threads = {
            lane: OwnThreads(f"portal {lane.value}", size.threads) for lane, size in SIZES.items()
        }
        self._counts = dict.fromkeys(Lane, 0)

    async def run(self, lane: Lane, work: Callable[[], T]) -> T:
        """Returns what `work` returns. Raises Unavailable if too many wait in the lane."""
        size = SIZES[lane]
        if self._counts[lane] >= size.threads + size.waiting:
            raise Unavailable("Too many wait for this at the moment. Try again soon.")
        self._counts[lane] += 1
        try:
            return await self._threads[lane].run(work)
        finally:
            self._counts[lane] -= 1

    async def close(self) -> None:
        """Waits for the work that has begun; what has not begun is dropped."""
        for threads in self._threads.values():
            await threads.close()
