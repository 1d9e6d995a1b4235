"""Runs `heliograph serve`, or a part of it, as a process that a test stops, kills, and watches by
its log.
"""

import os
import resource
import subprocess
import time
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import Any

import httpx
import psutil

from tests.support import plain_http, warm
from tests.support.factories import SECRET_KEY
from tests.support.services import free_port
from tests.support.warm import HELIOGRAPH
from tests.support.warm.siblings import NAME as SPAWNED

READY_WITHIN_S = 30.0
RUNNING: "set[subprocess.Popen[Any]]" = set()  # that nobody has ended yet


class ServerProcess:
    """Runs a process, which is started when it is made. `address` is where it answers, once
    `wait_until_ready` has returned.
    """

    def __init__(
        self,
        url: str,
        data_dir: Path,
        command: Sequence[str] = ("serve",),
        port: int | None = None,
        within: Sequence[str] = (),
        files: int | None = None,
        /,
        **env: str,
    ) -> None:
        """Starts the process. `within` is what runs it, such as `netns.within(cable)`; `files` says
        how many it may have open at the very most.
        """
        port = port or free_port()
        self.name = command[0]
        self.address = f"http://127.0.0.1:{port}"
        self._log = data_dir / f"{command[0]}.log"
        listening = (
            ("--port", str(port)) if command[0] in ("serve", "api", "console", "demo") else ()
        )
        data_dir.mkdir(exist_ok=True)
        with self._log.open("ab") as log:
            words = [*command, *listening, "--data-dir", data_dir]
            run = partial(subprocess.Popen, [*within, HELIOGRAPH, *words])
            self.process = (run if within else partial(warm.start, words))(
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                env={
                    **os.environ,
                    "DATABASE_URL": url,
                    "HELIOGRAPH_SECRET_KEY": SECRET_KEY,
                    "HELIOGRAPH_DRAIN_S": "0",
                    **env,
                },
                preexec_fn=None
                if files is None
                else partial(resource.setrlimit, resource.RLIMIT_NOFILE, (files, files)),
            )
        RUNNING.add(self.process)

    @property
    def log(self) -> str:
        return self._log.read_text()

    def wait_until_ready(self, within_s: float = READY_WITHIN_S) -> None:
        until_s = time.monotonic() + within_s
        while True:
            try:
                if plain_http.get(f"{self.address}/readyz", timeout=1).status_code == 200:
                    return
            except httpx.HTTPError:
                if self.process.poll() is not None or time.monotonic() > until_s:
                    raise AssertionError(
                        f"the server did not start ({self.process.poll()}):\n{self.log[-2_000:]}"
                    ) from None
            time.sleep(0.02)

    def wait_for_event(self, event: str, within_s: float, times: int = 1) -> None:
        """Waits until the log has this event so many times."""
        until_s = time.monotonic() + within_s
        while self.log.count(f'"{event}"') < times:
            assert time.monotonic() < until_s, (
                f"no {event} within {within_s} s:\n{self.log[-2_000:]}"
            )
            time.sleep(0.02)

    def answering(self) -> list[psutil.Process]:
        """Returns the processes of `api` that answer requests: those that it has spawned, without
        Python's own tracker of resources.
        """
        return [
            child
            for child in psutil.Process(self.process.pid).children()
            if child.name() == SPAWNED or SPAWNED in " ".join(child.cmdline())
        ]

    def end(self) -> int:
        """Stops it in order, if it still runs, and returns its exit status."""
        self.process.terminate()
        status = self.process.wait(60)
        RUNNING.discard(self.process)
        return status


def kill_left(before: "set[subprocess.Popen[Any]]") -> None:
    """Kills what a test has started and, because it failed, not ended: it would take its part of
    the machine from all that follow.
    """
    for process in RUNNING - before:
        process.kill()
        process.wait()
    RUNNING.intersection_update(before)
