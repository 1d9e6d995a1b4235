"""Plots are bars over time, as SVG that the server makes: no script draws them, and `portal.css`
colors them.

All pieces of a bar are messages, stacked by what became of them. The drawing has no text of its
own, because it is stretched to the width of the page. Labels stand around it.
"""

from collections.abc import Sequence
from typing import Final, NamedTuple, Protocol

from heliograph.messages.reports.rollup_reports import MessageFigures, ReportPart
from heliograph.portal.languages import formats, marked

HOUR: Final = marked("Hour")
DAY: Final = marked("Day")
HEIGHT: Final = 100.0  # of the drawing, in its own units
BAR: Final = 10  # from the start of one bar to that of the next
GAP: Final = 2
# the highest label of an axis is one of these times a power of ten; half of it is a label, too, and
# must be a whole number
TOPS: Final = (2, 3, 4, 6, 8, 10)


class LabelledBar(Protocol):
    """Describes a bar of any plot by the label that it has on the axis."""

    @property
    def label(self) -> str: ...


class AxisLabels(NamedTuple):
    """Holds the labels of the first, the middle and the last bar. Of two there is no middle."""

    first: str
    middle: str
    last: str


class Piece(NamedTuple):
    """Describes a piece of a bar: what became of its messages, and where it is drawn."""

    status: str
    y: float
    height: float


class Bar(NamedTuple):
    """Holds the messages of one hour or day, and how they are drawn."""

    label: str
    figures: MessageFigures
    x: int
    pieces: tuple[Piece, ...]


class Plot(NamedTuple):
    """Holds a plot, with the figures that its axis shows."""

    name: str
    title: str
    of: str  # what a bar stands for
    bars: tuple[Bar, ...]
    top: int

    @property
    def width(self) -> int:
        return width_of(self.bars)

    @property
    def figures(self) -> list[MessageFigures]:
        return [bar.figures for bar in self.bars]

    @property
    def axis(self) -> AxisLabels:
        return axis_of(self.bars)


def plot_of(name: str, title: str, of: str, parts: Sequence[ReportPart]) -> Plot:
    """Returns the plot of these hours or days (`of` is HOUR or DAY), named as the account's clocks
    name them.
    """
    top = top_of(max((part.figures.messages for part in parts), default=0))
    label = formats.hour_name if of == HOUR else formats.day_name
    bars = tuple(
        Bar(label(part.start_ms), part.figures, place * BAR, _pieces(part.figures, top))
        for place, part in enumerate(parts)
    )
    return Plot(name, title, of, bars, top)


def width_of(bars: Sequence[LabelledBar]) -> int:
    """Returns the width of a drawing of these bars."""
    return BAR * len(bars) - GAP


def axis_of(bars: Sequence[LabelledBar]) -> AxisLabels:
    """Returns the labels of an axis below these bars."""
    labels = [bar.label for bar in bars]
    middle = labels[len(labels) // 2] if len(labels) > 2 else ""
    return AxisLabels(labels[0], middle, labels[-1])


def top_of(most: int) -> int:
    """Returns the highest label of an axis that shows `most`."""
    power = 1
    while most > TOPS[-1] * power:
        power *= 10
    return next(top * power for top in TOPS if most <= top * power and top * power % 2 == 0)


def _pieces(figures: MessageFigures, top: int) -> tuple[Piece, ...]:
    """Returns the pieces of a bar, the lowest first. A status that no message has gets no piece."""
    counts = {"failed": figures.failed, "delivered": figures.delivered, "sent": figures.sent}
    drawn, below = [], 0
    for status, count in counts.items():
        below += count
        if count:
            drawn.append(
                Piece(
                    status,
                    y=round(HEIGHT - HEIGHT * below / top, 2),
                    height=round(HEIGHT * count / top, 2),
                )
            )
    return tuple(drawn)
