"""Several equal processes on one listening socket, started again when one ends."""

import multiprocessing
import signal
import time
from collections.abc import Callable
from multiprocessing.connection import wait
from multiprocessing.context import SpawnProcess
from types import FrameType
from typing import Any, Final

import structlog

AGAIN_S: Final = 1.0  # before one that ended is started again
POLL_S: Final = 0.2
HOPELESS: Final = 3  # what it was told cannot be
GONE_WITHIN_S: Final = 30.0  # after SIGTERM

log = structlog.get_logger(__name__)


class Siblings:
    """`count` processes that run `target(*args)`. One that ends is started again, unless its exit status is HOPELESS: that ends them all."""

    def __init__(self, count: int, target: Callable[..., None], args: tuple[Any, ...]) -> None:
        self._context = multiprocessing.get_context("spawn")
        self._target, self._args = target, args
        self._processes = [self._start() for _ in range(count)]
        self._stopping = False

    def run(self) -> int:
        """Until SIGTERM or SIGINT; the exit status."""
        for number in (signal.SIGTERM, signal.SIGINT):
            signal.signal(number, self._stop)
        while not self._stopping:
            wait([process.sentinel for process in self._processes], POLL_S)
            for place, process in enumerate(self._processes):
                if self._stopping or process.exitcode is None:
                    continue
                if process.exitcode == HOPELESS:
                    return self._end(1)
                log.warning("api_process_ended", process=process.pid, status=process.exitcode)
                time.sleep(AGAIN_S)
                self._processes[place] = self._start()
        return self._end(0)

    def _start(self) -> SpawnProcess:
        process = self._context.Process(target=self._target, args=self._args)
        process.start()
        return process

    def _stop(self, number: int, frame: FrameType | None) -> None:
        self._stopping = True

    def _end(self, status: int) -> int:
        for process in self._processes:
            process.terminate()
        until_s = time.monotonic() + GONE_WITHIN_S
        for process in self._processes:
            process.join(max(0.0, until_s - time.monotonic()))
            if process.exitcode is None:
                process.kill()
        return status
