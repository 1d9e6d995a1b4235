"""Counts what became of the segments that carriers took, by country and quarter of an hour, and
what they were charged and cost.

A carrier's ids say which segments it took, when, and what their receipts said. They are kept for 72
hours, and receipts come as long. So a quarter is counted again and again while they are there,
rarer as it grows older, and one last time before the first of them is deleted. What is stored of a
quarter is always the sum of its ids, at the costs of the moment of the last count, whoever counted
before. The money of a carrier that was removed stays as it was counted last.
"""

from collections.abc import Iterator
from functools import cache
from typing import Any, Final, NamedTuple, TypeAlias

import sqlalchemy as sa
from sqlalchemy.engine import Connection

from heliograph import carriers
from heliograph.base.clock import HOUR_MS, MINUTE_MS
from heliograph.messages.states import FAILED
from heliograph.messages.tables import (
    DELIVERY_STEPS,
    DELIVERY_STEPS_S,
    QUARTER_MS,
    RECEIPTS_KEPT_MS,
    carrier_refs,
    messages,
)
from heliograph.monitoring.carrier_money import CarrierCurrency, SegmentMoney, SegmentPrices
from heliograph.monitoring.sampling import NOT_DELIVERED
from heliograph.monitoring.tables import (
    SEGMENT_COUNTS,
    carrier_money,
    carrier_rollup_counts,
    carrier_rollups,
)
from heliograph.pricing import load_costs
from heliograph.text import NUMBER_DIGITS_MAX

EVERY_MS: Final = 20_000  # before a quarter is counted again; it takes some 0.1 s a 10,000 segments
# a quarter is counted again after a third of its age at least: about 30 times in all
AGES_PART: Final = 3
LAST_COUNT_MS: Final = HOUR_MS  # before its ids are deleted, a quarter is counted for the last time
DELETED_MS: Final = 2 * MINUTE_MS  # so soon before nobody counts: some may be gone meanwhile
_DELIVERED: Final = "DELIVRD"
_FIRST: Final = (
    sa.select(carrier_refs.c.created_at_ms)
    .where(
        carrier_refs.c.created_at_ms >= sa.bindparam("from_ms"),
        carrier_refs.c.created_at_ms < sa.bindparam("until_ms"),
    )
    .order_by(carrier_refs.c.created_at_ms)
    .limit(1)
)

SegmentCounts: TypeAlias = dict[str, int]


class CarrierCountry(NamedTuple):
    """Names a carrier and a country, whose code is empty if it is not known."""

    carrier_id: int
    country_code: str


class CountedQuarter(NamedTuple):
    """Holds what was counted of a quarter of an hour."""

    segments: dict[CarrierCountry, SegmentCounts]
    money: dict[CarrierCurrency, SegmentMoney]


def is_due(
    quarter_ms: int, counted_at_ms: int | None, now_ms: int, kept_ms: int = RECEIPTS_KEPT_MS
) -> bool:
    """Returns whether a quarter is to be counted now. `counted_at_ms` is None if it was not counted
    yet, and `kept_ms` is for how long carriers' ids are kept.
    """
    deleted_ms = quarter_ms + kept_ms
    if now_ms >= deleted_ms - DELETED_MS:
        return False
    if counted_at_ms is None:
        return True
    last_ms = deleted_ms - LAST_COUNT_MS
    if counted_at_ms < last_ms <= now_ms:
        return True
    age_ms = counted_at_ms - quarter_ms - QUARTER_MS
    return now_ms - counted_at_ms >= max(EVERY_MS, age_ms // AGES_PART)


def due(tx: Connection, now_ms: int, kept_ms: int = RECEIPTS_KEPT_MS) -> list[int]:
    """Returns the quarters that are to be counted now, the newest first. One that was not counted
    yet and is older than all ids has nothing to be counted: so a new service does not count three
    days in which it was not there.
    """
    present_ms = now_ms - now_ms % QUARTER_MS
    oldest_ms = present_ms - kept_ms
    columns = carrier_rollup_counts.c
    counted_at: dict[int, int] = {
        row.quarter_ms: row.counted_at_ms
        for row in tx.execute(
            sa.select(columns.quarter_ms, columns.counted_at_ms).where(
                columns.quarter_ms > oldest_ms
            )
        )
    }
    kept = {"from_ms": oldest_ms, "until_ms": present_ms + QUARTER_MS}
    first_ms = tx.execute(_FIRST, kept).scalar()
    return [
        quarter_ms
        for quarter_ms in range(present_ms, oldest_ms, -QUARTER_MS)
        if (quarter_ms in counted_at or _has_begun(quarter_ms, first_ms))
        and is_due(quarter_ms, counted_at.get(quarter_ms), now_ms, kept_ms)
    ]


def _has_begun(quarter_ms: int, first_ms: int | None) -> bool:
    """Returns whether carriers may have taken segments in a quarter, as the first id says."""
    return first_ms is not None and first_ms < quarter_ms + QUARTER_MS


def segments_of(tx: Connection, quarter_ms: int) -> CountedQuarter:
    """Counts the segments that carriers took in a quarter of an hour. It reads a minute at a time,
    so no statement reads more than carriers take in one, and only minutes in which they took some:
    most quarters that are counted again are of hours in which little or nothing was sent.
    """
    counts_by_country: dict[CarrierCountry, SegmentCounts] = {}
    money: dict[CarrierCurrency, SegmentMoney] = {}
    minutes = list(_minutes_with_ids(tx, quarter_ms, quarter_ms + QUARTER_MS))
    if not minutes:
        return CountedQuarter(counts_by_country, money)
    prices = SegmentPrices(load_costs(tx))
    for from_ms in minutes:
        minute = {
            "from_ms": from_ms,
            "until_ms": from_ms + MINUTE_MS,
            "digits": prices.digits_needed,
        }
        for row in tx.execute(_counting(), minute):
            counts = counts_by_country.setdefault(
                CarrierCountry(row.carrier_id, row.country_code),
                dict.fromkeys((*SEGMENT_COUNTS, *DELIVERY_STEPS), 0),
            )
            segments = row.refs * int(row.parts).bit_count()
            counts["handed_over"] += segments
            if row.receipt_state == _DELIVERED:
                counts["delivered"] += segments
            elif row.receipt_state in NOT_DELIVERED:
                counts["undelivered"] += segments
            if row.step is not None:
                counts[DELIVERY_STEPS[row.step]] += segments
            if row.sandbox is False:
                prices.add(money, row)
    return CountedQuarter(counts_by_country, money)


def _minutes_with_ids(tx: Connection, from_ms: int, until_ms: int) -> Iterator[int]:
    """Yields the minutes in [from_ms, until_ms) that have ids of carriers."""
    next_ms = from_ms
    while next_ms < until_ms:
        first_ms = tx.execute(_FIRST, {"from_ms": next_ms, "until_ms": until_ms}).scalar()
        if first_ms is None:
            return
        minute_ms = first_ms - first_ms % MINUTE_MS
        yield minute_ms
        next_ms = minute_ms + MINUTE_MS


@cache
def _counting() -> sa.Select[Any]:
    """Returns the query of `segments_of`: how many ids have carrier, country, segments, receipt,
    step of the time to delivery, and all that says what they were charged and cost in common.
    """
    ref, message = carrier_refs.c, messages.c
    has_failed = message.status == FAILED
    took_ms = message.delivered_at_ms - ref.created_at_ms
    step = sa.case(
        (sa.or_(ref.receipt_state != _DELIVERED, took_ms.is_(None)), None),
        (ref.receipt_state.is_(None), None),
        *((took_ms <= step_s * 1_000, place) for place, step_s in enumerate(DELIVERY_STEPS_S)),
        else_=len(DELIVERY_STEPS_S),
    )
    some = (
        sa.select(
            ref.carrier_id,
            sa.func.coalesce(message.country_code, "").label("country_code"),
            ref.parts,
            ref.receipt_state,
            step.label("step"),
            message.sandbox,
            # a message that failed was paid back what no carrier had taken
            (message.credits - sa.case((has_failed, message.refunded), else_=0)).label("credits"),
            message.segments.label("of_segments"),
            sa.case((has_failed, message.parts_accepted), else_=None).label("failed_parts"),
            sa.func.substr(
                sa.cast(message.recipient, sa.String(NUMBER_DIGITS_MAX)),
                1,
                sa.bindparam("digits", type_=sa.Integer),
            ).label("prefix"),
        )
        .select_from(carrier_refs.outerjoin(messages, messages.c.id == carrier_refs.c.message_id))
        .where(
            ref.created_at_ms >= sa.bindparam("from_ms"),
            ref.created_at_ms < sa.bindparam("until_ms"),
            ref.message_id.is_not(None),
        )
        .subquery()
    )
    return sa.select(*some.c, sa.func.count().label("refs")).group_by(*some.c)


def store_segments(
    tx: Connection, quarter_ms: int, counted: CountedQuarter, counted_at_ms: int
) -> None:
    """Stores what was counted of a quarter, unless somebody has stored a later count."""
    counts = carrier_rollup_counts
    of_quarter = counts.c.quarter_ms == quarter_ms
    stored_ms = tx.execute(
        sa.select(counts.c.counted_at_ms).where(of_quarter).with_for_update()
    ).scalar()
    if stored_ms is not None and stored_ms > counted_at_ms:
        return
    tx.execute(sa.delete(counts).where(of_quarter))
    tx.execute(counts.insert().values(quarter_ms=quarter_ms, counted_at_ms=counted_at_ms))
    tx.execute(sa.delete(carrier_rollups).where(carrier_rollups.c.quarter_ms == quarter_ms))
    at = {"quarter_ms": quarter_ms}
    if counted.segments:
        rows = [key._asdict() | at | each for key, each in counted.segments.items()]
        tx.execute(carrier_rollups.insert(), rows)
    _store_money(tx, quarter_ms, counted.money)


def _store_money(
    tx: Connection, quarter_ms: int, found: dict[CarrierCurrency, SegmentMoney]
) -> None:
    """Stores the money of a quarter. What is stored of a carrier that was removed since stays as it
    is, because its costs are gone.
    """
    money = carrier_money.c
    of_quarter = money.quarter_ms == quarter_ms
    stored = set(tx.execute(sa.select(money.carrier_id).where(of_quarter)).scalars())
    removed = stored - {carrier.id for carrier in carriers.all_carriers(tx)}
    tx.execute(sa.delete(carrier_money).where(of_quarter, money.carrier_id.not_in(removed)))
    priced = [
        key._asdict() | {"quarter_ms": quarter_ms} | each._asdict()
        for key, each in found.items()
        if key.carrier_id not in removed
    ]
    if priced:
        tx.execute(carrier_money.insert(), priced)
