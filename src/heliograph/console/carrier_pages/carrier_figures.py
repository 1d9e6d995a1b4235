"""Shows what a carrier took and delivered, and how fast, by hour and country, and as a file."""

from collections import Counter
from collections.abc import Iterator
from typing import Final, NamedTuple

from sqlalchemy.engine import Connection
from starlette.responses import Response

from heliograph import carriers
from heliograph.base.clock import rfc3339
from heliograph.base.csv.cells import line_of
from heliograph.base.forms import Query
from heliograph.console.operator_visit import OperatorVisit
from heliograph.console.rendering import page
from heliograph.monitoring import (
    FIGURE_SPANS,
    CarrierHour,
    FigureSpan,
    SegmentFigures,
    by_country,
    by_part,
    carrier_hours,
    span_of_figures,
)
from heliograph.portal.page_request import PageRequest
from heliograph.portal.plots import BAR, HEIGHT, top_of, width_of
from heliograph.portal.rendering import Download

ROWS_SHOWN_MAX: Final = 200  # of hours and countries; the file has all
COLUMNS: Final = (
    *("hour", "country", "handed_over", "delivered", "undelivered", "no_final_receipt"),
    *("delivery_rate", "half_within_s", "p95_within_s"),
)


class SegmentPiece(NamedTuple):
    """Describes a piece of a bar: what became of its segments, and where it is drawn."""

    color: str  # a class of portal.css
    y: float
    height: float


class SegmentBar(NamedTuple):
    """Holds the segments of a part of the span, and how they are drawn."""

    label: str
    figures: SegmentFigures
    x: int
    pieces: tuple[SegmentPiece, ...]


class SegmentPlot(NamedTuple):
    """Holds a plot of what became of the segments that a carrier took."""

    bars: tuple[SegmentBar, ...]
    top: int

    @property
    def width(self) -> int:
        return width_of(self.bars)


class FigureLink(NamedTuple):
    """Describes a link to the figures of a span."""

    name: str
    path: str
    is_shown: bool


def show_figures(tx: Connection, request: PageRequest, visit: OperatorVisit) -> Response:
    """Shows the figures of a carrier. Raises NotFound, InvalidRequest."""
    carrier = carriers.carrier_named(tx, request.path["carrier"])
    span = _span(request)
    hours = carrier_hours(tx, carrier.id, span, request.now_ms)
    total = SegmentFigures()
    for each in hours:
        total = total.plus(each.figures)
    return page(
        "carrier_figures.html",
        request,
        visit,
        name=carrier.name,
        span=span,
        spans=[
            FigureLink(each.name, f"{_path(carrier.name)}?span={each.name}", each == span)
            for each in FIGURE_SPANS
        ],
        total=total,
        countries=by_country(hours),
        plot=_plot(by_part(hours, span, request.now_ms)),
        rows=[(_label(each.start_ms), each) for each in hours[:ROWS_SHOWN_MAX]],
        is_cut=len(hours) > ROWS_SHOWN_MAX,
        busiest=_busiest(hours),
    )


def export(tx: Connection, request: PageRequest, visit: OperatorVisit) -> Response:
    """Returns the figures as a file, oldest first. Raises NotFound, InvalidRequest."""
    carrier = carriers.carrier_named(tx, request.path["carrier"])
    span = _span(request)
    hours = carrier_hours(tx, carrier.id, span, request.now_ms)
    return Download(f"{carrier.name}-{span.name}.csv", _lines(hours))


def _path(name: str) -> str:
    return f"/console/carriers/{name}/figures"


def _span(request: PageRequest) -> FigureSpan:
    query = Query(request.sent.query)
    named = query.text("span")
    query.finish()
    return span_of_figures(named or "")


def _plot(parts: dict[int, SegmentFigures]) -> SegmentPlot:
    top = top_of(max(each.handed_over for each in parts.values()))
    bars = []
    for place, (at_ms, each) in enumerate(parts.items()):
        pieces, base = [], 0.0
        for color, segments in (
            ("delivered", each.delivered),
            ("sent", each.waiting),
            ("failed", each.undelivered),
        ):
            height = round(HEIGHT * segments / top, 2)
            if height:
                pieces.append(SegmentPiece(color, round(HEIGHT - base - height, 2), height))
            base += height
        bars.append(SegmentBar(_label(at_ms), each, place * BAR, tuple(pieces)))
    return SegmentPlot(tuple(bars), top)


def _busiest(hours: list[CarrierHour]) -> int:
    """Returns the most segments of an hour, over all countries."""
    of_hour = Counter[int]()
    for each in hours:
        of_hour[each.start_ms] += each.figures.handed_over
    return max(of_hour.values(), default=0)


def _label(at_ms: int) -> str:
    """Returns a moment as month, day and time in UTC."""
    return rfc3339(at_ms)[len("2026-") : len("2026-01-31T09:30")].replace("T", " ")


def _lines(hours: list[CarrierHour]) -> Iterator[str]:
    yield line_of(COLUMNS, ",")
    for each in reversed(hours):
        of, rate = each.figures, each.figures.delivery_rate
        cells = (
            rfc3339(each.start_ms),
            each.country_code,
            str(of.handed_over),
            str(of.delivered),
            str(of.undelivered),
            str(of.waiting),
            "" if rate is None else f"{rate:.4f}",
            _seconds(of, 0.5),
            _seconds(of, 0.95),
        )
        yield line_of(cells, ",")


def _seconds(of: SegmentFigures, share: float) -> str:
    within_s = of.within_s(share)
    return "" if within_s is None else str(within_s)
