"""Several equal processes answer on one listening socket, and are started again when one ends."""

import multiprocessing
import signal
import time
from collections import deque
from collections.abc import Callable
from contextlib import suppress
from multiprocessing.connection import Connection, wait
from multiprocessing.context import SpawnProcess
from typing import Any, Final, NamedTuple

from heliograph.base.log import Log

AGAIN_S: Final = 1.0  # before one that ended is started again
POLL_S: Final = 0.2
HOPELESS: Final = 3  # what it was told cannot be
GONE_WITHIN_S: Final = 28.0  # after SIGTERM: with its own end this process is gone within 30 s

log = Log(__name__)


class _Sibling(NamedTuple):
    process: SpawnProcess
    signals: Connection  # where it hears what this process was told


class Siblings:
    """Runs `count` processes of `target(*args, signals)`, where `signals` is a connection on which
    they receive the numbers of the signals that this process gets. One that ends is started again,
    unless its exit status is HOPELESS: that ends them all.
    """

    def __init__(self, count: int, target: Callable[..., None], args: tuple[Any, ...]) -> None:
        self._context = multiprocessing.get_context("spawn")
        self._target, self._args = target, args
        self._siblings = [self._start() for _ in range(count)]
        self._pending_signals: deque[int] = deque()  # signals that are to be passed on

    def run(self) -> int:
        """Runs until SIGTERM or SIGINT, and returns the exit status."""
        for number in (signal.SIGTERM, signal.SIGINT):
            signal.signal(number, lambda number, _: self._pending_signals.append(number))
        while not self._pending_signals:
            wait([sibling.process.sentinel for sibling in self._siblings], POLL_S)
            for place, (process, signals) in enumerate(self._siblings):
                if process.exitcode is None:
                    continue
                if process.exitcode == HOPELESS:
                    self._pending_signals.append(signal.SIGINT)
                    return self._end(1)
                log.warning("api_process_ended", process=process.pid, status=process.exitcode)
                time.sleep(AGAIN_S)
                if self._pending_signals:
                    break
                signals.close()
                self._siblings[place] = self._start()
        return self._end(0)

    def _start(self) -> _Sibling:
        hears, tells = self._context.Pipe(duplex=False)
        process = self._context.Process(target=self._target, args=(*self._args, hears))
        process.start()
        hears.close()
        return _Sibling(process, tells)

    def _end(self, status: int) -> int:
        """Passes on what was told, and what comes meanwhile, until they are gone."""
        until_s = time.monotonic() + GONE_WITHIN_S
        killed = set[int | None]()  # it takes a moment until they are gone
        self._pass_on()
        for process, _ in self._siblings:
            # who does not listen yet has answered nothing; who does was told, and this tells it
            # nothing new
            process.terminate()
        while living := [process for process, _ in self._siblings if process.exitcode is None]:
            if time.monotonic() > until_s:
                for process in living:
                    if process.pid not in killed:
                        log.error("api_process_killed", process=process.pid)
                    killed.add(process.pid)
                    process.kill()
            wait([process.sentinel for process in living], POLL_S)
            self._pass_on()
        return status

    def _pass_on(self) -> None:
        while self._pending_signals:
            number = self._pending_signals.popleft()
            for _, signals in self._siblings:
                with suppress(BrokenPipeError):  # it is gone already
                    signals.send(number)
