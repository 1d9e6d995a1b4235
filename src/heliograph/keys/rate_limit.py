"""Requests are counted in fixed windows of 60 s, per key. Every authenticated request counts,
whatever its answer (docs/api.md, "Rate limits").

One process counts in memory. Several share the count through Redis (`redis_limiter.py`).
"""

from typing import Final, NamedTuple, Protocol

from heliograph.base import clock

WINDOW_S: Final = 60
_KEYS_MAX: Final = 1_000_000  # counted at once in one window; a new window starts empty


class RateAllowance(NamedTuple):
    """Says how many requests a key may still make in this window."""

    limit: int
    remaining: int
    reset_s: int

    @property
    def exceeded(self) -> bool:
        return self.remaining < 0


class Limiter(Protocol):
    async def take(self, key_id: str, per_minute: int) -> RateAllowance: ...

    def share_with(self, processes: int) -> None:
        """Says how many processes take from the same limits, this one among them."""
        ...


def window_of(now_ms: int) -> tuple[int, int]:
    """Returns the number of the window, and the seconds that it lasts from now on."""
    second = now_ms // 1_000
    return second // WINDOW_S, WINDOW_S - second % WINDOW_S


class MemoryLimiter:
    """Counts in this process."""

    def __init__(self) -> None:
        self._window = -1
        self._counts: dict[str, int] = {}

    async def take(self, key_id: str, per_minute: int) -> RateAllowance:
        return self.count(key_id, per_minute)

    def share_with(self, processes: int) -> None:
        """Does nothing: a process that counts in memory is the only one."""

    def count(self, key_id: str, per_minute: int) -> RateAllowance:
        window, reset_s = window_of(clock.now_ms())
        if window != self._window or len(self._counts) > _KEYS_MAX:
            self._window, self._counts = window, {}
        used = self._counts[key_id] = self._counts.get(key_id, 0) + 1
        return RateAllowance(per_minute, per_minute - used, reset_s)
