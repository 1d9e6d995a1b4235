"""Ends a process that does not end by itself in time. It may still wait for a thread that only the
end of the process can end.
"""

import os
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Final

from heliograph.base.log import Log

GONE_WITHIN_S: Final = 29.0  # from being told to stop: promised are 30

log = Log(__name__)


def exit_in_time() -> None:
    """Ends a process that was told to stop, should it not have ended by then. It is called when the
    process is told. What was accepted is stored, and what was sent is in flight, so that the next
    one takes it up as after a kill.
    """
    _timer(GONE_WITHIN_S, lambda: log.error("not_ended_in_time", within_s=GONE_WITHIN_S))


@contextmanager
def exit_unless_ended(within_s: float, tell: Callable[[], None]) -> Iterator[None]:
    """Ends the process with status 1, after `tell`, should the block not have ended by then. The
    timer has a thread of its own, so that nothing in the event loop can hold it up. Nothing is lost
    with the process: what it held is taken over as after a kill.
    """
    timer = _timer(within_s, tell)
    try:
        yield
    finally:
        timer.cancel()


def _timer(within_s: float, tell: Callable[[], None]) -> threading.Timer:
    timer = threading.Timer(within_s, _end, (tell,))
    timer.daemon = True
    timer.start()
    return timer


def _end(tell: Callable[[], None]) -> None:
    tell()
    os._exit(1)
