"""Tells the time. Everything that needs "now" takes it from here or gets it passed in, so that
tests can move time.

"Now" is the machine's clock as it was when the process first asked, and goes on by the clock that
is never set. So nothing ends early, and nothing that waits is hurried, when somebody sets the
machine's clock (docs/reliability.md, row 12).

Where the database has a clock of its own, "now" follows that one. All processes of the database go
by it, however their machines differ. `database/clock_check.py` compares the clocks, and says what
is too far apart to be believed.
"""

import time
from datetime import UTC, datetime
from functools import lru_cache
from typing import Final

from heliograph.base.log import Log

MINUTE_MS: Final = 60_000
HOUR_MS: Final = 3_600_000
DAY_MS: Final = 86_400_000
# less than this apart, the machine's clock is right: so much time servers correct
FOLLOWED_NS: Final = 1_000_000_000
# further apart, it is neared by a second in so many: an hour in four days, unless the process
# starts anew before
CATCH_UP: Final = 100
# On Linux it counts the time that a machine slept, too.
_RUNNING: Final = getattr(time, "CLOCK_BOOTTIME", time.CLOCK_MONOTONIC)

log = Log(__name__)

_offset_ms = 0
_ahead_ns = time.time_ns() - time.clock_gettime_ns(_RUNNING)  # "now" less the running clock
_looked_ns = 0  # by the running clock: when the two were last compared
_apart = False
# the database's clock less the running clock, as it was last measured and believed; None: there is
# none
_agreed_ns: int | None = None
_wall_ahead_ns = _ahead_ns  # the machine's clock less the running clock, as it was last seen
_disputed = False


def now_ms() -> int:
    """Returns the time in milliseconds since 1970-01-01T00:00:00Z."""
    return _now_ns() // 1_000_000 + _offset_ms


def now_us() -> int:
    """Returns the time in microseconds since 1970-01-01T00:00:00Z."""
    return _now_ns() // 1_000 + _offset_ms * 1_000


def _now_ns() -> int:
    """Returns the time in nanoseconds. It takes no lock: threads that come together set the same
    value, or one within a microsecond of it. It is hot.
    """
    global _ahead_ns, _looked_ns, _apart
    running_ns, wall_ns = time.clock_gettime_ns(_RUNNING), time.time_ns()
    if _agreed_ns is not None:
        return _agreed_now_ns(running_ns, wall_ns, _agreed_ns)
    apart_ns = wall_ns - running_ns - _ahead_ns
    if -FOLLOWED_NS < apart_ns < FOLLOWED_NS:
        _ahead_ns, _apart = wall_ns - running_ns, False
        return wall_ns
    if not _apart:
        _apart, _looked_ns = True, running_ns
        log.warning("clock_moved", seconds=round(apart_ns / 1e9, 3))
    neared_ns = (running_ns - _looked_ns) // CATCH_UP
    if neared_ns > 0:
        _ahead_ns += neared_ns if apart_ns > 0 else -neared_ns
        _looked_ns = running_ns
    return running_ns + _ahead_ns


def _agreed_now_ns(running_ns: int, wall_ns: int, agreed_ns: int) -> int:
    """Returns the time by the database's clock. It is approached slowly, as a machine's clock
    that was set is, so time never goes back and never leaps.
    """
    global _ahead_ns, _looked_ns, _wall_ahead_ns
    moved_ns, _wall_ahead_ns = wall_ns - running_ns - _wall_ahead_ns, wall_ns - running_ns
    if not -FOLLOWED_NS < moved_ns < FOLLOWED_NS:
        log.warning("clock_moved", seconds=round(moved_ns / 1e9, 3))
    missing_ns, most_ns = agreed_ns - _ahead_ns, (running_ns - _looked_ns) // CATCH_UP
    if missing_ns and most_ns > 0:
        _ahead_ns += max(-most_ns, min(most_ns, missing_ns))
        _looked_ns = running_ns
    return running_ns + _ahead_ns


def process_us() -> int:
    """Returns this process's time in microseconds, without what a test has moved it by. It is what
    is compared with the database's clock.
    """
    return _now_ns() // 1_000


def follow_database_clock(database_ahead_us: int) -> None:
    """Makes the database's clock the source of "now". It is ahead of this process's clock by
    `database_ahead_us`. The first figure is believed at once, for nothing has been written yet;
    later ones are approached by a second in a hundred.
    """
    global _ahead_ns, _agreed_ns, _looked_ns, _wall_ahead_ns
    running_ns = time.clock_gettime_ns(_RUNNING)
    now_ns = _now_ns()
    agreed_ns = now_ns - running_ns + database_ahead_us * 1_000
    if _agreed_ns is None:
        _ahead_ns, _wall_ahead_ns = agreed_ns, time.time_ns() - running_ns
    _agreed_ns, _looked_ns = agreed_ns, running_ns


def set_disputed(disputed: bool) -> None:
    """Says whether this process's clock and the database's are so far apart that nobody
    can know the time.
    """
    global _disputed
    _disputed = disputed


def is_disputed() -> bool:
    """Returns whether nothing may be claimed and nothing may expire: done an hour too early,
    neither could be undone. It is hot.
    """
    return _disputed


def forget_database() -> None:
    """Goes by this machine's clock alone again (tests only: one process is many in turn)."""
    global _agreed_ns, _ahead_ns, _disputed
    _agreed_ns, _disputed = None, False
    _ahead_ns = time.time_ns() - time.clock_gettime_ns(_RUNNING)


def monotonic_s() -> float:
    """Returns seconds that only ever go forward: they serve for time-outs and rates, and are never
    stored.
    """
    return time.monotonic() + _offset_ms / 1_000


def move(by_ms: int) -> None:
    """Moves this process's time forward (tests only: time is moved, not waited for)."""
    global _offset_ms
    _offset_ms += by_ms


def rfc3339(at_ms: int) -> str:
    """Returns a time such as `2026-01-31T09:30:00.123Z`: RFC 3339, UTC, milliseconds
    (docs/api.md, "Times").
    """
    return f"{_second(at_ms // 1_000)}.{at_ms % 1_000:03d}Z"


def date_in_utc(at_ms: int) -> str:
    """Returns the day of a time, such as `2026-01-31`."""
    return rfc3339(at_ms)[: len("2026-01-31")]


@lru_cache(maxsize=4_096)
def _second(at_s: int) -> str:
    return datetime.fromtimestamp(at_s, UTC).strftime("%Y-%m-%dT%H:%M:%S")


def rfc3339_or_none(at_ms: int | None) -> str | None:
    """Returns the time as `rfc3339` does, or None when there is none."""
    return None if at_ms is None else rfc3339(at_ms)
