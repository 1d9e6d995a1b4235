"""Reads what a report is asked: whose messages, and which days."""

from datetime import date, datetime, timedelta
from typing import Final, NamedTuple
from zoneinfo import ZoneInfo

from heliograph.base.errors import FieldError
from heliograph.base.forms import Query, quote_value
from heliograph.messages.reports.rollup_reports import RANGE_DAYS_MAX, day_of
from heliograph.portal.visit import Visit

RANGES: Final = ("7", "30", "90")
USUAL: Final = "30"
OLDEST: Final = date(2020, 1, 1)  # no account has messages that are older


class ReportQuery(NamedTuple):
    """Says which report is shown: that of the days from `first` to `last`, both included, as the
    clocks of `zone` show them.
    """

    mode: str
    first: date
    last: date
    zone: ZoneInfo

    @property
    def days(self) -> int:
        return (self.last - self.first).days + 1

    @property
    def first_before(self) -> date:
        """Returns the first of as many days before these."""
        return self.first - timedelta(days=self.days)


def read_report_query(query: Query, visit: Visit, now_ms: int) -> ReportQuery:
    """Reads the parameters of a report. What is wrong is added to the errors of `query`."""
    mode = query.choice("mode", visit.modes) or visit.mode
    days = int(query.choice("days", RANGES) or USUAL)
    zone = ZoneInfo(visit.account.time_zone)
    today = day_of(now_ms, zone)
    first, last = _day(query, "from", today), _day(query, "to", today)
    wanted = ReportQuery(mode, today - timedelta(days=days - 1), today, zone)
    if first is None and last is None:
        return wanted
    own = wanted._replace(first=first or last or today, last=last or today)
    if own.last < own.first:
        query.errors.append(FieldError("to", f"must not be before {own.first}, not {own.last}"))
        return wanted
    if own.days > RANGE_DAYS_MAX:
        query.errors.append(
            FieldError("from", f"must be at most {RANGE_DAYS_MAX} days, not {own.days} days")
        )
        return wanted
    return own


def _day(query: Query, name: str, today: date) -> date | None:
    text = query.text(name)
    if text is None:
        return None
    try:
        day = datetime.strptime(text, "%Y-%m-%d").date()  # noqa: DTZ007  a day has no zone
    except ValueError:
        query.errors.append(
            FieldError(name, f"must be a day such as {today}, not {quote_value(text)}")
        )
        return None
    if not OLDEST <= day <= today:
        query.errors.append(FieldError(name, f"must be from {OLDEST} to {today}, not {day}"))
        return None
    return day
