"""Starts `heliograph` as a process of its own, which begins with everything imported.

Importing takes a server 1.2 s of a processor and a command 0.8, and the tests start hundreds. So
one process, the starter (`starter.py`), imports everything once, and each `heliograph` is a fork of
it. Otherwise it is what `subprocess` makes: a child of the test, with its own arguments,
environment, directory and standard streams, which is stopped, killed and waited for as any other.
`start` and `run` make such a process.

Scripts find a small program of the same name in PATH (`on_path`, `in_path.py`). It has a fork made
and stays for as long as that runs, so a script starts, stops, kills and waits for it as usual.

What must begin as a user's process does is started with `subprocess` itself: where a start is
measured, where the environment changes the interpreter or the loader (`FOR_THE_LOADER`), and where
the process lives in another network or with other limits.
"""

import atexit
import ctypes
import json
import os
import shlex
import socket
import subprocess
import sys
import tempfile
import threading
from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any, Final

from tests.support.warm import in_path
from tests.support.warm.order import for_the_loader

HELIOGRAPH: Final = Path(sys.executable).with_name("heliograph")
ROOT: Final = Path(__file__).parents[3]
SET_CHILD_SUBREAPER: Final = 36  # <linux/prctl.h>


def _network() -> int:
    """Returns which network namespace this thread is in."""
    return os.stat("/proc/thread-self/ns/net").st_ino if sys.platform == "linux" else 0


HOME_NETWORK: Final = _network()
HOME_ENVIRONMENT: Final = for_the_loader(os.environ)


def start(words: Sequence[str | Path], **options: Any) -> "subprocess.Popen[Any]":
    """Runs `heliograph` with these words. `options` are those of `subprocess.Popen`."""
    cold = sys.platform != "linux" or options.get("preexec_fn") is not None
    cold = cold or _network() != HOME_NETWORK  # the starter lives at home, and so do its forks
    cold = cold or for_the_loader(options.get("env") or os.environ) != HOME_ENVIRONMENT
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


def on_path(environment: Mapping[str, str]) -> dict[str, str]:
    """Returns this environment for a script, with a PATH in which it finds `heliograph` as a fork,
    and the programs that are installed beside the real one.
    """
    at_home = sys.platform == "linux" and _network() == HOME_NETWORK
    first = [_starter_for(environment).directory] if at_home else []
    path = [*first, HELIOGRAPH.parent, environment.get("PATH", os.defpath)]
    return {**environment, "PATH": os.pathsep.join(map(str, path))}


class _Fork(subprocess.Popen[Any]):
    """Acts as a `Popen` whose process comes from the starter."""

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
            self.pid = _starter_for(HOME_ENVIRONMENT).start(order, streams)
            self._child_created = True
        finally:
            # Popen has it, its types do not
            self._close_pipe_fds(*pipes)  # type: ignore[attr-defined]


class _Starter:
    """Runs the starter, which ends when this process does."""

    def __init__(self, environment: dict[str, str]) -> None:
        """Begins the starter. `environment` is what the loader reads."""
        self.directory = Path(tempfile.mkdtemp(prefix="heliograph-warm-"))  # it removes that
        self._one = threading.Lock()
        self._asks, answers = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        with answers, self._listening() as scripts:
            sockets = [answers.fileno(), scripts.fileno()]
            others = {
                name: os.environ[name] for name in {*os.environ} - {*for_the_loader(os.environ)}
            }
            self._process = subprocess.Popen(
                [sys.executable, "-m", "tests.support.warm.starter", *map(str, sockets)],
                cwd=ROOT,
                env=others | environment,
                stdin=subprocess.DEVNULL,
                pass_fds=sockets,
            )

    def _listening(self) -> socket.socket:
        """Returns the socket for scripts, beside the program that connects to it."""
        address = self.directory / "starter"
        listening = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        listening.bind(str(address))
        listening.listen()
        words = [sys.executable, "-I", "-S", in_path.__file__, str(HELIOGRAPH), str(address)]
        program = self.directory / "heliograph"
        program.write_text(f'#!/bin/sh\nexec {shlex.join(words)} "$@"\n', "utf-8")
        program.chmod(0o700)
        return listening

    def close(self) -> None:
        self._asks.close()
        self._process.wait()

    def start(self, order: dict[str, Any], streams: list[int]) -> int:
        """Returns the id of a new process; it is a child of this one."""
        with self._one:
            _adopt(True)  # only for this moment: orphans of others go where they always went
            try:
                socket.send_fds(self._asks, [json.dumps(order).encode()], streams)
                return int(self._asks.recv(32))
            finally:
                _adopt(False)


def _starter_for(environment: Mapping[str, str]) -> _Starter:
    return _made(frozenset(for_the_loader(environment).items()))


@cache
def _made(for_loader: frozenset[tuple[str, str]]) -> _Starter:
    made = _Starter(dict(for_loader))
    atexit.register(made.close)
    return made


def _adopt(orphans: bool) -> None:
    """Decides whether this process becomes the parent of its grandchildren whose parent ends."""
    ctypes.CDLL(None).prctl(SET_CHILD_SUBREAPER, int(orphans), 0, 0, 0)
