"""Reads the figures of a carrier: what it took and delivered, and how fast, by hour and country."""

from collections.abc import Iterable, Mapping
from typing import Any, Final, NamedTuple

import sqlalchemy as sa
from sqlalchemy.engine import Connection

from heliograph.base.clock import DAY_MS, HOUR_MS
from heliograph.messages.reports.rollup_reports import within_s
from heliograph.messages.tables import DELIVERY_STEPS
from heliograph.monitoring.tables import SEGMENT_COUNTS, carrier_rollups


class FigureSpan(NamedTuple):
    """Describes a span of time that the figures of a carrier are shown of, and how long each part
    of its plot is.
    """

    name: str
    ms: int
    part_ms: int


FIGURE_SPANS: Final = (
    FigureSpan("day", DAY_MS, HOUR_MS),
    FigureSpan("week", 7 * DAY_MS, 6 * HOUR_MS),
)


class SegmentFigures(NamedTuple):
    """Counts segments that a carrier took. `delays` counts those that were delivered by
    DELIVERY_STEPS: how long it took from the carrier's answer to the message's delivery.
    """

    handed_over: int = 0
    delivered: int = 0
    undelivered: int = 0
    delays: tuple[int, ...] = (0,) * len(DELIVERY_STEPS)

    @property
    def waiting(self) -> int:
        """Returns how many have no final receipt."""
        return self.handed_over - self.delivered - self.undelivered

    @property
    def delivery_rate(self) -> float | None:
        """Returns which part of what was handed over was delivered, 0 to 1; None if no receipt
        came, as from a carrier that is asked for none.
        """
        if not self.delivered + self.undelivered:
            return None
        return self.delivered / self.handed_over

    def within_s(self, share: float) -> int | None:
        """Returns within how many seconds this share of the delivered segments was delivered."""
        return within_s(self.delays, share)

    def plus(self, other: "SegmentFigures") -> "SegmentFigures":
        return SegmentFigures(
            self.handed_over + other.handed_over,
            self.delivered + other.delivered,
            self.undelivered + other.undelivered,
            tuple(map(sum, zip(self.delays, other.delays, strict=True))),
        )


class CarrierHour(NamedTuple):
    """Holds the figures of a carrier in one country (empty if it is not known) and one hour."""

    start_ms: int
    country_code: str
    figures: SegmentFigures


def span_of_figures(name: str) -> FigureSpan:
    """Returns the span of this name; the first one if there is none."""
    return next((span for span in FIGURE_SPANS if span.name == name), FIGURE_SPANS[0])


def carrier_hours(
    tx: Connection, carrier_id: int, span: FigureSpan, now_ms: int
) -> list[CarrierHour]:
    """Returns the figures of a carrier by hour, in UTC, and country, those of the newest hour
    first. The present hour is the last one of the span.
    """
    columns = carrier_rollups.c
    until_ms = now_ms - now_ms % HOUR_MS + HOUR_MS
    hour = (columns.quarter_ms - columns.quarter_ms % HOUR_MS).label("hour_ms")
    names = (*SEGMENT_COUNTS, *DELIVERY_STEPS)
    query = (
        sa.select(
            hour,
            columns.country_code,
            # a sum of large integers is a decimal number, which takes longer to read
            *(sa.cast(sa.func.sum(columns[name]), sa.BigInteger).label(name) for name in names),
        )
        .where(
            columns.carrier_id == carrier_id,
            columns.quarter_ms >= until_ms - span.ms,
            columns.quarter_ms < until_ms,
        )
        .group_by(hour, columns.country_code)
    )
    found = [_carrier_hour(row._mapping) for row in tx.execute(query)]
    found.sort(key=lambda each: (-each.start_ms, -each.figures.handed_over, each.country_code))
    return found


def _carrier_hour(sums: Mapping[Any, Any]) -> CarrierHour:
    figures = SegmentFigures(
        sums["handed_over"],
        sums["delivered"],
        sums["undelivered"],
        tuple(sums[name] for name in DELIVERY_STEPS),
    )
    return CarrierHour(sums["hour_ms"], sums["country_code"], figures)


def by_country(hours: Iterable[CarrierHour]) -> dict[str, SegmentFigures]:
    """Returns the figures of each country, those with the most segments first."""
    found: dict[str, SegmentFigures] = {}
    for each in hours:
        found[each.country_code] = found.get(each.country_code, SegmentFigures()).plus(each.figures)
    ordered = sorted(found, key=lambda country: (-found[country].handed_over, country))
    return {country: found[country] for country in ordered}


def by_part(
    hours: Iterable[CarrierHour], span: FigureSpan, now_ms: int
) -> dict[int, SegmentFigures]:
    """Returns the figures of all parts of a span by their beginning, empty ones too."""
    until_ms = now_ms - now_ms % HOUR_MS + HOUR_MS
    from_ms = until_ms - span.ms
    found = {at_ms: SegmentFigures() for at_ms in range(from_ms, until_ms, span.part_ms)}
    for each in hours:
        at_ms = from_ms + (each.start_ms - from_ms) // span.part_ms * span.part_ms
        found[at_ms] = found[at_ms].plus(each.figures)
    return found
