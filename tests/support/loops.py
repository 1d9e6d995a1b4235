"""Runs an event loop in a thread of its own, for servers of the tests that outlive what the test
does.
"""

import asyncio
import threading
from collections.abc import Coroutine
from typing import Any, Self, TypeVar

WITHIN_S = 60.0
T = TypeVar("T")


class LoopThread:
    """Runs a loop from `with` to its end. Whatever still runs on it then is canceled and closed: a
    socket that nobody closed would be another test's warning.
    """

    def __init__(self, name: str) -> None:
        self.loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self.loop.run_forever, name=name, daemon=True)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.run(self._end())
        self.loop.call_soon_threadsafe(self.loop.stop)
        self._thread.join()
        self.loop.close()

    def run(self, work: Coroutine[Any, Any, T], within_s: float = WITHIN_S) -> T:
        """Returns what `work` gives, to another thread."""
        return asyncio.run_coroutine_threadsafe(work, self.loop).result(within_s)

    async def _end(self) -> None:
        await asyncio.sleep(0.001)  # connections that were accepted just now have their transports
        others = asyncio.all_tasks() - {asyncio.current_task()}
        for task in others:
            task.cancel()
        await asyncio.gather(*others, return_exceptions=True)
        await self.loop.shutdown_default_executor()
        await asyncio.sleep(0.001)  # transports that are closed let go of their sockets
