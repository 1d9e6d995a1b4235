"""Reads the time span of a list. A form has it as the account's clocks show it, and the API as RFC
3339.
"""

import re
from collections.abc import Iterable, Mapping
from datetime import datetime
from typing import Final
from zoneinfo import ZoneInfo

from heliograph.base.clock import rfc3339
from heliograph.base.forms import read_moment_ms
from heliograph.portal.visit import Visit

FIELDS: Final = ("since", "until")
# what a browser sends of a field for a day and a time
_BY_CLOCKS: Final = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d(:\d\d(\.\d{1,3})?)?", re.ASCII)


def as_api_query(sent: Iterable[tuple[str, str]], visit: Visit) -> list[tuple[str, str]]:
    """Returns the query of a page as the API has it. What is no time stays as it is, to be refused
    in the words of the API.
    """
    zone = ZoneInfo(visit.account.time_zone)
    return [(name, _as_api_time(value, zone) if name in FIELDS else value) for name, value in sent]


def as_form_fields(typed: Mapping[str, str], visit: Visit) -> dict[str, str]:
    """Returns what the fields of a form show of a query, whose times may be those of the API."""
    zone = ZoneInfo(visit.account.time_zone)
    form_times = {name: _as_form_time(typed[name], zone) for name in FIELDS if typed.get(name)}
    return {**typed, **form_times}


def _as_api_time(text: str, zone: ZoneInfo) -> str:
    if _BY_CLOCKS.fullmatch(text) is None:
        return text
    try:
        at = datetime.fromisoformat(text).replace(tzinfo=zone)
        return rfc3339(round(at.timestamp() * 1_000))
    except (ValueError, OverflowError):
        return text


def _as_form_time(text: str, zone: ZoneInfo) -> str:
    try:
        at = datetime.fromtimestamp(read_moment_ms(text) // 1_000, zone)
    except (ValueError, OverflowError):
        return text
    return at.strftime("%Y-%m-%dT%H:%M:%S").removesuffix(":00")
