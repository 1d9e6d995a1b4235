"""Defines the Prometheus metrics of one process (`/metrics`). The labelled children are kept:
looking them up costs more than counting.
"""

import os
from contextlib import suppress
from functools import cache
from typing import Final, NamedTuple

from prometheus_client import (
    REGISTRY,
    CollectorRegistry,
    Counter,
    Gauge,
    Histogram,
    disable_created_metrics,
)
from prometheus_client.multiprocess import MultiProcessCollector

# each counter would have a second series, which nobody asks for
disable_created_metrics()  # type: ignore[no-untyped-call]

_SECONDS: Final = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10)
_DELAYS: Final = (0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5)
_SIZES: Final = (1, 2, 5, 10, 20, 50, 100, 200, 500, 1_000, 2_000, 5_000, 10_000, 20_000)
STATUSES_MAX: Final = 50  # of a carrier; SMPP 3.4 has as many, and carriers use a few
OTHER_STATUSES: Final = "other"
_known_statuses: dict[str, set[int]] = {}
# others would be labels without end
_METHODS: Final = frozenset({"GET", "POST", "PUT", "DELETE", "PATCH", "HEAD", "OPTIONS"})

REQUESTS: Final = Counter(
    "heliograph_requests_total", "HTTP requests answered", ["method", "route", "status"]
)
REQUEST_SECONDS: Final = Histogram(
    "heliograph_request_seconds",
    "From the head of a request to its answer",
    ["route"],
    buckets=_SECONDS,
)
LOOP_DELAY: Final = Histogram(
    "heliograph_loop_delay_seconds",
    "How much later than due the event loop wakes, 20 times a second",
    buckets=_DELAYS,
)
CONNECTIONS_CLOSED: Final = Counter(
    "heliograph_connections_closed_total",
    "Clients' connections closed for what they did not do",
    ["why"],
)
ACCEPTED: Final = Counter(
    "heliograph_messages_accepted_total", "Messages stored and queued", ["mode"]
)
BATCH_SIZE: Final = Histogram(
    "heliograph_batch_size",
    "Requests, or answers and receipts, in one transaction",
    ["path"],
    buckets=_SIZES,
)
TRANSACTION_SECONDS: Final = Histogram(
    "heliograph_transaction_seconds",
    "Transactions of the hot paths, commit included",
    ["path"],
    buckets=_SECONDS,
)
SUBMITTED: Final = Counter(
    "heliograph_submissions_total", "submit_sm handed to the wire", ["carrier"]
)
ANSWERED: Final = Counter(
    "heliograph_answers_total", "Answers to submit_sm", ["carrier", "outcome"]
)
STATUSES: Final = Counter(
    "heliograph_command_statuses_total",
    "Answers to submit_sm with an error, by command_status",
    ["carrier", "command_status"],
)
RECEIPTS: Final = Counter("heliograph_receipts_total", "Delivery receipts", ["carrier", "state"])
INBOUND: Final = Counter(
    "heliograph_inbound_texts_total",
    "Texts from handsets as they came in, each part and repetition",
    ["carrier"],
)
INBOUND_STORED: Final = Counter(
    "heliograph_inbound_stored_total", "Texts from handsets that were stored", ["carrier"]
)
INBOUND_UNOWNED: Final = Counter(
    "heliograph_inbound_unowned_total",
    "Texts from handsets that were stored for no account",
    ["carrier"],
)
INBOUND_REPEATS: Final = Counter(
    "heliograph_inbound_repeats_total",
    "Texts and parts of texts that the carrier had sent before",
    ["carrier"],
)
INBOUND_INCOMPLETE: Final = Counter(
    "heliograph_inbound_incomplete_total",
    "Texts that were stored although parts of them had not come",
    ["carrier"],
)
UNMATCHED_DROPPED: Final = Counter(
    "heliograph_unmatched_receipts_dropped_total",
    "Receipts that found no message, beyond what is kept",
    ["carrier"],
)
WINDOW: Final = Gauge(
    "heliograph_window_in_use", "submit_sm on the wire without an answer", ["carrier"]
)
BOUND: Final = Gauge(
    "heliograph_carrier_bound", "1 while the carrier can be submitted to", ["carrier"]
)
QUEUE_DEPTH: Final = Gauge(
    "heliograph_queue_messages", "Messages waiting for a carrier", ["carrier"]
)
QUEUE_AGE: Final = Gauge(
    "heliograph_queue_age_seconds", "How long the oldest waiting message has waited", ["carrier"]
)
IN_DOUBT: Final = Gauge(
    "heliograph_in_doubt_messages",
    "Messages of which nobody knows whether the carrier has them",
    ["carrier"],
)
UNMATCHED: Final = Gauge(
    "heliograph_unmatched_receipts", "Receipts that have found no message", ["carrier"]
)
PRUNED: Final = Counter("heliograph_pruned_rows_total", "Rows deleted after their time", ["table"])
ERASED: Final = Counter(
    "heliograph_erased_messages_total", "Messages whose numbers were erased after their time"
)
SWEEPS: Final = Counter(
    "heliograph_sweeps_total",
    "Rounds of what is looked after every second, by the process that does it for all",
)
CLOCK_APART: Final = Gauge(
    "heliograph_clock_apart_seconds",
    "How far this process's clock and the database's are apart",
    multiprocess_mode="max",
)

WEBHOOKS: Final = Counter("heliograph_webhooks_total", "Attempts to deliver an event", ["outcome"])
WEBHOOK_SECONDS: Final = Histogram(
    "heliograph_webhook_seconds",
    "From the beginning of an attempt to its end",
    buckets=(*_SECONDS, 15),
)


class CarrierTotals(NamedTuple):
    """Holds what this process has counted of one carrier since it began."""

    submitted: int
    answers: dict[str, int]  # by outcome
    receipts: dict[str, int]  # by state
    window_in_use: int
    statuses: dict[str, int]  # answers with an error, by command_status


def carrier_totals() -> dict[str, CarrierTotals]:
    """Returns what this process has counted of its carriers, by their names."""
    names = {of["carrier"] for of, _ in _values(SUBMITTED)}
    submitted, answers = _values(SUBMITTED), _values(ANSWERED)
    receipts, windows, statuses = _values(RECEIPTS), _values(WINDOW), _values(STATUSES)
    return {
        name: CarrierTotals(
            sum(value for of, value in submitted if of["carrier"] == name),
            {of["outcome"]: value for of, value in answers if of["carrier"] == name},
            {of["state"]: value for of, value in receipts if of["carrier"] == name},
            sum(value for of, value in windows if of["carrier"] == name),
            {of["command_status"]: value for of, value in statuses if of["carrier"] == name},
        )
        for name in names
    }


def _values(metric: Counter | Gauge) -> list[tuple[dict[str, str], int]]:
    return [
        (sample.labels, int(sample.value))
        for family in metric.collect()
        for sample in family.samples
    ]


def registry() -> CollectorRegistry:
    """Returns what `/metrics` shows: what this process has counted or, where several count
    together, what all of them have.
    """
    if "PROMETHEUS_MULTIPROC_DIR" not in os.environ:
        return REGISTRY
    together = CollectorRegistry()
    # the library has no types for it
    MultiProcessCollector(together)  # type: ignore[no-untyped-call]
    return together


@cache
def _request(method: str, route: str, status: int) -> Counter:
    return REQUESTS.labels(method if method in _METHODS else "other", route, str(status))


@cache
def _request_seconds(route: str) -> Histogram:
    return REQUEST_SECONDS.labels(route)


def count_request(method: str, route: str, status: int, seconds: float) -> None:
    """Counts one answer. `route` is a path of the endpoint table, never what a client wrote."""
    _request(method, route, status).inc()
    _request_seconds(route).observe(seconds)


@cache
def _closed(why: str) -> Counter:
    return CONNECTIONS_CLOSED.labels(why)


def count_closed_connection(why: str) -> None:
    """Counts a connection that the service has closed. `why` is one of a few words
    (docs/operations.md).
    """
    _closed(why).inc()


@cache
def _accepted(sandbox: bool) -> Counter:
    return ACCEPTED.labels("sandbox" if sandbox else "live")


def count_accepted(messages: int, *, sandbox: bool) -> None:
    """Counts messages that were stored and queued."""
    _accepted(sandbox).inc(messages)


@cache
def _transaction(path: str) -> tuple[Histogram, Histogram]:
    return BATCH_SIZE.labels(path), TRANSACTION_SECONDS.labels(path)


def count_transaction(path: str, size: int, seconds: float) -> None:
    """Counts one transaction of a hot path (`accept`, `turn` or `inbound`) that carried so many
    items.
    """
    sizes, durations = _transaction(path)
    sizes.observe(size)
    durations.observe(seconds)


@cache
def _submitted(carrier: str) -> tuple[Counter, Gauge]:
    return SUBMITTED.labels(carrier), WINDOW.labels(carrier)


def count_submitted(carrier: str, count: int, outstanding: int) -> None:
    """Counts submissions: `count` more were written, and `outstanding` are on the wire now."""
    counter, window = _submitted(carrier)
    counter.inc(count)
    window.set(outstanding)


def set_queue_length(carrier: str, waiting: int, oldest_s: float, in_doubt: int) -> None:
    """Sets how many messages wait for a carrier, how long the oldest one has, and how many are in
    doubt.
    """
    QUEUE_DEPTH.labels(carrier).set(waiting)
    QUEUE_AGE.labels(carrier).set(oldest_s)
    IN_DOUBT.labels(carrier).set(in_doubt)


def forget_queue_length(carrier: str) -> None:
    """Stops showing what was measured of a carrier, receipts that found no message included."""
    for gauge in (QUEUE_DEPTH, QUEUE_AGE, IN_DOUBT, UNMATCHED):
        with suppress(KeyError):  # not all of them may have been measured yet
            gauge.remove(carrier)


@cache
def _answered(carrier: str, outcome: str) -> Counter:
    return ANSWERED.labels(carrier, outcome)


def count_answer(carrier: str, outcome: str) -> None:
    """Counts one answer of a carrier to a submission, by its outcome."""
    _answered(carrier, outcome).inc()


@cache
def _status(carrier: str, command_status: str) -> Counter:
    return STATUSES.labels(carrier, command_status)


def count_error(carrier: str, command_status: int) -> None:
    """Counts an answer with an error. A carrier that invents a status each time makes no labels
    without end: beyond some dozens, they count as one.
    """
    known = _known_statuses.setdefault(carrier, set())
    if command_status not in known and len(known) >= STATUSES_MAX:
        _status(carrier, OTHER_STATUSES).inc()
        return
    known.add(command_status)
    _status(carrier, f"0x{command_status:08X}").inc()


@cache
def _received(carrier: str, state: str) -> Counter:
    return RECEIPTS.labels(carrier, state)


def count_receipt(carrier: str, state: str) -> None:
    """Counts one delivery receipt of a carrier, by the state that it reports."""
    _received(carrier, state).inc()


def count_inbound(carrier: str, stored: int, unowned: int, repeats: int) -> None:
    """Counts texts from handsets that one transaction stored, and what it knew already."""
    INBOUND_STORED.labels(carrier).inc(stored)
    INBOUND_UNOWNED.labels(carrier).inc(unowned)
    INBOUND_REPEATS.labels(carrier).inc(repeats)


@cache
def _webhook(outcome: str) -> Counter:
    return WEBHOOKS.labels(outcome)


def count_webhook_attempt(reason: str | None, seconds: float) -> None:
    """Counts one attempt. `reason` is why it failed, one of a few words, or None when it
    succeeded.
    """
    _webhook(reason or "delivered").inc()
    WEBHOOK_SECONDS.observe(seconds)
