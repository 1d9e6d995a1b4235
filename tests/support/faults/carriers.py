"""Runs a carrier under test: `heliograph smsc` as a process, and a proxy in front of it."""

import json
import subprocess
import time
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final

from tests.support import warm
from tests.support.faults.proxy import Proxy
from tests.support.services import free_port

SEED: Final = "7"  # of all chaos: a run can be repeated
WITHIN_S: Final = 40.0


class CarrierUnderTest:
    """Runs a carrier, which begins when it is made. `proxy` stands between the deployment and the
    SMSC; `log` is the SMSC's file of all that it saw.
    """

    def __init__(self, name: str, directory: Path, options: Sequence[str], script: str) -> None:
        self.name = name
        self.id = 0  # in the deployment's database
        self.log = directory / f"{name}.jsonl"
        self._script = directory / f"{name}.script"
        self._read: list[dict[str, Any]] = []  # of the log, up to here
        self._read_octets = 0
        self.smsc_port = free_port()
        self._process: subprocess.Popen[str] | None = None
        self.start(*options, script=script)
        self.proxy = Proxy(self.smsc_port).__enter__()

    def start(self, *options: str, script: str = "") -> None:
        """Starts with other options than before, after `stop`; its log goes on."""
        self._script.write_text(script)
        self._process = warm.start(
            [
                "smsc",
                "--port",
                str(self.smsc_port),
                "--json",
                "--log",
                self.log,
                "--seed",
                SEED,
                "--script",
                self._script,
                *options,
            ],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            text=True,
        )
        assert self._process.stdout is not None
        if not self._process.stdout.readline():
            self.stop(kill=True)
            raise AssertionError(f"the SMSC did not start with {options}; what it said is above")

    def stop(self, *, kill: bool = False) -> None:
        """Stops it: in order it unbinds, killed it does not. Receipts that it owed are lost either
        way.
        """
        if self._process is not None:
            (self._process.kill if kill else self._process.terminate)()
            self._process.communicate(timeout=WITHIN_S)
            self._process = None

    def close(self) -> None:
        self.proxy.__exit__()
        self.stop()

    def events(self, *kinds: str) -> list[dict[str, Any]]:
        """Returns the log's whole lines so far, of these kinds."""
        with self.log.open("rb") as file:
            file.seek(self._read_octets)
            lines, newline, _ = file.read().rpartition(b"\n")
        self._read += map(json.loads, lines.splitlines())
        self._read_octets += len(lines) + len(newline)
        return [event for event in self._read if event["event"] in kinds]

    def submits(self, *, accepted: bool = True) -> list[dict[str, Any]]:
        """Returns every submit_sm that it took (or, with `accepted` False, that came at all)."""
        return [event for event in self.events("submit_sm") if not accepted or event["status"] == 0]

    def repeated(self) -> int:
        """Returns how many segments it took more often than once, each time counted."""
        times = Counter((submit["recipient"], submit["part"]) for submit in self.submits())
        return sum(times.values()) - len(times)

    def wait_for(self, kind: str, count: int, within_s: float = WITHIN_S) -> list[dict[str, Any]]:
        """Waits until its log holds so many."""
        until_s = time.monotonic() + within_s
        while len(found := self.events(kind)) < count:
            assert time.monotonic() < until_s, (
                f"{len(found)} of {count} {kind} at {self.name} within {within_s} s"
            )
            time.sleep(0.02)
        return found

    def waiting(self) -> tuple[int, int]:
        """Returns how many submit_sm of one session wait for their answers: now, and at the
        worst.
        """
        waiting: Counter[int] = Counter()
        worst = 0
        for event in self.events("submit_sm", "answer", "lost"):
            session = event["session"]
            waiting[session] += {"submit_sm": 1, "answer": -1, "lost": -waiting[session]}[
                event["event"]
            ]
            worst = max(worst, waiting[session])
        return max(waiting.values(), default=0), worst
