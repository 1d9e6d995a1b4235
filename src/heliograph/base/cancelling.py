"""A task that was told to end ends, whatever a library makes of it on the way.

When asyncpg gives back a dead connection, it raises an error of its own in place of the
CancelledError that it met. Code that takes this error for an outage and tries again has lost the
cancellation, and whoever waits for the task waits for ever. So every place that turns an error into
another one, or goes on after it, calls `raise_if_cancelled` first (docs/decisions/base.md, D10).
"""

import asyncio
from typing import Any, Final

# how often a task is told again to end: a library may have lost it once, and does so rarely twice
AGAIN_S: Final = 1.0


def is_cancelled() -> bool:
    """Returns whether the current task was told to end, or has just met a time limit of its own.
    It is False in a thread, which has no task.
    """
    try:
        task = asyncio.current_task()
    except RuntimeError:  # no event loop runs here
        return False
    return task is not None and task.cancelling() > 0


def raise_if_cancelled(error: BaseException) -> None:
    """Raises CancelledError in place of `error` if the task that asks was told to end.
    `asyncio.timeout` then turns that into TimeoutError, if its time limit was the reason.
    """
    if is_cancelled():
        raise asyncio.CancelledError from error


def allow_own_error() -> None:
    """Lets `raise_if_cancelled` pass an error from now on. It is called by code that has met a
    CancelledError and raises an error of its own before the task ends.
    """
    task = asyncio.current_task()
    if task is not None:
        task.uncancel()


async def cancel_and_wait(*tasks: "asyncio.Task[Any]") -> None:
    """Cancels the tasks and returns when all of them have ended, however they did. Whoever
    still runs after a second is told again.
    """
    left = {task for task in tasks if not task.done()}
    while left:
        for task in left:
            task.cancel()
        _, left = await asyncio.wait(left, timeout=AGAIN_S)
    for task in tasks:
        if not task.cancelled():
            # it has been read: else the event loop would tell of it as of one that nobody knows
            task.exception()
