"""Reports of an account are read from its roll-ups: totals of a range of days, and groups of it.

Days and hours begin when the clocks of the account's time zone say so. A day on which clocks are
changed has 23 or 25 hours.
"""

from collections.abc import Callable, Collection, Hashable, Iterable, Sequence
from datetime import date, datetime, timedelta
from typing import Any, Final, NamedTuple, TypeVar
from zoneinfo import ZoneInfo

import sqlalchemy as sa
from sqlalchemy.engine import Connection

from heliograph.base.clock import HOUR_MS
from heliograph.messages.tables import (
    DELIVERY_STEPS,
    DELIVERY_STEPS_S,
    ERROR_CODES,
    QUARTER_MS,
    rollups,
)

RANGE_DAYS_MAX: Final = 92  # a quarter of a year; a page reads it within 100 ms
_COUNTS: Final = ("sent", "delivered", "failed", "segments", "credits")

KeyT = TypeVar("KeyT", bound=Hashable)


class MessageFigures(NamedTuple):
    """Counts what became of some messages that have left the queue. `errors` counts the failed ones
    by their code, in the order of ERROR_CODES.
    """

    sent: int = 0
    delivered: int = 0
    failed: int = 0
    segments: int = 0
    credits: int = 0
    errors: tuple[int, ...] = (0,) * len(ERROR_CODES)

    @property
    def messages(self) -> int:
        return self.sent + self.delivered + self.failed

    @property
    def delivery_rate(self) -> float | None:
        """Returns which part was delivered, 0 to 1, or None without messages (docs/api.md,
        "Campaigns").
        """
        return self.delivered / self.messages if self.messages else None

    def plus(self, other: "MessageFigures") -> "MessageFigures":
        return MessageFigures(
            self.sent + other.sent,
            self.delivered + other.delivered,
            self.failed + other.failed,
            self.segments + other.segments,
            self.credits + other.credits,
            tuple(map(sum, zip(self.errors, other.errors, strict=True))),
        )


NOTHING: Final = MessageFigures()


class ReportOf(NamedTuple):
    """Says whose messages a report is about."""

    account_id: str
    sandbox: bool


class ReportSpan(NamedTuple):
    """Describes a range of time that is cut into so many equal parts, such as the hours of a
    day.
    """

    start_ms: int
    part_ms: int
    parts: int

    @property
    def end_ms(self) -> int:
        return self.start_ms + self.part_ms * self.parts


class ReportPart(NamedTuple):
    """Counts what was accepted in one hour or day. `delays` counts what was delivered by
    DELIVERY_STEPS.
    """

    start_ms: int
    figures: MessageFigures
    delays: tuple[int, ...]


class GroupFigures(NamedTuple):
    """Holds the figures of messages that have country, sender, type and campaign in common, in a
    range of time and in the same one before it. `group_id` is 0 for messages of no campaign.
    """

    country_code: str
    sender: str
    type: str
    group_id: int
    figures: MessageFigures
    before: MessageFigures


class ComparedFigures(NamedTuple):
    """Holds the figures of a range of time, and of the same one before it."""

    figures: MessageFigures
    before: MessageFigures

    @property
    def change(self) -> float | None:
        """Returns by which part the messages have become more; None if there were none before."""
        was = self.before.messages
        return (self.figures.messages - was) / was if was else None


def midnight_ms(day: date, zone: ZoneInfo) -> int:
    """Returns when a day begins, as a quarter of an hour."""
    at_ms = int(datetime(day.year, day.month, day.day, tzinfo=zone).timestamp() * 1_000)
    return at_ms - at_ms % QUARTER_MS


def day_of(at_ms: int, zone: ZoneInfo) -> date:
    """Returns the day that a moment is in."""
    return datetime.fromtimestamp(at_ms / 1_000, zone).date()


def spans_of_days(first: date, last: date, zone: ZoneInfo) -> list[ReportSpan]:
    """Returns these days and all between them. Days of the same length, one after the other, are
    one span.
    """
    spans: list[ReportSpan] = []
    day, start_ms = first, midnight_ms(first, zone)
    while day <= last:
        day += timedelta(days=1)
        end_ms = midnight_ms(day, zone)
        if spans and spans[-1].part_ms == end_ms - start_ms:
            spans[-1] = spans[-1]._replace(parts=spans[-1].parts + 1)
        else:
            spans.append(ReportSpan(start_ms, end_ms - start_ms, 1))
        start_ms = end_ms
    return spans


def last_hours(now_ms: int, zone: ZoneInfo, count: int) -> ReportSpan:
    """Returns the last `count` hours, of which the present one is the last."""
    into_hour = datetime.fromtimestamp(now_ms / 1_000, zone)
    begun_ms = now_ms - (into_hour.minute * 60 + into_hour.second) * 1_000 - now_ms % 1_000
    start_ms = begun_ms - (count - 1) * HOUR_MS
    return ReportSpan(start_ms - start_ms % QUARTER_MS, HOUR_MS, count)


def parts_of(tx: Connection, of: ReportOf, spans: Iterable[ReportSpan]) -> list[ReportPart]:
    """Returns all parts of these spans, in order, empty ones too."""
    return [part for span in spans for part in _parts_of_span(tx, of, span)]


def _parts_of_span(tx: Connection, of: ReportOf, span: ReportSpan) -> list[ReportPart]:
    columns = rollups.c
    number = ((columns.quarter_ms - span.start_ms) // span.part_ms).label("number")
    names = (*_COUNTS, *ERROR_CODES, *DELIVERY_STEPS)
    query = (
        sa.select(number, *(sa.func.sum(columns[name]).label(name) for name in names))
        .where(*_within(of, span.start_ms, span.end_ms))
        .group_by(number)
    )
    found = {row.number: row._mapping for row in tx.execute(query)}
    no_delays = (0,) * len(DELIVERY_STEPS)
    return [
        ReportPart(span.start_ms + place * span.part_ms, NOTHING, no_delays)
        if place not in found
        else ReportPart(
            span.start_ms + place * span.part_ms,
            _figures(found[place]),
            tuple(int(found[place][name]) for name in DELIVERY_STEPS),
        )
        for place in range(span.parts)
    ]


class _GroupKey(NamedTuple):
    country_code: str
    sender: str
    type: str
    group_id: int


def groups_of(
    tx: Connection, of: ReportOf, *, before_ms: int, start_ms: int, end_ms: int
) -> list[GroupFigures]:
    """Returns one record for each country, sender, type and campaign. It holds the figures of the
    range from `start_ms` to `end_ms`, and those of the range from `before_ms` to `start_ms`.
    """
    columns = rollups.c
    keys = (columns.country_code, columns.sender, columns.type, columns.group_id)
    is_before = (columns.quarter_ms < start_ms).label("is_before")
    names = (*_COUNTS, *ERROR_CODES)
    query = (
        sa.select(*keys, is_before, *(sa.func.sum(columns[name]).label(name) for name in names))
        .where(*_within(of, before_ms, end_ms))
        .group_by(*keys, is_before)
    )
    found: dict[_GroupKey, ComparedFigures] = {}
    for row in tx.execute(query):
        key = _GroupKey(row.country_code, row.sender, row.type, row.group_id)
        compared, figures = (
            found.get(key, ComparedFigures(NOTHING, NOTHING)),
            _figures(row._mapping),
        )
        found[key] = (
            compared._replace(before=figures)
            if row.is_before
            else compared._replace(figures=figures)
        )
    return [GroupFigures(**key._asdict(), **compared._asdict()) for key, compared in found.items()]


def live_messages_of(
    tx: Connection, account_ids: Collection[str], *, start_ms: int, end_ms: int
) -> dict[str, int]:
    """Returns how many live messages of each of these accounts (raw ids) have left the queue and
    were accepted in [start_ms, end_ms), both the beginning of a quarter of an hour. An account
    without any is left out.
    """
    columns = rollups.c
    number = sa.func.sum(columns.sent + columns.delivered + columns.failed).label("number")
    query = (
        sa.select(columns.account_id, number)
        .where(
            columns.account_id.in_(account_ids),
            columns.sandbox.is_(False),
            columns.quarter_ms >= start_ms,
            columns.quarter_ms < end_ms,
        )
        .group_by(columns.account_id)
    )
    return {row.account_id: int(row.number) for row in tx.execute(query)}


def _within(of: ReportOf, start_ms: int, end_ms: int) -> tuple[sa.ColumnElement[bool], ...]:
    columns = rollups.c
    return (
        columns.account_id == of.account_id,
        columns.sandbox.is_(of.sandbox),
        columns.quarter_ms >= start_ms,
        columns.quarter_ms < end_ms,
    )


def _figures(row: Any) -> MessageFigures:
    return MessageFigures(
        **{name: int(row[name]) for name in _COUNTS},
        errors=tuple(int(row[code]) for code in ERROR_CODES),
    )


def total(figures: Iterable[MessageFigures]) -> MessageFigures:
    """Returns the sum of figures."""
    added = NOTHING
    for each in figures:
        added = added.plus(each)
    return added


def compare_by(
    groups: Iterable[GroupFigures], key: Callable[[GroupFigures], KeyT]
) -> dict[KeyT, ComparedFigures]:
    """Returns figures by what `key` tells of a group, those with the most messages first."""
    found: dict[KeyT, ComparedFigures] = {}
    for group in groups:
        known = found.get(key(group), ComparedFigures(NOTHING, NOTHING))
        found[key(group)] = ComparedFigures(
            known.figures.plus(group.figures), known.before.plus(group.before)
        )
    ordered = sorted(found, key=lambda compared: (-found[compared].figures.messages, str(compared)))
    return {compared: found[compared] for compared in ordered}


def delays_of(parts: Iterable[ReportPart]) -> tuple[int, ...]:
    """Returns the sums of the delays of some parts."""
    sums = [0] * len(DELIVERY_STEPS)
    for part in parts:
        for place, count in enumerate(part.delays):
            sums[place] += count
    return tuple(sums)


def within_s(delays: Sequence[int], share: float) -> int | None:
    """Returns within how many seconds this share (0 to 1) of the delivered messages was delivered.
    It is the upper end of a step, so it is never too low. It is None if nothing was delivered, or
    if the share took longer than the last step.
    """
    wanted, reached = share * sum(delays), 0
    for until_s, count in zip(DELIVERY_STEPS_S, delays, strict=False):
        reached += count
        if reached and reached >= wanted:
            return until_s
    return None
