"""The last word on when a process is gone. What it still waits for may be a thread that nothing but the process's end can end."""

import os
import threading
from typing import Final

import structlog

GONE_WITHIN_S: Final = 29.0  # from being told to stop: promised are 30

log = structlog.get_logger(__name__)


def gone_in_time() -> None:
    """Called when a process is told to stop: ends it, should it not have ended by then. What was accepted is stored, and what was sent is in flight,
    so that the next one takes it up as after a kill."""
    timer = threading.Timer(GONE_WITHIN_S, _end)
    timer.daemon = True
    timer.start()


def _end() -> None:
    log.error("not_ended_in_time", within_s=GONE_WITHIN_S)
    os._exit(1)
