"""A scheduled campaign starts at a time as the account's clocks show it, or at one with an
offset.
"""

import re
from datetime import UTC, datetime
from typing import Final, NamedTuple
from zoneinfo import ZoneInfo

from heliograph.base.forms import quote_value
from heliograph.base.short_texts import invalid_field

AHEAD_MAX_MS: Final = 366 * 86_400_000  # what is further away is more likely a slip than a plan
_FORM: Final = re.compile(r"\d{4}-\d\d-\d\d[Tt ]\d\d:\d\d(:\d\d)?([Zz]|[+-]\d\d:\d\d)?", re.ASCII)


class StartTime(NamedTuple):
    """Holds a moment. `note` tells the user how the time was understood, if that is not obvious."""

    at_ms: int
    note: str | None = None


def read_start_time(text: str, time_zone: str, now_ms: int) -> StartTime:
    """Reads ISO 8601, such as `2027-01-31T09:30`: in that IANA time zone, unless it has an offset
    of its own.

    Raises InvalidRequest about `at` for what is not a time, one that the zone's clocks leave out,
    one that has passed, and one over a year ahead. Of a time that they show twice, the earlier is
    meant, and `note` says so.
    """
    when = _understood(text, time_zone)
    if when.at_ms <= now_ms:
        raise invalid_field("at", f"must be in the future; {text} has passed ({_utc(when.at_ms)})")
    if when.at_ms > now_ms + AHEAD_MAX_MS:
        raise invalid_field("at", f"must be within a year from now, not {text}")
    return when


def read_time(text: str) -> datetime:
    """Reads the time as it is written, with an offset or without. Raises InvalidRequest about `at`
    for what is not a time.
    """
    try:
        given = (
            datetime.fromisoformat(text.upper().replace(" ", "T"))
            if _FORM.fullmatch(text)
            else None
        )
    except ValueError:
        given = None
    if given is None:
        raise invalid_field(
            "at",
            "must be a time such as 2027-01-31T09:30, or one with an offset such as"
            f" 2027-01-31T09:30+01:00, not {quote_value(text)}",
        )
    return given


def _understood(text: str, time_zone: str) -> StartTime:
    given = read_time(text)
    try:
        if given.tzinfo is not None:
            return StartTime(_ms(given))
        zone = ZoneInfo(time_zone)
        first, second = given.replace(tzinfo=zone), given.replace(tzinfo=zone, fold=1)
        displayed = first.astimezone(UTC).astimezone(zone).replace(tzinfo=None)
    except OverflowError:
        raise invalid_field("at", f"must be within a year from now, not {text}") from None
    if displayed != given:
        raise invalid_field(
            "at",
            f"is {text}, a time that does not exist in {time_zone}: the clocks go forward then, and"
            f" show {displayed:%H:%M} instead",
        )
    if first.utcoffset() != second.utcoffset():
        return StartTime(
            _ms(first),
            f"{text} comes twice in {time_zone}; the earlier one is meant, {_utc(_ms(first))}.",
        )
    return StartTime(_ms(first))


def _ms(moment: datetime) -> int:
    return int(moment.timestamp()) * 1_000


def _utc(at_ms: int) -> str:
    return f"{datetime.fromtimestamp(at_ms / 1_000, UTC):%Y-%m-%dT%H:%M:%SZ}"
