"""Starts processes that are measured or that help to measure. Each is in a group of its own that
ends with the benchmark, whatever happens.
"""

import contextlib
import ctypes
import http.client
import json
import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import psutil

REPOSITORY = Path(__file__).resolve().parent.parent
STOP_WITHIN_S = 20.0
_PR_SET_PDEATHSIG = 1  # prctl(2)
_MIB = 1 << 20


class NotMeasured(Exception):
    """This figure could not be taken."""


def free_port() -> int:
    """Returns a TCP port of loopback that nothing listens on just now."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port


def _die_with_parent() -> None:
    """Runs in the child: when the benchmark is killed without a chance to clean up, the child goes
    too (Linux only).
    """
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)


@contextlib.contextmanager
def started(
    argv: list[str], log: Path, env: dict[str, str] | None = None, pipe: bool = False
) -> Iterator[subprocess.Popen[str]]:
    """Runs a program with its output in `log` (standard output in a pipe, if told). Its whole group
    ends on leaving.
    """
    with log.open("a") as output:
        child = subprocess.Popen(
            argv,
            env={**os.environ, **(env or {})},
            cwd=REPOSITORY,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE if pipe else output,
            stderr=output,
            text=True,
            start_new_session=True,
            preexec_fn=_die_with_parent,
        )
    try:
        yield child
    finally:
        stop(child)
        if child.stdout is not None:
            child.stdout.close()


def stop(child: subprocess.Popen[str]) -> None:
    """Sends SIGTERM to the group, and SIGKILL to what is left of it. Returns when the child is
    gone.
    """
    with contextlib.suppress(ProcessLookupError):
        if child.poll() is None:
            os.killpg(child.pid, signal.SIGTERM)
    with contextlib.suppress(subprocess.TimeoutExpired):
        child.wait(STOP_WITHIN_S)
    with contextlib.suppress(ProcessLookupError):
        os.killpg(child.pid, signal.SIGKILL)
    child.wait(STOP_WITHIN_S)


@contextlib.contextmanager
def helper(module: str, *options: str, log: Path) -> Iterator[dict[str, Any]]:
    """Runs one of our own programs (`bench.smsc`) and yields the line of JSON that it prints when
    it is ready: its ports.
    """
    with started([sys.executable, "-m", module, *options], log, pipe=True) as child:
        assert child.stdout is not None
        line = child.stdout.readline()
        if not line:
            raise NotMeasured(f"{module} did not start: {tail(log)}")
        yield json.loads(line)


def answers_of(module: str, *options: str, within_s: float) -> dict[str, Any]:
    """Runs one of our own programs to its end and returns the line of JSON that it prints."""
    argv = [sys.executable, "-m", module, *options]
    run = subprocess.run(
        argv,
        cwd=REPOSITORY,
        capture_output=True,
        text=True,
        timeout=within_s,
        check=False,
        preexec_fn=_die_with_parent,
    )
    if run.returncode != 0:
        raise NotMeasured(f"{module} failed: {run.stderr[-500:]}")
    answer: dict[str, Any] = json.loads(run.stdout)
    return answer


def wait_for_200(
    child: subprocess.Popen[str], port: int, path: str, within_s: float, log: Path
) -> None:
    """Asks until `path` answers 200. Raises NotMeasured when the child ends first or the
    time is over.
    """
    deadline = time.monotonic() + within_s
    while time.monotonic() < deadline:
        if child.poll() is not None:
            raise NotMeasured(f"{child.args!r} ended with {child.returncode}: {tail(log)}")
        with contextlib.suppress(OSError, http.client.HTTPException):
            connection = http.client.HTTPConnection("127.0.0.1", port, timeout=1)
            try:
                connection.request("GET", path)
                if connection.getresponse().status == 200:
                    return
            finally:
                connection.close()
        # polling is what is measured here: nothing else tells when a foreign process is ready
        time.sleep(0.005)
    raise NotMeasured(f"no 200 from {path} on port {port} within {within_s:g} s: {tail(log)}")


def wait_for_port(child: subprocess.Popen[str], port: int, within_s: float, log: Path) -> None:
    """Waits until something listens on the port. Raises NotMeasured when the child ends
    first or the time is over.
    """
    deadline = time.monotonic() + within_s
    while time.monotonic() < deadline:
        if child.poll() is not None:
            raise NotMeasured(f"{child.args!r} ended with {child.returncode}: {tail(log)}")
        with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", port), timeout=1):
            return
        time.sleep(0.01)
    raise NotMeasured(f"nothing listens on port {port} after {within_s:g} s: {tail(log)}")


def family(pid: int) -> list[psutil.Process]:
    """Returns a process and all that descend from it."""
    process = psutil.Process(pid)
    return [process, *process.children(recursive=True)]


def resident_mib(pid: int) -> float:
    """Returns the resident memory of a process and its descendants, in MiB."""
    return float(sum(process.memory_info().rss for process in family(pid))) / _MIB


def peak_resident_mib(pid: int) -> float:
    """Returns the most resident memory that a process and its descendants, each for itself, ever
    had, in MiB (VmHWM of proc(5); elsewhere what they have now).
    """
    if sys.platform != "linux":
        return resident_mib(pid)
    lines = [Path(f"/proc/{process.pid}/status").read_text() for process in family(pid)]
    return sum(int(status.split("VmHWM:")[1].split()[0]) for status in lines) / 1_024


def cpu_seconds(pid: int) -> float:
    """Returns the CPU time that a process and its descendants have used up to now."""
    return float(sum(sum(process.cpu_times()[:2]) for process in family(pid)))


def tail(log: Path, characters: int = 600) -> str:
    """Returns the end of a log, for an error message."""
    return log.read_text(errors="replace")[-characters:].strip()
