"""Collects the tests once, for all processes that run them beside each other.

Importing every test takes 13 s of a processor, and pytest-xdist has each of its processes do it. So
one process collects the tests (`collector.py`), and each of these is a fork of it, which collects
them again in two: all modules are there. xdist starts its processes with the Python that `--tx`
names. That is `stand_in.py` here: it hands its streams over to a fork, and waits for its end.
"""

import socket
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

ROOT: Final = Path(__file__).parents[3]
COLLECTOR: Final = "tests.support.collected.collector"
STAND_IN: Final = Path(__file__).with_name("stand_in.py")
WAITING_MAX: Final = 16  # stand-ins that wait until the tests are collected


@contextmanager
def python(*tests: str) -> Iterator[str]:
    """Yields the words of a Python that has collected these tests, for `--tx popen//python=`."""
    if sys.platform != "linux":
        yield sys.executable
        return
    with (
        tempfile.TemporaryDirectory(prefix="heliograph-collected-") as directory,
        socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as listening,
    ):
        address = str(Path(directory) / "collector")
        listening.bind(address)
        listening.listen(WAITING_MAX)
        collector = subprocess.Popen(
            [sys.executable, "-m", COLLECTOR, str(listening.fileno()), *tests],
            cwd=ROOT,
            stdin=subprocess.PIPE,  # when it is closed, the collector ends, and so do its forks
            pass_fds=[listening.fileno()],
        )
        try:
            yield f"{sys.executable} -I -S {STAND_IN} {address}"
        finally:
            collector.communicate()
