"""Loops that do the same work again and again until they are cancelled, whatever goes wrong in one
round of it.

What goes on differently after a fault has a loop of its own and says there why: the turn of a
carrier, outcomes of webhooks that are to be stored, the poll of the configuration, a process that
begins anew.
"""

import asyncio
from collections.abc import Awaitable, Callable
from typing import NoReturn

from heliograph.base.log import Level, survive_faults


async def repeat(
    work: Callable[[], Awaitable[object]],
    *,
    wait: float | Callable[[], Awaitable[object]],
    fault: str,
    level: Level = "error",
    first_after_s: float | None = None,
    **facts: object,
) -> NoReturn:
    """Waits and works in turns until the task is cancelled.

    `wait` is the pause between two rounds in seconds, or a function that returns when the next
    round is due, as when an event wakes it. `first_after_s` is the time before the first round;
    without it, that round waits like all others. An exception out of `work` is logged as the event
    `fault` with `facts`, and the next round comes; one out of `wait` ends the loop.
    """
    if first_after_s is None:
        await _pause(wait)
    elif first_after_s > 0:
        await asyncio.sleep(first_after_s)
    while True:
        with survive_faults(fault, level=level, **facts):
            await work()
        await _pause(wait)


async def _pause(wait: float | Callable[[], Awaitable[object]]) -> None:
    if callable(wait):
        await wait()
    else:
        await asyncio.sleep(wait)
