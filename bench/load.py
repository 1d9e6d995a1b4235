"""Puts HTTP load on a server, by wrk where it is installed and by our own generator elsewhere."""

import itertools
import json
import os
import shutil
import subprocess
from dataclasses import dataclass
from pathlib import Path

from bench.processes import NotMeasured, answers_of
from bench.traffic import Traffic

GRACE_S = 30.0  # a load run that is not over this long after its time has hung
# each run begins with another running number, so that no two of a case share recipients
_first = itertools.count(0, 1_000_000)


@dataclass(frozen=True, slots=True)
class Load:
    """A load is what a load run saw. `answered` counts the expected status alone."""

    answered: int
    unexpected: dict[str, int]  # answers of another status, as `HTTP 503`: how many
    broken: int  # connections refused, reset or timed out
    seconds: float
    p50_ms: float
    p99_ms: float

    @property
    def per_s(self) -> float:
        return self.answered / self.seconds

    @property
    def errors(self) -> dict[str, int]:
        """Returns what went wrong, and how often."""
        return {**self.unexpected, **({"broken connections": self.broken} if self.broken else {})}


def generator() -> str:
    """Returns which load generator this machine has: `wrk` or `python`."""
    return "wrk" if shutil.which("wrk") else "python"


def run(traffic: Traffic, connections: int, seconds: float, first: int | None = None) -> Load:
    """Sends `traffic` over so many connections for so many seconds, beginning behind the running
    number `first`, or one that no run had. Raises NotMeasured when nothing was answered.
    """
    load = (_by_wrk if generator() == "wrk" else _by_python)(
        traffic, connections, seconds, next(_first) if first is None else first
    )
    if not load.answered:
        raise NotMeasured(f"no request was answered {traffic.expected_status}: {load}")
    return load


def _by_wrk(traffic: Traffic, connections: int, seconds: float, first: int) -> Load:
    script = Path(__file__).with_name("traffic.lua")
    env = {
        **os.environ,
        "BENCH_TEMPLATES": ":".join(map(str, traffic.templates)),
        "BENCH_KEYS": str(traffic.keys or ""),
        "BENCH_STATUS": str(traffic.expected_status),
        "BENCH_FIRST": str(first),
    }
    whole_s = max(1, round(seconds))  # wrk takes whole seconds
    argv = [
        "wrk",
        "-t1",
        f"-c{connections}",
        f"-d{whole_s}s",
        "--timeout",
        "10s",
        "-s",
        str(script),
        f"http://127.0.0.1:{traffic.port}/",
    ]
    run = subprocess.run(
        argv, env=env, capture_output=True, text=True, timeout=whole_s + GRACE_S, check=False
    )
    if run.returncode != 0:
        raise NotMeasured(f"wrk failed: {run.stdout[-300:]}{run.stderr[-300:]}")
    return Load(**json.loads(run.stdout.splitlines()[-1]))


def _by_python(traffic: Traffic, connections: int, seconds: float, first: int) -> Load:
    options = [
        "--port",
        traffic.port,
        "--connections",
        connections,
        "--seconds",
        seconds,
        "--first",
        first,
        "--status",
        traffic.expected_status,
    ]
    if traffic.keys:
        options += ["--keys", traffic.keys]
    return Load(
        **answers_of(
            "bench.http_load", *map(str, [*options, *traffic.templates]), within_s=seconds + GRACE_S
        )
    )
