"""Waits in a thread until something is so. Other processes bring it about, and tell nobody."""

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
