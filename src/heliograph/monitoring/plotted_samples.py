"""Reads samples for plots: the last hour, day or week, cut into so many equal parts."""

from typing import Final, NamedTuple

import sqlalchemy as sa
from sqlalchemy.engine import Connection

from heliograph.base.clock import DAY_MS, HOUR_MS, MINUTE_MS
from heliograph.monitoring.tables import (
    COUNTS,
    EVERY_CARRIER,
    LEVELS,
    TEN_MINUTES_MS,
    TEN_SECONDS_MS,
    service_samples,
)


class PlottedSpan(NamedTuple):
    """Describes a span of time that is plotted: the step whose samples are read, how many parts it
    is cut into, and how long each is.
    """

    name: str
    step_ms: int
    part_ms: int
    parts: int


SPANS: Final = (
    PlottedSpan("hour", TEN_SECONDS_MS, HOUR_MS // 60, 60),
    PlottedSpan("day", MINUTE_MS, DAY_MS // 48, 48),
    PlottedSpan("week", TEN_MINUTES_MS, DAY_MS // 8, 56),
)


class PlottedPart(NamedTuple):
    """Holds the figures of one part: those that are counted, by name, as so many a second, and the
    highest of those that are found. Both are empty if no sample was taken in it.
    """

    start_ms: int
    rates: dict[str, float]
    levels: dict[str, int]


def span_named(name: str) -> PlottedSpan:
    """Returns the span of this name; the first one if there is none."""
    return next((span for span in SPANS if span.name == name), SPANS[0])


def parts_of(
    tx: Connection, span: PlottedSpan, now_ms: int, carrier_id: int = EVERY_CARRIER
) -> list[PlottedPart]:
    """Returns all parts of a span, of which the present one is the last, empty ones too."""
    columns = service_samples.c
    end_ms = now_ms - now_ms % span.part_ms + span.part_ms
    start_ms = end_ms - span.part_ms * span.parts
    number = ((columns.at_ms - start_ms) // span.part_ms).label("number")
    figures = [sa.func.sum(columns[name]).label(name) for name in ("covered_ms", *COUNTS)]
    figures += [sa.func.max(columns[name]).label(name) for name in LEVELS]
    query = (
        sa.select(number, *figures)
        .where(
            columns.step_ms == span.step_ms,
            columns.carrier_id == carrier_id,
            columns.at_ms >= start_ms,
            columns.at_ms < end_ms,
        )
        .group_by(number)
    )
    found = {int(row.number): row._mapping for row in tx.execute(query)}
    return [
        PlottedPart(
            start_ms + place * span.part_ms,
            {
                name: int(found[place][name]) * 1_000 / int(found[place]["covered_ms"])
                for name in COUNTS
            }
            if place in found
            else {},
            {name: int(found[place][name]) for name in LEVELS} if place in found else {},
        )
        for place in range(span.parts)
    ]
