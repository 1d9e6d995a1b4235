"""Runs `heliograph smsc` as a process, as its users do."""

import json
import signal
import subprocess
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from heliograph.carriers.smpp import SmppSettings
from tests.support import warm

WITHIN_S = 20.0
POLL_S = 0.02


class SmscProcess:
    """Holds one run on a free port of 127.0.0.1. Its journal is in `log`."""

    def __init__(self, process: "subprocess.Popen[str]", port: int, log: Path) -> None:
        self.process, self.port, self.log = process, port, log
        # what it printed from the address on, once it has ended
        self.said: list[dict[str, Any]] = []

    def events(self, *kinds: str) -> list[dict[str, Any]]:
        """Returns the journal's whole lines so far, of these kinds."""
        lines = self.log.read_text().splitlines(keepends=True)
        return [
            event
            for event in map(json.loads, (line for line in lines if line.endswith("\n")))
            if not kinds or event["event"] in kinds
        ]

    def until(self, count: int, *kinds: str, within_s: float = WITHIN_S) -> list[dict[str, Any]]:
        """Waits until the journal holds so many events of these kinds: it is another
        process's file, so there is nothing to wait on.
        """
        deadline = time.monotonic() + within_s
        while len(found := self.events(*kinds)) < count:
            assert time.monotonic() < deadline, (
                f"{len(found)} of {count} {kinds}; journal:\n{self.log.read_text()[-2_000:]}"
            )
            time.sleep(POLL_S)
        return found

    def settings(self, **given: Any) -> SmppSettings:
        """Returns settings of a client of ours that reaches it."""
        return SmppSettings(
            **{
                "name": "own",
                "host": "127.0.0.1",
                "port": self.port,
                "system_id": "amina",
                "password": "secret",
                "backoff_min_s": 0.05,
                "backoff_max_s": 0.2,
                **given,
            }
        )

    def stop(self, by: signal.Signals = signal.SIGTERM) -> int:
        """Stops it, and returns its exit status."""
        self.process.send_signal(by)
        out, _ = self.process.communicate(timeout=WITHIN_S)
        self.said += map(json.loads, out.splitlines())
        return self.process.returncode


@contextmanager
def running(directory: Path, *options: str, log: str = "smsc.jsonl") -> Iterator[SmscProcess]:
    """Runs it until this context ends. `log` may be empty: then it keeps no journal."""
    path = directory / log
    command = [
        "smsc",
        "--port",
        "0",
        "--json",
        *(["--log", str(path)] if log else []),
        *options,
    ]
    process = warm.start(
        command, cwd=directory, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, text=True
    )
    try:
        assert process.stdout is not None
        line = process.stdout.readline()
        assert line, "it did not start; what it said is above"
        smsc = SmscProcess(process, json.loads(line)["port"], path)
        smsc.said.append(json.loads(line))
        yield smsc
    finally:
        if process.poll() is None:
            process.kill()
        process.communicate(timeout=WITHIN_S)


def repeat_until(done: Callable[[], bool], step: Callable[[], object]) -> None:
    """Takes steps until it is done; fails when it never is."""
    deadline = time.monotonic() + WITHIN_S
    while not done():
        assert time.monotonic() < deadline
        step()
