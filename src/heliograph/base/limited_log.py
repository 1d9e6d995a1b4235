"""Limits the lines that strangers cause in the log: so many are written a second, and the next one
says how many were left out.
"""

import math

from heliograph.base import clock


class LineLimit:
    """Limits how many lines are logged: at most `most` a second."""

    def __init__(self, most: int) -> None:
        self._most = most
        self._since_s = -math.inf
        self._lines = self._left_out = 0

    def next(self) -> dict[str, int] | None:
        """Returns what a line that is written now has beside its own fields: `left_out`, if any
        were left out. It returns None when no line may be written now.
        """
        now_s = clock.monotonic_s()
        if now_s - self._since_s >= 1:
            self._since_s, self._lines = now_s, 0
        if self._lines >= self._most:
            self._left_out += 1
            return None
        self._lines += 1
        left_out, self._left_out = self._left_out, 0
        return {"left_out": left_out} if left_out else {}
