"""Draws the plot of the credits and the money that were left at the end of each of the last
days.
"""

from collections.abc import Iterator
from datetime import date, timedelta
from typing import Final, NamedTuple
from zoneinfo import ZoneInfo

from sqlalchemy.engine import Connection
from starlette.responses import Response

from heliograph.base.csv.cells import DELIMITER, line_of
from heliograph.messages.reports.rollup_reports import day_of, midnight_ms
from heliograph.portal.languages import formats
from heliograph.portal.page_request import PageRequest
from heliograph.portal.plots import BAR, HEIGHT, AxisLabels, axis_of, top_of, width_of
from heliograph.portal.rendering import Download
from heliograph.portal.visit import Visit
from heliograph.wallet import levels, money, wallet_of

DAYS: Final = 30
COLUMNS: Final = ("day", "credits", "money", "currency")


class DayLevel(NamedTuple):
    """Holds what was left when a day ended, or what there is now."""

    day: date
    credits: int
    amount_minor: int


class LevelBar(NamedTuple):
    """Holds the credits of a day, and how their bar is drawn."""

    label: str
    level: DayLevel
    x: int
    y: float
    height: float


class LevelPlot(NamedTuple):
    """Holds a plot of credits, with the figures that its axis shows."""

    bars: tuple[LevelBar, ...]
    top: int

    @property
    def width(self) -> int:
        return width_of(self.bars)

    @property
    def axis(self) -> AxisLabels:
        return axis_of(self.bars)


def levels_plot(tx: Connection, visit: Visit, now_ms: int) -> LevelPlot | None:
    """Returns the plot of the last days, or None where there never were credits or money."""
    days = _days(tx, visit, now_ms)
    if not any(each.credits or each.amount_minor for each in days):
        return None
    zone = ZoneInfo(visit.account.time_zone)
    top = top_of(max(each.credits for each in days))
    return LevelPlot(
        tuple(
            LevelBar(
                formats.day_name(midnight_ms(each.day, zone)),
                each,
                place * BAR,
                y=round(HEIGHT - HEIGHT * each.credits / top, 2),
                height=round(HEIGHT * each.credits / top, 2),
            )
            for place, each in enumerate(days)
        ),
        top,
    )


def download(tx: Connection, request: PageRequest, visit: Visit) -> Response:
    """Returns the figures of the plot as a file."""
    code = wallet_of(tx, visit.account.id).currency
    days = _days(tx, visit, request.now_ms)

    def lines() -> Iterator[str]:
        yield line_of(COLUMNS, DELIMITER)
        for each in days:
            amount = money.to_number(each.amount_minor, code)
            cells = each.day.isoformat(), str(each.credits), str(amount), code
            yield line_of(cells, DELIMITER)

    return Download("credits.csv", lines())


def _days(tx: Connection, visit: Visit, now_ms: int) -> list[DayLevel]:
    zone = ZoneInfo(visit.account.time_zone)
    today = day_of(now_ms, zone)
    days = [today - timedelta(days=back) for back in range(DAYS - 1, -1, -1)]
    ends = [midnight_ms(day + timedelta(days=1), zone) for day in days]
    found = levels(tx, visit.account.id, ends)
    return [
        DayLevel(day, each.credits, each.amount_minor)
        for day, each in zip(days, found, strict=True)
    ]
