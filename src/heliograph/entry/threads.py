"""Where blocking handlers run: in threads, of which one account has some at a time, never all. So nobody's slow reports hold up others."""

import asyncio
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from typing import Final

from heliograph.base.commits import Commits, Unconfirmed
from heliograph.base.errors import Unavailable
from heliograph.keys import Answer, BlockingHandler, Call

THREADS: Final = 8  # as many as the database has connections for them
THREADS_OF_ACCOUNT: Final = 4
WAITING_MAX: Final = 1_000  # requests, running ones too; past it 503
WAITING_OF_ACCOUNT_MAX: Final = 250


class Threads:
    """Used in the event loop. When `commits` are found unconfirmed, no request that changes something waits any longer; its thread does."""

    def __init__(self, commits: Commits) -> None:
        self._commits = commits
        self._hears = False
        self._changing: set[asyncio.Future[Answer]] = set()  # answers to requests that change something
        self._pool = ThreadPoolExecutor(THREADS, thread_name_prefix="request")
        self._waiting: Counter[str] = Counter()  # by account
        self._turns: dict[str, asyncio.Semaphore] = {}  # of accounts that have requests here

    async def run(self, handler: BlockingHandler, call: Call, *, changes: bool) -> Answer:
        """Raises Unavailable when too many wait, Unconfirmed, and whatever the handler raises. `changes`: the handler stores something."""
        account_id = call.principal.account_id
        if self._waiting[account_id] >= WAITING_OF_ACCOUNT_MAX or self._waiting.total() >= WAITING_MAX:
            raise Unavailable("Too many requests are waiting.")
        self._waiting[account_id] += 1
        turns = self._turns.setdefault(account_id, asyncio.Semaphore(THREADS_OF_ACCOUNT))
        try:
            async with turns:
                if changes:
                    return await self._change(handler, call)
                return await asyncio.get_running_loop().run_in_executor(self._pool, handler, call)
        finally:
            self._waiting[account_id] -= 1
            if not self._waiting[account_id]:
                del self._waiting[account_id], self._turns[account_id]

    async def _change(self, handler: BlockingHandler, call: Call) -> Answer:
        self._commits.check()
        loop = asyncio.get_running_loop()
        if not self._hears:
            self._commits.hear(self._give_up)
            self._hears = True
        answer: asyncio.Future[Answer] = loop.create_future()
        self._changing.add(answer)

        def ended(running: "asyncio.Future[Answer]") -> None:
            error = running.exception()
            if answer.done():
                return
            if error is None:
                answer.set_result(running.result())
            else:
                answer.set_exception(error)

        loop.run_in_executor(self._pool, handler, call).add_done_callback(ended)
        try:
            return await answer
        finally:
            self._changing.discard(answer)

    def _give_up(self) -> None:
        for answer in self._changing:
            if not answer.done():
                answer.set_exception(Unconfirmed())

    def close(self) -> None:
        self._pool.shutdown()
