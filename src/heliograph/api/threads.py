"""Runs work that blocks in threads, counted by account. One account has some of the threads at a
time, and never all of them, so its slow reports hold up nobody else.
"""

import asyncio
from collections import Counter
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any, Final, TypeVar

from heliograph.base.errors import Unavailable
from heliograph.database.commits import Commits, Unconfirmed

THREADS: Final = 8  # as many as the database has connections for them
THREADS_OF_ACCOUNT: Final = 4
WAITING_MAX: Final = 1_000  # requests, running ones too; past it 503
WAITING_OF_ACCOUNT_MAX: Final = 250
T = TypeVar("T")


class Threads:
    """Runs blocking work of requests in threads, and is used in the event loop. One account has at
    most `of_account` of the `threads` at a time. When `commits` are found unconfirmed, requests
    that change something stop waiting; only their threads wait on.
    """

    def __init__(
        self,
        commits: Commits,
        threads: int = THREADS,
        of_account: int = THREADS_OF_ACCOUNT,
        *,
        name: str = "request",
    ) -> None:
        self._commits = commits
        self._is_listening = False
        # what requests that change something wait for
        self._changing: set[asyncio.Future[Any]] = set()
        self._pool = ThreadPoolExecutor(threads, thread_name_prefix=name)
        self._of_account = of_account
        self._waiting: Counter[str] = Counter()  # by account
        self._turns: dict[str, asyncio.Semaphore] = {}  # of accounts that have requests here

    async def run(self, account_id: str, work: Callable[[], T], *, changes: bool = False) -> T:
        """Returns what `work` returns. `changes` says whether it stores something. Raises
        Unavailable when too many wait, Unconfirmed, and whatever `work` raises.
        """
        if (
            self._waiting[account_id] >= WAITING_OF_ACCOUNT_MAX
            or self._waiting.total() >= WAITING_MAX
        ):
            raise Unavailable("Too many requests are waiting.")
        self._waiting[account_id] += 1
        turns = self._turns.setdefault(account_id, asyncio.Semaphore(self._of_account))
        try:
            async with turns:
                if changes:
                    return await self._change(work)
                return await asyncio.get_running_loop().run_in_executor(self._pool, work)
        finally:
            self._waiting[account_id] -= 1
            if not self._waiting[account_id]:
                del self._waiting[account_id], self._turns[account_id]

    async def _change(self, work: Callable[[], T]) -> T:
        self._commits.check()
        loop = asyncio.get_running_loop()
        if not self._is_listening:
            self._commits.on_unconfirmed(self._give_up)
            self._is_listening = True
        answer: asyncio.Future[T] = loop.create_future()
        self._changing.add(answer)

        def ended(running: "asyncio.Future[T]") -> None:
            error = running.exception()
            if answer.done():
                return
            if error is None:
                answer.set_result(running.result())
            else:
                answer.set_exception(error)

        loop.run_in_executor(self._pool, work).add_done_callback(ended)
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
