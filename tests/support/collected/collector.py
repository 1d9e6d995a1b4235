"""Collects tests, then forks: `python -m tests.support.collected.collector SOCKET TEST…`.

Whatever connects to SOCKET (`stand_in.py`) gets one fork. When standard input is closed, this ends,
and so do the forks that are left.
"""

import gc
import os
import select
import signal
import socket
import sys
from contextlib import redirect_stdout

import pytest

from tests.support.collected.stand_in import PROGRAM_OCTETS_MAX, STREAMS
from tests.support.sources import PACKAGE, TESTS, nodes_of, sources
from tests.support.warm.order import leave


def main() -> None:
    number, *tests = sys.argv[1:]
    listening = socket.socket(fileno=int(number))
    collect(tests)
    program = _next_fork(listening)
    if program is not None:
        exec(program, {"__name__": "__main__"})
        leave(0)


def collect(tests: list[str]) -> None:
    """Imports tests as pytest does it, and reads the sources that tests of the house look at. What
    is wrong with one of them, each fork tells.
    """
    with open(os.devnull, "w") as nowhere, redirect_stdout(nowhere):
        pytest.main(["--collect-only", "-qq", "-p", "no:cacheprovider", *tests])
    for folder in (PACKAGE, TESTS):
        for source in sources(folder):
            nodes_of(source.tree)
    gc.freeze()  # else the first collection of garbage in each fork would copy all of it


def _next_fork(listening: socket.socket) -> str | None:
    """Returns in each fork, with its program; and here at the end, with None."""
    forks: set[int] = set()
    while True:
        ready, _, _ = select.select([listening, sys.stdin], [], [])
        if sys.stdin in ready:
            _end(forks)
            return None
        stand_in, _ = listening.accept()
        if (fork := os.fork()) == 0:
            listening.close()
            return _take_streams(stand_in)
        stand_in.close()
        forks.add(fork)


def _take_streams(stand_in: socket.socket) -> str:
    """Returns the program. The connection stays open, for as long as this process lives."""
    program, streams, _, _ = socket.recv_fds(stand_in, PROGRAM_OCTETS_MAX, len(STREAMS))
    for stream, number in zip(streams, STREAMS, strict=True):
        os.dup2(stream, number)
        os.close(stream)
    # what was read ahead belongs to the collector
    sys.stdin = os.fdopen(0, closefd=False)
    stand_in.detach()
    return program.decode()


def _end(forks: set[int]) -> None:
    for fork in forks:
        os.kill(fork, signal.SIGKILL)  # one that has ended keeps its number until it is waited for
        os.waitpid(fork, 0)


if __name__ == "__main__":
    main()
