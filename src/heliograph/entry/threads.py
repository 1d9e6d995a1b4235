"""Where blocking handlers run: in threads, of which one account has some at a time, never all. So nobody's slow reports hold up others."""

import asyncio
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from typing import Final

from heliograph.base.errors import Unavailable
from heliograph.keys import Answer, BlockingHandler, Call

THREADS: Final = 8  # as many as the database has connections for them
THREADS_OF_ACCOUNT: Final = 4
WAITING_MAX: Final = 1_000  # requests, running ones too; past it 503
WAITING_OF_ACCOUNT_MAX: Final = 250


class Threads:
    """Used in the event loop."""

    def __init__(self) -> None:
        self._pool = ThreadPoolExecutor(THREADS, thread_name_prefix="request")
        self._waiting: Counter[str] = Counter()  # by account
        self._turns: dict[str, asyncio.Semaphore] = {}  # of accounts that have requests here

    async def run(self, handler: BlockingHandler, call: Call) -> Answer:
        """Raises Unavailable when too many wait, and whatever the handler raises."""
        account_id = call.principal.account_id
        if self._waiting[account_id] >= WAITING_OF_ACCOUNT_MAX or self._waiting.total() >= WAITING_MAX:
            raise Unavailable("Too many requests are waiting.")
        self._waiting[account_id] += 1
        turns = self._turns.setdefault(account_id, asyncio.Semaphore(THREADS_OF_ACCOUNT))
        try:
            async with turns:
                return await asyncio.get_running_loop().run_in_executor(self._pool, handler, call)
        finally:
            self._waiting[account_id] -= 1
            if not self._waiting[account_id]:
                del self._waiting[account_id], self._turns[account_id]

    def close(self) -> None:
        self._pool.shutdown()
