"""Waits until something is so that nobody tells: other processes or tasks bring it about."""

import asyncio
import time
from collections.abc import Callable
from typing import Final

LOOK_S: Final = 0.02
WITHIN_S: Final = 30.0  # also on a machine with much else to do


def wait_until(condition: Callable[[], object], what: str, within_s: float = WITHIN_S) -> None:
    """Returns once `condition` holds. A test fails if that takes longer than `within_s`; `what`
    says what it waited for.
    """
    until_s = time.monotonic() + within_s
    while not condition():
        assert time.monotonic() < until_s, f"not within {within_s} s: {what}"
        time.sleep(LOOK_S)


async def until(condition: Callable[[], object], what: str, within_s: float = WITHIN_S) -> None:
    """Waits as `wait_until` does, in an event loop that goes on meanwhile: `condition` is asked in
    a thread, and may read from the database.
    """
    until_s = time.monotonic() + within_s
    while not await asyncio.to_thread(condition):
        assert time.monotonic() < until_s, f"not within {within_s} s: {what}"
        await asyncio.sleep(LOOK_S)
