"""Defines the two loops that wait: `repeat` works again and again until it is cancelled, and
`until` ends when what it asks for is so.

`tests/architecture/test_waiting_loops.py` names each loop of another kind, and says why it is one.
"""

import asyncio
from collections.abc import Awaitable, Callable
from contextlib import nullcontext
from inspect import isawaitable
from typing import NoReturn

from heliograph.base.log import Level, survive_faults


async def repeat(
    work: Callable[[], Awaitable[object] | None],
    *,
    wait: float | Callable[[], Awaitable[object]],
    fault: str | None,
    level: Level = "error",
    first_after_s: float | None = None,
    **facts: object,
) -> NoReturn:
    """Waits and works in turns until the task is cancelled. `work` is awaited if it can be.

    `wait` is the pause between two rounds in seconds, or a function that returns when the next
    round is due, as when an event wakes it. `first_after_s` is the time before the first round;
    without it, that round waits like all others. An exception out of `work` is logged as the event
    `fault` with `facts`, and the next round comes; without a `fault` it ends the loop. An exception
    out of `wait` always ends the loop.
    """
    if first_after_s is None:
        await _pause(wait)
    elif first_after_s > 0:
        await asyncio.sleep(first_after_s)
    while True:
        with nullcontext() if fault is None else survive_faults(fault, level=level, **facts):
            await _result(work)
        await _pause(wait)


async def until(done: Callable[[], Awaitable[bool] | bool], *, look_s: float) -> None:
    """Asks `done`, which may also do what is to be done, every `look_s` seconds until it returns
    True. An exception out of it ends this too.
    """
    while not await _result(done):
        await asyncio.sleep(look_s)


async def _result(call: Callable[[], object]) -> object:
    found = call()
    return await found if isawaitable(found) else found


async def _pause(wait: float | Callable[[], Awaitable[object]]) -> None:
    if callable(wait):
        await wait()
    else:
        await asyncio.sleep(wait)
