"""Tells what became of an account's live texts, and of the credits for them, on each of the last
days in UTC. Texts come from the roll-ups, credits from the ledger's sums by hour.
"""

from collections import defaultdict
from datetime import timedelta
from typing import Final, NamedTuple
from zoneinfo import ZoneInfo

from sqlalchemy.engine import Connection

from heliograph.base.clock import date_in_utc, rfc3339
from heliograph.messages.reports import rollup_reports
from heliograph.messages.reports.rollup_reports import NOTHING, MessageFigures, ReportOf
from heliograph.portal.plots import DAY, Plot, plot_of
from heliograph.wallet import ledger_hours

DAYS: Final = 14
UTC: Final = ZoneInfo("UTC")  # the ledger's sums are by hours of it


class DayOfAccount(NamedTuple):
    """Holds the texts that were accepted on a day and have left the queue, and the credits that the
    ledger has of that day: `spent` and `refunded` are both above zero.
    """

    day: str
    figures: MessageFigures
    spent: int
    refunded: int


class DaysOfAccount(NamedTuple):
    """Holds what a page shows of the last days, newest first. `missing_from` is empty if the
    credits hold all entries of the ledger.
    """

    days: list[DayOfAccount]
    plot: Plot
    total: DayOfAccount
    missing_from: str

    @property
    def has_any(self) -> bool:
        return self.total.figures != NOTHING or any((self.total.spent, self.total.refunded))


def days_of(tx: Connection, account_id: str, now_ms: int) -> DaysOfAccount:
    """Returns the last DAYS days of an account (raw id), the present one too. The ledger is read by
    several statements, which must see one moment (`Database.snapshot`).
    """
    last = rollup_reports.day_of(now_ms, UTC)
    spans = rollup_reports.spans_of_days(last - timedelta(days=DAYS - 1), last, UTC)
    parts = rollup_reports.parts_of(tx, ReportOf(account_id, sandbox=False), spans)
    summed = ledger_hours.summed_days(tx, account_id, now_ms)
    spent: dict[str, int] = defaultdict(int)
    refunded: dict[str, int] = defaultdict(int)
    for each in summed.days:
        if each.type == "sms_charge":
            spent[date_in_utc(each.day_ms)] -= each.credits
        elif each.type == "sms_refund":
            refunded[date_in_utc(each.day_ms)] += each.credits
    days = []
    for part in reversed(parts):
        day = date_in_utc(part.start_ms)
        days.append(DayOfAccount(day, part.figures, spent[day], refunded[day]))
    total = DayOfAccount(
        f"{DAYS} days",
        rollup_reports.total(each.figures for each in days),
        sum(each.spent for each in days),
        sum(each.refunded for each in days),
    )
    missing_ms = summed.missing_from_ms
    missing = "" if missing_ms is None else rfc3339(missing_ms)[:16].replace("T", " ")
    return DaysOfAccount(days, plot_of("days", f"Texts of {DAYS} days", DAY, parts), total, missing)
