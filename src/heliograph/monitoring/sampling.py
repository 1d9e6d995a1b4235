"""Takes samples of the service's figures every ten seconds, and makes longer steps of them.

What costs the hot paths nothing is all that is read: figures that processes tell with their beats,
the length of the queue, which is measured for `/metrics` anyway, and two bounded counts.
"""

from collections.abc import Iterable, Mapping
from typing import Any, Final, NamedTuple

import sqlalchemy as sa
from sqlalchemy.engine import Connection

from heliograph.base.clock import MINUTE_MS
from heliograph.base.paging import first_id_of
from heliograph.carriers import all_carriers
from heliograph.messages.tables import sends
from heliograph.monitoring.carrier_errors import add_errors
from heliograph.monitoring.process_figures import CarrierCounts
from heliograph.monitoring.process_list import registered_processes
from heliograph.monitoring.tables import (
    COUNTS,
    EVERY_CARRIER,
    LEVELS,
    STEPS_KEPT_MS,
    TEN_MINUTES_MS,
    TEN_SECONDS_MS,
    service_samples,
)
from heliograph.webhooks.tables import webhook_queue

SETTLED_MS: Final = 2_000  # a send's id is made before its transaction is committed
SENDS_ADDED_MAX: Final = 500_000  # of one step; it takes 0.1 s, and nobody accepts more
WEBHOOKS_COUNTED_MAX: Final = 100_000  # it takes 10 ms; how many more there are, nobody needs
ROWS_AT_ONCE: Final = 1_000  # that have served their time, in one transaction
COVERED_MS_MAX: Final = 60_000  # what happened while nobody took samples belongs to no step
NOT_DELIVERED: Final = ("UNDELIV", "EXPIRED", "DELETED", "FAILED", "REJECTD", "UNKNOWN")


class MeasuredQueue(NamedTuple):
    """Holds what was measured of one carrier for `/metrics`."""

    waiting_ahead: int = 0
    oldest_ahead_s: float = 0.0
    waiting_bulk: int = 0
    oldest_bulk_s: float = 0.0
    in_doubt: int = 0
    unmatched: int = 0


class _CountedBy(NamedTuple):
    """Names a process, and the carrier that it has told counts of."""

    number: int
    carrier: str


class Sampler:
    """Takes one sample after the other. It is used in one thread."""

    def __init__(self) -> None:
        self._before: dict[_CountedBy, CarrierCounts] = {}
        self._until_ms: int | None = None  # how far was counted

    def take(self, tx: Connection, measured: Mapping[int, MeasuredQueue], now_ms: int) -> None:
        """Stores a sample of each carrier and of the whole service. The first call only remembers
        what there is. Makes the longer steps that are over, and deletes old samples.
        """
        processes = registered_processes(tx)
        latest = {
            _CountedBy(process.number, name): counts
            for process in processes
            if process.figures is not None
            for name, counts in process.figures.carriers.items()
        }
        before, self._before = self._before, latest
        from_ms, self._until_ms = self._until_ms, now_ms
        if from_ms is None or not 0 < now_ms - from_ms <= COVERED_MS_MAX:
            return
        counted = {
            carrier.id: [
                _since(before, key, latest) for key in latest if key.carrier == carrier.name
            ]
            for carrier in all_carriers(tx)
        }
        rows = [
            _row(carrier_id, each, measured.get(carrier_id, MeasuredQueue()))
            for carrier_id, each in counted.items()
        ]
        add_errors(tx, counted, now_ms)
        rows.append(_total(rows, tx, from_ms, now_ms))
        step = {
            "step_ms": TEN_SECONDS_MS,
            "at_ms": now_ms - now_ms % TEN_SECONDS_MS,
            "covered_ms": now_ms - from_ms,
        }
        _store(tx, [step | row for row in rows])
        for shorter_ms, longer_ms in ((TEN_SECONDS_MS, MINUTE_MS), (MINUTE_MS, TEN_MINUTES_MS)):
            if now_ms // longer_ms != from_ms // longer_ms:
                _add_up(tx, shorter_ms, longer_ms, now_ms - now_ms % longer_ms - longer_ms)
        _delete_old(tx, now_ms)


def _since(
    before: Mapping[_CountedBy, CarrierCounts],
    key: _CountedBy,
    latest: Mapping[_CountedBy, CarrierCounts],
) -> CarrierCounts:
    """Returns what a process has counted since the look before. One that was not there then began
    in the meantime, with nothing counted.
    """
    was, now = before.get(key, CarrierCounts()), latest[key]
    return CarrierCounts(
        max(0, now.submitted - was.submitted),
        _less(now.answers, was.answers),
        _less(now.receipts, was.receipts),
        now.window_in_use,
        _less(now.statuses, was.statuses),
    )


def _less(now: Mapping[str, int], was: Mapping[str, int]) -> dict[str, int]:
    return {word: max(0, count - was.get(word, 0)) for word, count in now.items()}


def _row(
    carrier_id: int, counted: Iterable[CarrierCounts], measured: MeasuredQueue
) -> dict[str, int]:
    carrier_counts = list(counted)

    def answers(outcome: str) -> int:
        return sum(counts.answers.get(outcome, 0) for counts in carrier_counts)

    return {
        "carrier_id": carrier_id,
        "accepted": 0,  # a text is accepted by the service, before a carrier is tried
        "handed_over": answers("accepted"),
        "delivered": sum(counts.receipts.get("DELIVRD", 0) for counts in carrier_counts),
        "refused": answers("refused"),
        "throttled": answers("throttled"),
        "retried": answers("retry"),
        "unanswered": answers("unanswered"),
        "undelivered": sum(
            counts.receipts.get(state, 0) for counts in carrier_counts for state in NOT_DELIVERED
        ),
        "waiting_ahead": measured.waiting_ahead,
        "oldest_ahead_s": round(measured.oldest_ahead_s),
        "waiting_bulk": measured.waiting_bulk,
        "oldest_bulk_s": round(measured.oldest_bulk_s),
        "in_doubt": measured.in_doubt,
        "unmatched": measured.unmatched,
        "window_in_use": sum(counts.window_in_use for counts in carrier_counts),
        "webhooks_waiting": 0,
    }


def _total(rows: list[dict[str, int]], tx: Connection, from_ms: int, now_ms: int) -> dict[str, int]:
    oldest = ("oldest_ahead_s", "oldest_bulk_s")
    total = {
        name: (max if name in oldest else sum)([row[name] for row in rows] or [0])
        for name in (*COUNTS, *LEVELS)
    }
    return total | {
        "carrier_id": EVERY_CARRIER,
        "accepted": _accepted(tx, from_ms - SETTLED_MS, now_ms - SETTLED_MS),
        "webhooks_waiting": _webhooks_waiting(tx),
    }


def _accepted(tx: Connection, from_ms: int, until_ms: int) -> int:
    """Adds up the messages of the sends of a few seconds, which are a range of ids: a send of
    10,000 messages costs one row.
    """
    some = (
        sa.select(sends.c.message_count)
        .where(sends.c.id >= first_id_of(from_ms), sends.c.id < first_id_of(until_ms))
        .limit(SENDS_ADDED_MAX)
        .subquery()
    )
    return int(tx.execute(sa.select(sa.func.sum(some.c.message_count))).scalar() or 0)


def _webhooks_waiting(tx: Connection) -> int:
    some = sa.select(webhook_queue.c.event_id).limit(WEBHOOKS_COUNTED_MAX).subquery()
    return tx.execute(sa.select(sa.func.count()).select_from(some)).scalar_one()


def _store(tx: Connection, rows: list[dict[str, Any]]) -> None:
    """Stores samples, in place of what another process may have stored of the same step."""
    columns = service_samples.c
    tx.execute(
        sa.delete(service_samples).where(
            columns.step_ms == rows[0]["step_ms"], columns.at_ms == rows[0]["at_ms"]
        )
    )
    tx.execute(service_samples.insert(), rows)


def _add_up(tx: Connection, shorter_ms: int, longer_ms: int, at_ms: int) -> None:
    """Makes the samples of a longer step of those of the shorter ones in it."""
    columns = service_samples.c
    figures = [sa.func.sum(columns[name]).label(name) for name in ("covered_ms", *COUNTS)]
    figures += [sa.func.max(columns[name]).label(name) for name in LEVELS]
    query = (
        sa.select(columns.carrier_id, *figures)
        .where(
            columns.step_ms == shorter_ms, columns.at_ms >= at_ms, columns.at_ms < at_ms + longer_ms
        )
        .group_by(columns.carrier_id)
    )
    rows: list[dict[str, Any]] = [
        {"step_ms": longer_ms, "at_ms": at_ms}
        | {name: int(value) for name, value in row._mapping.items()}
        for row in tx.execute(query)
    ]
    if rows:
        _store(tx, rows)


def _delete_old(tx: Connection, now_ms: int) -> None:
    columns = service_samples.c
    key = (columns.step_ms, columns.carrier_id, columns.at_ms)
    for step_ms, kept_ms in STEPS_KEPT_MS.items():
        old = (
            sa.select(*key)
            .where(columns.step_ms == step_ms, columns.at_ms < now_ms - kept_ms)
            .order_by(columns.at_ms)
            .limit(ROWS_AT_ONCE)
        )
        tx.execute(sa.delete(service_samples).where(sa.tuple_(*key).in_(old)))
