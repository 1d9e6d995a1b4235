"""Gives a purpose threads of its own. The event loop's default executor is shared by everybody, so
whoever fills it stops all others.
"""

import asyncio
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

T = TypeVar("T")


class OwnThreads:
    """Runs blocking work of one purpose in threads of its own, so that it never waits for other
    work. Threads are made when they are needed.
    """

    def __init__(self, purpose: str, threads: int = 1) -> None:
        self._pool = ThreadPoolExecutor(threads, thread_name_prefix=purpose)

    async def run(self, work: Callable[[], T]) -> T:
        """Returns what `work` returns, and raises what it raises. The work goes on to its end also
        if the caller is cancelled meanwhile.
        """
        return await asyncio.get_running_loop().run_in_executor(self._pool, work)

    async def close(self) -> None:
        """Waits, in another thread, for the work that has begun; what has not begun is dropped."""
        await asyncio.to_thread(self._pool.shutdown, cancel_futures=True)
