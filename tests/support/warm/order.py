"""Describes what a fork is asked to become, and how it becomes that."""

import atexit
import os
import resource
import signal
import sys
import threading
from collections.abc import Mapping
from contextlib import suppress
from types import ModuleType
from typing import Any, Final, NamedTuple

from tests.support.warm import siblings
from tests.support.warm.in_path import FORWARDED, STREAMS

FOR_THE_LOADER: Final = ("LD_", "PYTHON", "PROMETHEUS", "MALLOC", "LC_", "LANG", "TZ", "FAKETIME")
LIMITS: Final = sorted(
    {number for name, number in vars(resource).items() if name.startswith("RLIMIT_")}
)


class Order(NamedTuple):
    """Says how one `heliograph` is started."""

    said: dict[str, Any]  # words, directory, environment; from a script also what in_path.py adds
    streams: list[int]  # its open standard streams
    script: int | None = None  # the process that a script has started, if that has ordered it

    def become(self) -> None:
        """Runs `heliograph` in this process, as the order has it."""
        self._take_streams()
        if self.script is not None:
            for limit in LIMITS:
                resource.setrlimit(limit, resource.prlimit(self.script, limit))
            os.umask(self.said["umask"])
            _take_signals(self.said["ignored"])
        os.chdir(self.said["directory"])
        os.environ.clear()
        os.environ.update(self.said["environment"])
        sys.argv = self.said["words"]
        main = ModuleType("__main__")  # as for `spawn`, which runs it again in new processes
        main.__file__ = sys.argv[0]
        sys.modules["__main__"] = main
        if "api" in sys.argv:
            siblings.prepare()
        from heliograph.cli import main as command

        try:
            command()
        except SystemExit as ended:
            if self.script is not None and isinstance(ended.code, int):
                leave(ended.code)
            raise

    def _take_streams(self) -> None:
        wanted = dict(zip(self.said.get("streams", STREAMS), self.streams, strict=True))
        for number, name in zip(STREAMS, ("stdin", "stdout", "stderr"), strict=True):
            if number in wanted:
                os.dup2(wanted[number], number)
            else:
                os.close(number)
                setattr(sys, name, None)  # as Python has it where a stream is closed
        for stream in self.streams:
            os.close(stream)


def for_the_loader(environment: Mapping[str, str]) -> dict[str, str]:
    """Returns the variables that only a process which begins anew hears."""
    return {name: value for name, value in environment.items() if name.startswith(FOR_THE_LOADER)}


def leave(status: int) -> None:
    """Ends this process as Python does, but for destroying all that was imported: writing to this
    memory, which is the starter's too, would copy it, and take longer than most commands.
    """
    threading._shutdown()  # type: ignore[attr-defined]  # its types do not have it
    atexit._run_exitfuncs()
    with suppress(OSError):  # Python says it and changes the status, when it flushes once more
        for stream in (sys.stdout, sys.stderr):
            if stream is not None:
                stream.flush()
        os._exit(status & 0xFF)


def _take_signals(ignored: list[int]) -> None:
    for number in FORWARDED:
        own = signal.default_int_handler if number == signal.SIGINT else signal.SIG_DFL
        signal.signal(number, signal.SIG_IGN if number in ignored else own)
