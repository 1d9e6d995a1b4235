"""Runs a service of our own, which a test may stop, kill and start again."""

import subprocess
import sys
import tempfile
import time
from abc import ABC, abstractmethod
from contextlib import suppress
from pathlib import Path
from typing import Self

import psutil

from tests.support.services import ServiceMissing, free_port, keeper

READY_WITHIN_S = 30
POLL_S = 0.02
LOG_TAIL_CHARACTERS = 2_000


class PrivateService(ABC):
    """Runs a server on a free port of 127.0.0.1, with a temporary directory as its home. It is made
    stopped. It is used as a context, or ended with `close`.
    """

    user = ""  # whom it runs as when we are root; empty: root

    def __init__(self, parent: Path | None = None) -> None:
        """Makes the server's home in `parent`; None stands for where temporary directories are."""
        self.port = free_port()
        self.directory = Path(tempfile.mkdtemp(prefix="heliograph-test-", dir=parent))
        self._keeper: subprocess.Popen[str] | None = None

    @abstractmethod
    def command(self) -> list[str]:
        """Returns what to run, in the foreground."""

    @abstractmethod
    def is_ready(self) -> bool:
        """Returns whether it answers."""

    @property
    def log(self) -> str:
        """Returns what it has said so far."""
        return (self.directory / "log").read_text(errors="replace")

    def start(self) -> None:
        """Starts it, and waits until it answers."""
        assert self._keeper is None
        self._keeper = subprocess.Popen(
            [sys.executable, keeper.__file__, str(self.directory), self.user, *self.command()],
            text=True,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            start_new_session=True,
        )
        assert self._keeper.stdout is not None
        self.process = psutil.Process(int(self._keeper.stdout.readline()))
        deadline = time.monotonic() + READY_WITHIN_S
        while not self.is_ready():
            if time.monotonic() > deadline or self.process.status() == psutil.STATUS_ZOMBIE:
                log = self.log
                self.close()
                raise ServiceMissing(
                    f"{self.command()[0]} did not start:\n{log[-LOG_TAIL_CHARACTERS:]}"
                )
            time.sleep(POLL_S)

    def stop(self) -> None:
        """Stops it as an operator would; its files stay, and `start` brings it back."""
        self._end("keep")

    def kill(self) -> None:
        """Kills it and its children (`kill -9`); its files stay as they are at that moment, and
        `start` brings it back.
        """
        processes = [self.process, *self.process.children(recursive=True)]
        for process in processes:
            with suppress(psutil.NoSuchProcess):
                process.kill()
        self._end("keep")

    def close(self) -> None:
        """Stops it and removes its files."""
        self._end("")

    def _end(self, order: str) -> None:
        if self._keeper is not None:
            self._keeper.communicate(order)
            self._keeper = None

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.close()
