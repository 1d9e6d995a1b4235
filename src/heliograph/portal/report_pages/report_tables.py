"""Makes the tables of a report, as a page shows them and as a file has them."""

from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from datetime import datetime
from typing import Final, NamedTuple
from zoneinfo import ZoneInfo

from sqlalchemy.engine import Connection

from heliograph import campaigns
from heliograph.base.csv import cells as csv_cells
from heliograph.messages.reports import rollup_reports
from heliograph.messages.reports.rollup_reports import (
    NOTHING,
    ComparedFigures,
    GroupFigures,
    MessageFigures,
    ReportOf,
    ReportPart,
    ReportSpan,
    within_s,
)
from heliograph.messages.tables import ERROR_CODES
from heliograph.portal.report_pages.report_query import ReportQuery
from heliograph.portal.visit import Visit

# Lines of one table, those with the most messages: what a thread of the pages makes in 50 ms. All
# others are one line.
LINES_MAX: Final = 1_000
TABLES: Final = ("days", "countries", "senders", "outcomes", "campaigns", "hours")
LAST_HOURS: Final = 24  # that the overview shows


class ReportLine(NamedTuple):
    """Holds a line of a table: the figures of a country, a sender or a campaign. `page` is the path
    of its page, if it has one. `is_ours` says whether the name is a word of ours.
    """

    name: str
    compared: ComparedFigures
    page: str | None = None
    is_ours: bool = False


class StatusLine(NamedTuple):
    """Says how many messages came to this end, and how many in as many days before. `is_ours` says
    whether the name is a word of ours, and no code.
    """

    name: str
    messages: int
    before: int
    is_ours: bool = False


class AccountReport(NamedTuple):
    """Holds all figures of a report. `before` is as many days before, as one part."""

    days: list[ReportPart]
    groups: list[GroupFigures]
    before: list[ReportPart]

    @property
    def total(self) -> ComparedFigures:
        return ComparedFigures(
            rollup_reports.total(group.figures for group in self.groups),
            rollup_reports.total(group.before for group in self.groups),
        )

    @property
    def delays(self) -> tuple[int, ...]:
        return rollup_reports.delays_of(self.days)

    @property
    def delays_before(self) -> tuple[int, ...]:
        return rollup_reports.delays_of(self.before)


def read_report(tx: Connection, visit: Visit, wanted: ReportQuery) -> AccountReport:
    """Reads the figures of the days that are wanted, and of as many before them."""
    of = ReportOf(visit.account.id, sandbox=wanted.mode == "sandbox")
    spans = rollup_reports.spans_of_days(wanted.first, wanted.last, wanted.zone)
    before_ms = rollup_reports.midnight_ms(wanted.first_before, wanted.zone)
    start_ms = spans[0].start_ms
    groups = rollup_reports.groups_of(
        tx, of, before_ms=before_ms, start_ms=start_ms, end_ms=spans[-1].end_ms
    )
    before = ReportSpan(before_ms, start_ms - before_ms, 1)
    return AccountReport(
        rollup_reports.parts_of(tx, of, spans), groups, rollup_reports.parts_of(tx, of, [before])
    )


def countries(report: AccountReport) -> list[ReportLine]:
    """Returns a line for each country that messages went to."""
    return _lines(report.groups, lambda group: group.country_code, or_else="unknown")


def senders(report: AccountReport) -> list[ReportLine]:
    """Returns a line for each sender that messages came from."""
    return _lines(report.groups, lambda group: group.sender)


def of_campaigns(tx: Connection, visit: Visit, report: AccountReport) -> list[ReportLine]:
    """Returns a line for each campaign that messages are of, with its name and page."""
    found = rollup_reports.compare_by(
        [group for group in report.groups if group.group_id], lambda group: group.group_id
    )
    known = campaigns.of_groups(tx, visit.account.id, list(found)[:LINES_MAX])
    lines = []
    for group_id, compared in found.items():
        campaign = known.get(group_id)
        if campaign is not None:
            page = f"{visit.home}/campaigns/{campaigns.text_id(campaign)}"
            lines.append(ReportLine(campaign.name, compared, page))
    return _with_others(lines, list(found.values())[LINES_MAX:])


def status_lines(compared: ComparedFigures) -> list[StatusLine]:
    """Returns what became of messages, the most frequent first after what was delivered."""
    now, before = compared
    reasons = [
        StatusLine(code, count, was)
        for code, count, was in zip(ERROR_CODES, now.errors, before.errors, strict=True)
        if count or was
    ]
    return [
        StatusLine("delivered", now.delivered, before.delivered, is_ours=True),
        StatusLine("on its way", now.sent, before.sent, is_ours=True),
        *sorted(reasons, key=lambda reason: -reason.messages),
    ]


def _lines(
    groups: Sequence[GroupFigures],
    key: Callable[[GroupFigures], Hashable],
    or_else: str = "",
) -> list[ReportLine]:
    """Returns the lines of a table. `or_else` is what a line without a name is called."""
    found = rollup_reports.compare_by(groups, key)
    lines = [
        ReportLine(str(each) or or_else, compared, is_ours=not each)
        for each, compared in found.items()
    ]
    return _with_others(lines[:LINES_MAX], [line.compared for line in lines[LINES_MAX:]])


def _with_others(lines: list[ReportLine], others: Sequence[ComparedFigures]) -> list[ReportLine]:
    if not others:
        return lines
    rest = ComparedFigures(
        rollup_reports.total(each.figures for each in others),
        rollup_reports.total(each.before for each in others),
    )
    return [*lines, ReportLine("all others", rest, is_ours=True)]


def file_of(
    table: str, tx: Connection, visit: Visit, wanted: ReportQuery, now_ms: int
) -> Iterator[str]:
    """Yields the lines of a table as a CSV file has them. The table of the last hours is the same
    whatever days are wanted.
    """
    report = read_report(tx, visit, wanted)
    rows: Sequence[Mapping[str, object]]
    if table == "hours":
        hours = last_hours(tx, visit, wanted.mode, now_ms)
        rows = [_hour_cells(part, wanted.zone) for part in hours]
    elif table == "days":
        rows = [_day_cells(part, wanted) for part in report.days]
    elif table == "outcomes":
        rows = [
            {
                "outcome": line.name,
                "messages": line.messages,
                "messages_before": line.before,
            }
            for line in status_lines(report.total)
        ]
    elif table == "campaigns":
        rows = [_line_cells("campaign", line) for line in of_campaigns(tx, visit, report)]
    elif table == "countries":
        rows = [_line_cells("country", line) for line in countries(report)]
    else:
        rows = [_line_cells("sender", line) for line in senders(report)]
    if rows:
        yield csv_cells.line_of(rows[0], csv_cells.DELIMITER)
    for row in rows:
        yield csv_cells.line_of(map(_cell, row.values()), csv_cells.DELIMITER)


def last_hours(tx: Connection, visit: Visit, mode: str, now_ms: int) -> list[ReportPart]:
    """Returns the figures of the last hours, of which the present one is the last."""
    span = rollup_reports.last_hours(now_ms, ZoneInfo(visit.account.time_zone), LAST_HOURS)
    return rollup_reports.parts_of(
        tx, ReportOf(visit.account.id, sandbox=mode == "sandbox"), [span]
    )


def _cell(value: object) -> str:
    return csv_cells.neutralize(value) if isinstance(value, str) else str(value)


def _day_cells(part: ReportPart, wanted: ReportQuery) -> Mapping[str, object]:
    return {
        "day": str(rollup_reports.day_of(part.start_ms, wanted.zone)),
        **_cells(part.figures),
        "half_delivered_within_s": _seconds(within_s(part.delays, 0.5)),
        "most_delivered_within_s": _seconds(within_s(part.delays, 0.95)),
    }


def _hour_cells(part: ReportPart, zone: ZoneInfo) -> Mapping[str, object]:
    begins = datetime.fromtimestamp(part.start_ms / 1_000, zone)
    return {"hour": begins.isoformat(timespec="minutes"), **_cells(part.figures)}


def _line_cells(of: str, line: ReportLine) -> Mapping[str, object]:
    now, before = line.compared
    return {of: line.name, **_cells(now), "messages_before": before.messages}


def _cells(figures: MessageFigures) -> dict[str, object]:
    rate = figures.delivery_rate
    return {
        "messages": figures.messages,
        "delivered": figures.delivered,
        "on_its_way": figures.sent,
        "failed": figures.failed,
        "delivery_rate": "" if rate is None else f"{rate:.4f}",
        "segments": figures.segments,
        "credits": figures.credits,
    }


def _seconds(within: int | None) -> str:
    return "" if within is None else str(within)


def is_empty(report: AccountReport) -> bool:
    """Returns whether there is nothing to show, neither now nor before."""
    return report.total == ComparedFigures(NOTHING, NOTHING)
