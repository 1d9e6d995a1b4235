"""Makes plots of samples: bars over time, drawn by the server as those of the portal are."""

from math import ceil
from typing import Final, NamedTuple

from heliograph.base.clock import HOUR_MS, rfc3339
from heliograph.monitoring import PlottedPart, PlottedSpan
from heliograph.portal.plots import BAR, HEIGHT, AxisLabels, axis_of, top_of, width_of


class PlottedFigure(NamedTuple):
    """Describes a figure that is plotted: its title, whether it is counted, as so many a second,
    and the color of its bars, which is a class of `portal.css`.
    """

    name: str
    title: str
    is_rate: bool
    color: str


PLOTTED: Final = (
    PlottedFigure("accepted", "Texts accepted a second", is_rate=True, color="level"),
    PlottedFigure("handed_over", "Segments handed over a second", is_rate=True, color="level"),
    PlottedFigure("delivered", "Segments delivered a second", is_rate=True, color="delivered"),
    PlottedFigure(
        "not_delivered", "Refused or not delivered a second", is_rate=True, color="failed"
    ),
    PlottedFigure("waiting", "Messages waiting", is_rate=False, color="sent"),
    PlottedFigure("webhooks_waiting", "Webhook events waiting", is_rate=False, color="sent"),
)
COLUMNS: Final = (
    "time",
    *(f"{plotted.name}_per_second" if plotted.is_rate else plotted.name for plotted in PLOTTED),
)


class RateBar(NamedTuple):
    """Describes one bar: its time, its figure as it is read, and how it is drawn."""

    label: str
    figure: str
    x: int
    y: float
    height: float


class RatePlot(NamedTuple):
    """Holds a plot of one figure. `latest` is the figure of the last part in which a sample was
    taken.
    """

    plotted: PlottedFigure
    bars: tuple[RateBar, ...]
    top: int
    highest: str
    latest: str

    @property
    def width(self) -> int:
        return width_of(self.bars)

    @property
    def axis(self) -> AxisLabels:
        return axis_of(self.bars)


def plots_of(parts: list[PlottedPart], span: PlottedSpan) -> list[RatePlot]:
    """Returns the plots of all figures, or none if no sample was taken in the whole span."""
    if not any(part.rates for part in parts):
        return []
    return [_plot(plotted, parts, span) for plotted in PLOTTED]


def figure_of(plotted: PlottedFigure, part: PlottedPart) -> float:
    """Returns a figure of a part in which a sample was taken."""
    if plotted.name == "waiting":
        return part.levels["waiting_ahead"] + part.levels["waiting_bulk"]
    if plotted.name == "not_delivered":
        return part.rates["refused"] + part.rates["undelivered"]
    return part.rates[plotted.name] if plotted.is_rate else part.levels[plotted.name]


def cells_of(part: PlottedPart) -> tuple[str, ...]:
    """Returns all figures of a part in which a sample was taken, as they are read."""
    return tuple(_read(plotted, figure_of(plotted, part)) for plotted in PLOTTED)


def _plot(plotted: PlottedFigure, parts: list[PlottedPart], span: PlottedSpan) -> RatePlot:
    figures = [figure_of(plotted, part) if part.rates else None for part in parts]
    known = [figure for figure in figures if figure is not None]
    top = top_of(ceil(max(known)))
    bars = []
    for place, (part, figure) in enumerate(zip(parts, figures, strict=True)):
        height = round(HEIGHT * (figure or 0.0) / top, 2)
        read = "no sample" if figure is None else _read(plotted, figure)
        label = _label(part.start_ms, span)
        bars.append(RateBar(label, read, place * BAR, round(HEIGHT - height, 2), height))
    return RatePlot(
        plotted, tuple(bars), top, _read(plotted, max(known)), _read(plotted, known[-1])
    )


def _read(plotted: PlottedFigure, figure: float) -> str:
    return f"{figure:.1f}" if plotted.is_rate else f"{figure:.0f}"


def _label(at_ms: int, span: PlottedSpan) -> str:
    """Returns the time of a part in UTC: with its day, where a part is longer than an hour."""
    moment = rfc3339(at_ms)
    clock_time = moment[len("2026-01-31T") : len("2026-01-31T09:30")]
    return f"{moment[5:10]} {clock_time}" if span.part_ms > HOUR_MS else clock_time
