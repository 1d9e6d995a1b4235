"""The one source of time. Everything that needs "now" takes it from here or gets it passed in, so that tests move time."""

import time
from datetime import UTC, datetime
from functools import lru_cache

_offset_ms = 0


def now_ms() -> int:
    """Wall-clock time in milliseconds since 1970-01-01T00:00:00Z."""
    return time.time_ns() // 1_000_000 + _offset_ms


def now_us() -> int:
    """Wall-clock time in microseconds since 1970-01-01T00:00:00Z."""
    return time.time_ns() // 1_000 + _offset_ms * 1_000


def monotonic_s() -> float:
    """Seconds that only ever go forward: for time-outs and rates, never stored."""
    return time.monotonic() + _offset_ms / 1_000


def move(by_ms: int) -> None:
    """Moves this process's time forward (tests only: time is moved, not waited for)."""
    global _offset_ms
    _offset_ms += by_ms


def rfc3339(at_ms: int) -> str:
    """`2026-01-31T09:30:00.123Z`: RFC 3339, UTC, milliseconds (contract section 2)."""
    return f"{_second(at_ms // 1_000)}.{at_ms % 1_000:03d}Z"


@lru_cache(maxsize=4_096)
def _second(at_s: int) -> str:
    return datetime.fromtimestamp(at_s, UTC).strftime("%Y-%m-%dT%H:%M:%S")


def rfc3339_or_none(at_ms: int | None) -> str | None:
    return None if at_ms is None else rfc3339(at_ms)
