"""Reads which month a page of money is asked for."""

from typing import Final

from heliograph.base.clock import rfc3339
from heliograph.base.forms import Query
from heliograph.portal.page_request import PageRequest

MONTH_CHARACTERS: Final = len("2026-11")


def month_of(request: PageRequest) -> str:
    """Returns the month of the query, or this one. Raises InvalidRequest."""
    query = Query(request.sent.query)
    month = query.text("month", most=MONTH_CHARACTERS)
    query.finish()
    return month or this_month(request)


def this_month(request: PageRequest) -> str:
    """Returns the month of the request in UTC, such as `2026-11`."""
    return rfc3339(request.now_ms)[:MONTH_CHARACTERS]
