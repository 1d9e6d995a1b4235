"""Where what blocks is run for an account: in threads, of which one account has some at a time, never all: slow reports hold up nobody else."""

import asyncio
from collections import Counter
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Final, TypeVar

from heliograph.base.errors import Unavailable

THREADS: Final = 8  # as many as the database has connections for them
THREADS_OF_ACCOUNT: Final = 4
WAITING_MAX: Final = 1_000  # requests, running ones too; past it 503
WAITING_OF_ACCOUNT_MAX: Final = 250
T = TypeVar("T")


class Threads:
    """Used in the event loop. One account has `of_account` of the `threads` at a time."""

    def __init__(self, threads: int = THREADS, of_account: int = THREADS_OF_ACCOUNT, *, name: str = "request") -> None:
        self._pool = ThreadPoolExecutor(threads, thread_name_prefix=name)
        self._of_account = of_account
        self._waiting: Counter[str] = Counter()  # by account
        self._turns: dict[str, asyncio.Semaphore] = {}  # of accounts that have requests here

    async def run(self, account_id: str, work: Callable[[], T]) -> T:
        """Returns what `work` returns. Raises Unavailable when too many wait, and whatever `work` raises."""
        if self._waiting[account_id] >= WAITING_OF_ACCOUNT_MAX or self._waiting.total() >= WAITING_MAX:
            raise Unavailable("Too many requests are waiting.")
        self._waiting[account_id] += 1
        turns = self._turns.setdefault(account_id, asyncio.Semaphore(self._of_account))
        try:
            async with turns:
                return await asyncio.get_running_loop().run_in_executor(self._pool, work)
        finally:
            self._waiting[account_id] -= 1
            if not self._waiting[account_id]:
                del self._waiting[account_id], self._turns[account_id]

    def close(self) -> None:
        self._pool.shutdown()
