"""`heliograph` as a process of its own, which begins with everything imported.

Importing takes a server 1.2 s of a processor and a command 0.8, and the tests start hundreds. So
one process, the starter (`starter.py`), imports everything once, and each `heliograph` is a fork of
it. Otherwise it is what `subprocess` makes: a child of the test, with its own arguments,
environment, directory and standard streams, which is stopped, killed and waited for as any other.

What must begin as a user's process does is started with `subprocess` itself: where a start is
measured, where the environment changes the interpreter or the loader (`FOR_THE_LOADER`), and where
the process lives in another network or with other limits.
"""

import atexit
import ctypes
import json
import os
import socket
import subprocess
import sys
import threading
from collections.abc import Sequence
from functools import cache
from pathlib import Path
from typing import Any, Final

HELIOGRAPH: Final = Path(sys.executable).with_name("heliograph")
ROOT: Final = Path(__file__).parents[3]
FOR_THE_LOADER: Final = ("LD_", "PYTHON", "PROMETHEUS", "MALLOC", "LC_", "LANG", "TZ", "FAKETIME")
SET_CHILD_SUBREAPER: Final = 36  # <linux/prctl.h>
ORDER_OCTETS_MAX: Final = 1 << 17


def _network() -> int:
    """Returns which network namespace this thread is in."""
    return os.stat("/proc/thread-self/ns/net").st_ino if sys.platform == "linux" else 0


HOME_NETWORK: Final = _network()


def start(words: Sequence[str | Path], **options: Any) -> "subprocess.Popen[Any]":
    """Runs `heliograph` with these words. `options`: of `subprocess.Popen`."""
    cold = sys.platform != "linux" or options.get("preexec_fn") is not None
    cold = cold or _network() != HOME_NETWORK  # the starter lives at home, and so do its forks
    cold = cold or _for_the_loader(options.get("env") or os.environ) != _starter().environment
    made = subprocess.Popen if cold else _Fork
    return made([HELIOGRAPH, *words], **options)


def run(
    words: Sequence[str | Path], *, timeout: float, **options: Any
) -> "subprocess.CompletedProcess[str]":
    """Runs it to its end without input; what it printed is in the result."""
    pipes = {"stdin": subprocess.DEVNULL, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
    with start(words, text=True, **(pipes | options)) as process:
        try:
            out, err = process.communicate(timeout=timeout)
        except subprocess.TimeoutExpired:
            process.kill()
            raise
    return subprocess.CompletedProcess([*words], process.returncode, out, err)


def _for_the_loader(environment: Any) -> dict[str, str]:
    return {name: value for name, value in environment.items() if name.startswith(FOR_THE_LOADER)}


class _Fork(subprocess.Popen[Any]):
    """A `Popen` whose process comes from the starter."""

    def _execute_child(
        self,
        args: list[str | Path],
        executable: object,
        preexec_fn: object,
        close_fds: object,
        pass_fds: object,
        cwd: str | Path | None,
        env: dict[str, str] | None,
        startupinfo: object,
        creationflags: object,
        shell: object,
        *pipes_and_more: int,
    ) -> None:
        pipes = pipes_and_more[:6]
        streams = [
            wanted if wanted != -1 else inherited
            for wanted, inherited in zip((pipes[0], pipes[3], pipes[5]), (0, 1, 2), strict=True)
        ]
        order = {
            "words": [str(word) for word in args],
            "directory": str(cwd or os.getcwd()),
            "environment": dict(os.environ if env is None else env),
        }
        try:
            self.pid = _starter().start(order, streams)
            self._child_created = True
        finally:
            self._close_pipe_fds(*pipes)  # type: ignore[attr-defined]  # Popen has it, its types do not


class _Starter:
    """The starter, which ends when this process does."""

    def __init__(self) -> None:
        self.environment = _for_the_loader(os.environ)
        self._one = threading.Lock()
        self._asks, answers = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        with answers:
            self._process = subprocess.Popen(
                [sys.executable, "-m", "tests.support.warm.starter", str(answers.fileno())],
                cwd=ROOT,
                stdin=subprocess.DEVNULL,
                pass_fds=[answers.fileno()],
            )

    def close(self) -> None:
        self._asks.close()
        self._process.wait()

    def start(self, order: dict[str, Any], streams: list[int]) -> int:
        """The id of a new process; it is a child of this one."""
        with self._one:
            _adopt(True)  # only for this moment: orphans of others go where they always went
            try:
                socket.send_fds(self._asks, [json.dumps(order).encode()], streams)
                return int(self._asks.recv(32))
            finally:
                _adopt(False)


@cache
def _starter() -> _Starter:
    made = _Starter()
    atexit.register(made.close)
    return made


def _adopt(orphans: bool) -> None:
    """Whether this process becomes the parent of its grandchildren whose parent ends."""
    ctypes.CDLL(None).prctl(SET_CHILD_SUBREAPER, int(orphans), 0, 0, 0)
