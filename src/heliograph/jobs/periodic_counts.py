"""What changes is counted while the service runs, by one process of all, in a thread."""

import asyncio
from collections.abc import Callable
from threading import Event
from typing import NoReturn, Protocol

from heliograph.base import clock
from heliograph.base.periodic import repeat


class QuarterCounter(Protocol):
    """Counts the quarters of an hour that are due."""

    def count_due(self, now_ms: int, may_go_on: Callable[[], bool]) -> None:
        """Counts for a moment, and ends with the quarter at hand when `may_go_on` says no."""


async def count_periodically(
    counter: QuarterCounter, is_ours: Callable[[], bool], *, every_s: float, fault: str
) -> NoReturn:
    """Runs until it is cancelled. `is_ours` returns whether it is for this process to do. What goes
    wrong is logged as the event `fault`.
    """
    ended = Event()

    def may_go_on() -> bool:
        return is_ours() and not ended.is_set()

    async def count_due() -> None:
        if is_ours():
            await asyncio.to_thread(counter.count_due, clock.now_ms(), may_go_on)

    try:
        await repeat(count_due, wait=every_s, fault=fault)
    finally:
        ended.set()  # the thread ends with the quarter that it counts
