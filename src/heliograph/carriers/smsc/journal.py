"""The journal tells what the SMSC has seen and said, in JSON lines. There is one line for each
event, so that a checker can join them with the messages that it knows of.

The journal holds phone numbers in full, which nothing else of the service writes anywhere: it is
the log of a test. Texts stand in it as hashes.
"""

import fcntl
import os
import stat
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final, Self

import msgspec

from heliograph.base import clock, private_files

LINES_HELD_MAX: Final = 1_000  # then they are written, also in the middle of what is being done

_encode = msgspec.json.Encoder().encode


class Journal:
    """Counts events by kind, and writes them to a file if there is one. What was noted is in the
    file before it has an effect on the wire.

    Lines are written as a whole and appended, so a killed process loses those of one round of its
    event loop at most.
    """

    def __init__(self, path: Path | None = None) -> None:
        """Opens the file, if there is to be one. Raises OSError when it cannot be opened for
        appending; BlockingIOError when another process writes to it.
        """
        self.counts: Counter[str] = Counter()
        self.failure: OSError | None = None  # the file could not be written; nothing more is
        self.on_failure: Callable[[], None] = lambda: None
        self.is_kept = path is not None
        self._file = (
            -1
            if path is None
            else private_files.opener(str(path), os.O_WRONLY | os.O_CREAT | os.O_APPEND)
        )
        self._lines: list[bytes] = []
        if path is not None and stat.S_ISREG(os.fstat(self._file).st_mode):
            try:
                # ids and sessions of two runs side by side would be taken for one's
                fcntl.flock(self._file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except OSError:
                os.close(self._file)
                raise

    def count(self, kind: str) -> None:
        self.counts[kind] += 1

    def note(self, event: str, **fields: Any) -> None:
        """Writes an event down. A caller with many events asks `is_kept` first, and makes the
        fields only if it is. It is hot.
        """
        if self.is_kept:
            self._lines.append(_encode({"event": event, "at_ms": clock.now_ms(), **fields}))
            if len(self._lines) >= LINES_HELD_MAX:
                self.flush()

    def flush(self) -> None:
        """Hands what was noted to the operating system."""
        if not self._lines:
            return
        octets = memoryview(b"\n".join(self._lines) + b"\n")
        self._lines.clear()
        try:
            while octets:
                octets = octets[os.write(self._file, octets) :]
        except OSError as failure:
            self.failure, self.is_kept = failure, False
            self.on_failure()

    def close(self) -> None:
        self.flush()
        if self._file >= 0:
            os.close(self._file)
            self._file, self.is_kept = -1, False

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()
