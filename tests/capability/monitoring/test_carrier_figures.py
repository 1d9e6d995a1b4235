"""The figures of carriers by country and hour are what their ids add up to, whoever counted."""

import random
from collections import Counter

import pytest
import sqlalchemy as sa

from heliograph.base import clock, ids
from heliograph.base.clock import DAY_MS, HOUR_MS
from heliograph.database.database import Database
from heliograph.jobs import carrier_figures
from heliograph.jobs.carrier_figures import CarrierCounter
from heliograph.messages.tables import QUARTER_MS, RECEIPTS_KEPT_MS, carrier_refs, messages
from heliograph.monitoring import (
    FIGURE_SPANS,
    SegmentFigures,
    by_country,
    by_part,
    carrier_hours,
    carrier_rollups,
)
from heliograph.monitoring.carrier_rollups import is_due
from heliograph.monitoring.tables import carrier_rollups as stored
from tests.support.factories import open_carrier

DAY, WEEK = FIGURE_SPANS
NOW_MS = 1_800_000_000_000 + 30 * 60_000  # half past


def take_over(
    db: Database,
    carrier_id: int,
    at_ms: int,
    *,
    country: str | None = "GH",
    parts: int = 1,
    state: str | None = None,
    after_ms: int | None = None,
) -> str:
    """Stores a message that a carrier took at a moment, and what its receipt said. Returns its
    reference.
    """
    with db.write() as tx:
        message_id = ids.raw_of_number(ids.new_number(at_ms))
        tx.execute(
            messages.insert().values(
                id=message_id,
                send_id=message_id,
                account_id="a" * 32,
                sandbox=False,
                recipient=233201234567,
                country_code=country,
                carrier_id=1,  # another one was chosen for it at first
                status="delivered" if after_ms is not None else "sent",
                segments=parts.bit_count(),
                credits=1,
                sent_at_ms=at_ms,
                delivered_at_ms=None if after_ms is None else at_ms + after_ms,
            )
        )
        tx.execute(
            carrier_refs.insert().values(
                carrier_id=carrier_id,
                ref=message_id,
                message_id=message_id,
                parts=parts,
                receipt_state=state,
                created_at_ms=at_ms,
            )
        )
    return message_id


def counted(db: Database, counter: CarrierCounter, at_ms: int) -> None:
    clock.move(by_ms=at_ms - clock.now_ms())
    for _ in range(400):  # rounds: each lasts a moment only
        counter._rests_until_ms = 0
        counter.count_due(at_ms)


@pytest.fixture
def carrier_id(db: Database) -> int:
    return open_carrier(db)


def test_a_carrier_is_told_by_hour_and_country_what_it_took_and_how_fast(
    db: Database, carrier_id: int
) -> None:
    hour_ms = NOW_MS - NOW_MS % HOUR_MS
    for after_ms in (400, 900, 3_000, 50_000):
        take_over(db, carrier_id, hour_ms + 1_000, state="DELIVRD", after_ms=after_ms)
    take_over(db, carrier_id, hour_ms + 2_000, state="UNDELIV")
    take_over(db, carrier_id, hour_ms + 3_000, parts=0b111)
    take_over(db, carrier_id, hour_ms - 1, country=None, state="DELIVRD", after_ms=-5)
    take_over(db, 7, hour_ms + 5_000)
    counted(db, CarrierCounter(db, None), NOW_MS)
    with db.read() as tx:
        hours = carrier_hours(tx, carrier_id, DAY, NOW_MS)
    assert [(each.start_ms, each.country_code) for each in hours] == [
        (hour_ms, "GH"),
        (hour_ms - HOUR_MS, ""),
    ]
    figures = hours[0].figures
    assert (figures.handed_over, figures.delivered, figures.undelivered) == (8, 4, 1)
    assert (figures.waiting, figures.delivery_rate) == (3, 0.5)
    assert (figures.within_s(0.5), figures.within_s(0.95)) == (1, 60)
    assert hours[1].figures.within_s(0.5) == 1
    assert list(by_country(hours)) == ["GH", ""]
    parts = by_part(hours, DAY, NOW_MS)
    assert (len(parts), parts[hour_ms].handed_over) == (24, 8)
    assert len(by_part(hours, WEEK, NOW_MS)) == 28
    assert SegmentFigures(5).delivery_rate is None  # it was asked for no receipt


def test_what_is_stored_is_what_a_recount_of_all_ids_gives_however_often_it_was_interrupted(
    db: Database, carrier_id: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    chance = random.Random(4)
    refs: list[str] = []
    at_ms, end_ms = NOW_MS, NOW_MS + 6 * HOUR_MS
    while at_ms < end_ms:
        for _ in range(5):
            parts = chance.choice((1, 1, 0b11, 0b101))
            country = chance.choice(("GH", "NG", None))
            refs.append(take_over(db, carrier_id, at_ms, parts=parts, country=country))
            at_ms += chance.randrange(1, 300_000)
        for ref in chance.sample(refs, min(len(refs), 4)):  # receipts that come late
            with db.write() as tx:
                state = chance.choice(("DELIVRD", "EXPIRED", "ENROUTE"))
                tx.execute(
                    sa.update(carrier_refs)
                    .where(carrier_refs.c.ref == ref)
                    .values(receipt_state=state)
                )
        counter = CarrierCounter(db, None)  # a process that began anew
        with monkeypatch.context() as slow:
            slow.setattr(carrier_figures, "AT_ONCE_MS", -1)  # one quarter in a round
            counter.count_due(at_ms)
            counter.count_due(at_ms + 1, lambda: False)
    counted(db, CarrierCounter(db, None), end_ms + DAY_MS)
    with db.read() as tx:
        expected: Counter[tuple[int, str, str]] = Counter()
        for row in tx.execute(
            sa.select(carrier_refs, messages.c.country_code).join(
                messages, messages.c.id == carrier_refs.c.message_id
            )
        ):
            quarter_ms = row.created_at_ms - row.created_at_ms % QUARTER_MS
            names = {"DELIVRD": ["delivered"], "EXPIRED": ["undelivered"]}
            for name in ["handed_over", *names.get(row.receipt_state, [])]:
                key = (quarter_ms, row.country_code or "", name)
                expected[key] += row.parts.bit_count()
        found = Counter(
            {
                (row.quarter_ms, row.country_code, name): row._mapping[name]
                for row in tx.execute(sa.select(stored))
                for name in ("handed_over", "delivered", "undelivered")
                if row._mapping[name]
            }
        )
    assert found == expected
    assert len(expected) > 50


def test_a_quarter_is_counted_rarer_as_it_ages_and_no_more_when_its_ids_go() -> None:
    counts, counted_at_ms, at_ms = 0, None, 0
    while at_ms < RECEIPTS_KEPT_MS + HOUR_MS:
        if is_due(0, counted_at_ms, at_ms):
            counts, counted_at_ms = counts + 1, at_ms
        at_ms += 5_000
    assert 60 < counts < 90  # 45 of them while it lasts
    assert counted_at_ms is not None
    assert RECEIPTS_KEPT_MS - HOUR_MS <= counted_at_ms < RECEIPTS_KEPT_MS
    assert not is_due(0, None, RECEIPTS_KEPT_MS - 60_000)  # some may be gone already


def test_a_new_service_counts_only_quarters_since_its_first_segment(
    db: Database, carrier_id: int
) -> None:
    this_ms = NOW_MS - NOW_MS % QUARTER_MS
    counter = CarrierCounter(db, None)
    with db.read() as tx:
        assert carrier_rollups.due(tx, NOW_MS) == []
    take_over(db, carrier_id, this_ms - QUARTER_MS - 1)
    with db.read() as tx:
        assert carrier_rollups.due(tx, NOW_MS) == [
            this_ms,
            this_ms - QUARTER_MS,
            this_ms - 2 * QUARTER_MS,
        ]
    counted(db, counter, NOW_MS)
    with db.write() as tx:
        tx.execute(sa.delete(carrier_refs))
    with db.read() as tx:  # what was counted is counted again, though its ids have gone
        assert len(carrier_rollups.due(tx, NOW_MS + HOUR_MS)) == 3


def test_figures_outlive_the_ids_that_they_were_counted_from(db: Database, carrier_id: int) -> None:
    take_over(db, carrier_id, NOW_MS, state="DELIVRD", after_ms=100)
    counter = CarrierCounter(db, None)
    counted(db, counter, NOW_MS + 1_000)
    with db.write() as tx:
        tx.execute(sa.delete(carrier_refs))
    counted(db, counter, NOW_MS + RECEIPTS_KEPT_MS)
    with db.read() as tx:
        [only] = carrier_hours(tx, carrier_id, WEEK, NOW_MS + RECEIPTS_KEPT_MS)
    assert only.figures.delivered == 1


def test_an_older_count_takes_no_place_of_a_newer_one(db: Database, carrier_id: int) -> None:
    quarter_ms = NOW_MS - NOW_MS % QUARTER_MS
    take_over(db, carrier_id, NOW_MS)
    with db.write() as tx:
        newer = carrier_rollups.segments_of(tx, quarter_ms)
        nothing = newer._replace(segments={}, money={})
        carrier_rollups.store_segments(tx, quarter_ms, newer, NOW_MS + 5)
        carrier_rollups.store_segments(tx, quarter_ms, nothing, NOW_MS + 1)
        assert tx.execute(sa.select(stored.c.handed_over)).scalars().all() == [1]
