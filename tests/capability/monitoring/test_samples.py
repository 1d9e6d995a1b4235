"""Samples say how the service did over the last week."""

import os
from pathlib import Path

import pytest
import sqlalchemy as sa

from heliograph.base import clock, metrics
from heliograph.base.clock import DAY_MS, HOUR_MS, MINUTE_MS
from heliograph.base.paging import first_id_of
from heliograph.database.database import Database
from heliograph.database.leases import Lease, workers
from heliograph.jobs.samples import take_sample
from heliograph.messages.tables import sends
from heliograph.monitoring import SPANS, MeasuredQueue, Sampler, parts_of, written_figures
from heliograph.monitoring.carrier_errors import OTHERS, errors_of_hour
from heliograph.monitoring.process_figures import CarrierCounts, read_figures
from heliograph.monitoring.tables import (
    EVERY_CARRIER,
    STEPS_KEPT_MS,
    TEN_MINUTES_MS,
    TEN_SECONDS_MS,
    service_samples,
)
from heliograph.webhooks.tables import webhook_queue
from tests.support.factories import open_carrier
from tests.support.monitored import tell

START_MS = 1_800_000_000_000  # when an hour begins


def accept(db: Database, account_id: str, *, messages: int, at_ms: int) -> None:
    """Stores a send of so many messages."""
    with db.write() as tx:
        tx.execute(
            sends.insert().values(
                id=first_id_of(at_ms),
                account_id=account_id,
                sandbox=False,
                type="sms",
                sender="ACME",
                encoding="GSM-7",
                segments=1,
                message_count=messages,
                expires_at_ms=at_ms,
                credits_required=0,
                credits_used=0,
                credits_remaining=0,
                created_at_ms=at_ms,
            )
        )


@pytest.fixture
def carrier_id(db: Database) -> int:
    return open_carrier(db)


def sampled(
    db: Database, sampler: Sampler, at_ms: int, measured: dict[int, MeasuredQueue] | None = None
) -> None:
    clock.move(by_ms=at_ms - clock.now_ms())
    with db.write() as tx:
        sampler.take(tx, measured or {}, at_ms)


def stored(
    db: Database, step_ms: int, carrier_id: int = EVERY_CARRIER
) -> list[sa.Row[tuple[object, ...]]]:
    columns = service_samples.c
    with db.read() as tx:
        return list(
            tx.execute(
                sa.select(service_samples)
                .where(columns.step_ms == step_ms, columns.carrier_id == carrier_id)
                .order_by(columns.at_ms)
            )
        )


def test_a_sample_has_what_was_counted_since_the_one_before(
    db: Database, amina_id: str, carrier_id: int
) -> None:
    sampler = Sampler()
    tell(db, 7, carrier=CarrierCounts(100, {"accepted": 100, "throttled": 5}, {"DELIVRD": 90}, 3))
    sampled(db, sampler, START_MS)
    assert stored(db, TEN_SECONDS_MS) == []  # nobody knows since when these were counted
    accept(db, amina_id, messages=500, at_ms=START_MS + 1_000)
    accept(db, amina_id, messages=70, at_ms=START_MS + 9_000)  # perhaps not committed yet
    counted = {"accepted": 160, "throttled": 6, "refused": 2}
    tell(db, 7, carrier=CarrierCounts(170, counted, {"DELIVRD": 100, "UNDELIV": 4}, 8))
    tell(db, 8, carrier=CarrierCounts(40, {"accepted": 40}, {}, 1))
    sampled(db, sampler, START_MS + 10_000, {carrier_id: MeasuredQueue(1, 2.4, 30, 400.0, 5, 6)})
    [of_carrier], [of_all] = stored(db, TEN_SECONDS_MS, carrier_id), stored(db, TEN_SECONDS_MS)
    for row in (of_carrier, of_all):
        assert (row.handed_over, row.delivered, row.throttled) == (100, 10, 1)
        assert (row.refused, row.undelivered, row.window_in_use) == (2, 4, 9)
        assert (row.waiting_ahead, row.oldest_ahead_s) == (1, 2)
        assert (row.waiting_bulk, row.oldest_bulk_s) == (30, 400)
        assert (row.in_doubt, row.unmatched, row.covered_ms) == (5, 6, 10_000)
    assert (of_carrier.accepted, of_all.accepted) == (0, 500)
    sampled(db, sampler, START_MS + 20_000)
    assert [row.accepted for row in stored(db, TEN_SECONDS_MS)] == [500, 70]
    assert [row.handed_over for row in stored(db, TEN_SECONDS_MS)] == [100, 0]


def test_a_process_that_began_anew_takes_nothing_back(db: Database, carrier_id: int) -> None:
    sampler = Sampler()
    tell(db, 7, carrier=CarrierCounts(100, {"accepted": 100}))
    sampled(db, sampler, START_MS)
    tell(db, 7, carrier=CarrierCounts(3, {"accepted": 3}))
    sampled(db, sampler, START_MS + 10_000)
    assert [row.handed_over for row in stored(db, TEN_SECONDS_MS, carrier_id)] == [0]


def test_what_happened_while_nobody_took_samples_belongs_to_none(
    db: Database, amina_id: str, carrier_id: int
) -> None:
    sampler = Sampler()
    sampled(db, sampler, START_MS)
    accept(db, amina_id, messages=500, at_ms=START_MS + 1_000)
    sampled(db, sampler, START_MS + HOUR_MS)
    assert stored(db, TEN_SECONDS_MS) == []


def test_longer_steps_add_up_what_was_counted_and_keep_the_highest_levels(
    db: Database, amina_id: str, carrier_id: int
) -> None:
    sampler = Sampler()
    for number in range(61):
        at_ms = START_MS + number * 10_000
        waiting = 900 if number == 8 else number
        sampled(db, sampler, at_ms, {carrier_id: MeasuredQueue(waiting_bulk=waiting)})
        accept(db, amina_id, messages=10, at_ms=at_ms)
    minutes, [ten] = stored(db, MINUTE_MS), stored(db, TEN_MINUTES_MS)
    assert [row.at_ms for row in minutes] == [START_MS + k * MINUTE_MS for k in range(10)]
    assert [row.accepted for row in minutes] == [50, *[60] * 9]  # the first one is no sample
    assert [row.waiting_bulk for row in minutes] == [5, 900, *range(17, 60, 6)]
    assert (ten.accepted, ten.waiting_bulk, ten.covered_ms) == (590, 900, 590_000)
    [of_carrier] = stored(db, TEN_MINUTES_MS, carrier_id)
    assert of_carrier.waiting_bulk == 900


def test_samples_are_kept_for_as_long_as_their_step_says(db: Database, carrier_id: int) -> None:
    now_ms = START_MS + 9 * DAY_MS
    for step_ms, kept_ms in STEPS_KEPT_MS.items():
        rows = [
            {"step_ms": step_ms, "carrier_id": 0, "at_ms": now_ms - kept_ms + later_ms}
            for later_ms in (-2, -1, 0, 1)
        ]
        figures = {column.name: 1 for column in service_samples.c if not column.primary_key}
        with db.write() as tx:
            tx.execute(service_samples.insert(), [row | figures for row in rows])
    sampler = Sampler()
    sampled(db, sampler, now_ms - 5_000)
    sampled(db, sampler, now_ms)
    for step_ms, kept_ms in STEPS_KEPT_MS.items():
        assert min(row.at_ms for row in stored(db, step_ms)) == now_ms - kept_ms


def test_what_waits_for_webhooks_is_counted(db: Database, carrier_id: int) -> None:
    with db.write() as tx:
        tx.execute(
            webhook_queue.insert(),
            [
                {"endpoint_id": f"{1:032x}", "due_at_ms": 5, "event_id": f"{k:032x}", "tries": 0}
                for k in range(3)
            ],
        )
    sampler = Sampler()
    sampled(db, sampler, START_MS)
    sampled(db, sampler, START_MS + 10_000)
    assert [row.webhooks_waiting for row in stored(db, TEN_SECONDS_MS)] == [3]


def test_plots_have_rates_a_second_and_gaps_where_no_sample_was_taken(
    db: Database, amina_id: str, carrier_id: int
) -> None:
    sampler = Sampler()
    for number in range(7):
        accept(db, amina_id, messages=50, at_ms=START_MS + number * 10_000)
        sampled(
            db,
            sampler,
            START_MS + number * 10_000,
            {carrier_id: MeasuredQueue(waiting_bulk=number)},
        )
    with db.read() as tx:
        hour, day, week = (parts_of(tx, span, START_MS + 61_000) for span in SPANS)
    assert [len(parts) for parts in (hour, day, week)] == [60, 48, 56]
    assert [part.rates.get("accepted") for part in hour[-3:]] == [None, 5.0, 5.0]
    assert [part.levels.get("waiting_bulk") for part in hour[-3:]] == [None, 5, 6]
    assert day[-1].rates["accepted"] == 5.0
    assert week[-1].rates == {}
    assert hour[-2].start_ms == START_MS


def test_the_job_takes_a_sample_in_a_transaction(db: Database, carrier_id: int) -> None:
    sampler = Sampler()
    take_sample(db, sampler, {})
    clock.move(by_ms=10_000)
    take_sample(db, sampler, {carrier_id: MeasuredQueue(waiting_ahead=4)})
    assert [row.waiting_ahead for row in stored(db, TEN_SECONDS_MS, carrier_id)] == [4]


def test_a_beat_tells_what_a_process_says_of_itself(db: Database) -> None:
    lease = Lease(db, "worker")
    lease.figures = lambda: "told"
    lease.begin()
    with db.read() as tx:
        assert tx.execute(sa.select(workers.c.figures)).scalar_one() == "told"
    lease.figures = lambda: "told anew"
    lease.beat()
    with db.read() as tx:
        assert tx.execute(sa.select(workers.c.figures)).scalar_one() == "told anew"


def test_figures_of_another_version_are_none(db: Database, carrier_id: int) -> None:
    tell(db, 7, figures="[1]")
    sampler = Sampler()
    sampled(db, sampler, START_MS)
    sampled(db, sampler, START_MS + 10_000)
    assert [row.handed_over for row in stored(db, TEN_SECONDS_MS)] == [0]


def test_a_process_tells_what_it_has_counted_of_its_carriers(tmp_path: Path) -> None:
    metrics.count_submitted("told", 3, 2)
    metrics.count_answer("told", "accepted")
    metrics.count_receipt("told", "DELIVRD")
    told = read_figures(written_figures("1.2", tmp_path, True, has_carriers=True))
    assert told is not None
    assert told.carriers["told"] == CarrierCounts(3, {"accepted": 1}, {"DELIVRD": 1}, 2)
    assert (told.version, told.redis, told.process_id) == ("1.2", True, os.getpid())
    assert (told.memory_octets or 0) > 10 << 20
    assert (told.disk_free_octets or 0) > 0
    without = read_figures(written_figures("1.2", tmp_path / "none", None, has_carriers=False))
    assert without is not None
    assert (without.carriers, without.disk_free_octets, without.redis) == ({}, None, None)


def test_errors_are_counted_by_carrier_and_command_status_over_an_hour(
    db: Database, carrier_id: int
) -> None:
    sampler = Sampler()
    tell(db, 7, carrier=CarrierCounts(statuses={"0x00000058": 90}))
    sampled(db, sampler, START_MS)
    tell(db, 7, carrier=CarrierCounts(statuses={"0x00000058": 97, "0x0000000B": 2}))
    tell(db, 8, carrier=CarrierCounts(statuses={"0x00000058": 1, "other": 5}))
    sampled(db, sampler, START_MS + 10_000)
    tell(db, 8, carrier=CarrierCounts(statuses={"0x00000058": 4, "other": 5}))
    for at_ms in (START_MS + 20_000, START_MS + 70_000):
        sampled(db, sampler, at_ms)
    with db.read() as tx:
        assert errors_of_hour(tx, START_MS + 70_000) == [
            (carrier_id, 0x58, 7 + 1 + 3),
            (carrier_id, OTHERS, 5),
            (carrier_id, 0x0B, 2),
        ]
        assert errors_of_hour(tx, START_MS + HOUR_MS + 60_000) == []


def test_a_carrier_that_invents_statuses_makes_no_labels_without_end() -> None:
    for status in range(1, 200):
        metrics.count_error("inventive", status)
    metrics.count_submitted("inventive", 1, 0)
    counted = metrics.carrier_totals()["inventive"].statuses
    assert len(counted) == metrics.STATUSES_MAX + 1
    assert (counted["0x00000001"], counted["other"]) == (1, 199 - metrics.STATUSES_MAX)
