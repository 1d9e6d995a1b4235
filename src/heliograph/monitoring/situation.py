"""Says how the service does now: what is wrong, and how its carriers and processes are.

All of it is read from the database with bounded, indexed statements, so a page may ask every few
seconds. What has to be looked at elsewhere, each process tells with its beat.
"""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from enum import StrEnum
from typing import Final, NamedTuple

from sqlalchemy.engine import Connection

from heliograph import accounts
from heliograph.accounts import Account
from heliograph.carriers import SIMULATOR_ID, Carrier, LinkState, carrier_states, routing
from heliograph.monitoring import carrier_checks, work_checks
from heliograph.monitoring.carrier_errors import CarrierError, errors_of_hour
from heliograph.monitoring.check_result import CheckResult
from heliograph.monitoring.database_now import DatabaseNow, database_state
from heliograph.monitoring.process_list import RegisteredProcess
from heliograph.monitoring.service_figures import (
    CarrierNow,
    ServiceFigures,
    service_figures,
)
from heliograph.monitoring.told_sentences import asked, capital, grouped
from heliograph.monitoring.waiting_queues import QueueTold, queue_causes, queues_told
from heliograph.webhooks import backlogs
from heliograph.webhooks.endpoints import WebhookEndpoint

SAMPLES_LATE_MS: Final = 45_000  # several in a row were not taken
UNMATCHED_MIN: Final = 100  # fewer receipts are only early: their answers have not come yet
WEBHOOKS_MIN: Final = 10_000
DISK_OCTETS_MIN: Final = 1 << 30
CONNECTIONS_PART: Final = 0.9  # of those that the database allows
TROUBLES_MAX: Final = 50
_STATES: Final = {
    LinkState.CONNECTING.value: "it is being connected",
    LinkState.BACKING_OFF.value: "the connection failed or ended, and is tried again",
    LinkState.REFUSED.value: "the carrier refuses the bind",
    LinkState.CLOSED.value: "no process serves it",
}


class TroubleKind(StrEnum):
    """Names what a trouble is about, where somebody can do something about it."""

    CARRIER = "carrier"
    QUEUE = "queue"  # of a carrier
    RECEIPTS = "receipts"  # of a carrier, that match no message
    DOUBTS = "doubts"
    ONE_TIME_PASSWORDS = "one_time_passwords"
    ROUTES = "routes"
    WEBHOOKS = "webhooks"  # an endpoint that fails, or for which most events wait


class TroubledEndpoint(NamedTuple):
    """Holds a webhook endpoint and whose it is."""

    endpoint: WebhookEndpoint
    account: Account


class Trouble(NamedTuple):
    """Says in a sentence what is wrong, and in another one what to do about it. `carrier` and
    `endpoint` are the ones that it is about, if it is about one.
    """

    sentence: str
    remedy: str
    is_failure: bool = False  # as opposed to what only needs somebody's look
    kind: TroubleKind | None = None
    carrier: Carrier | None = None
    endpoint: TroubledEndpoint | None = None


class Situation(NamedTuple):
    """Tells how the service does. `levels` and `rates` are the whole service's."""

    troubles: list[Trouble]
    carriers: list[CarrierNow]
    processes: list[RegisteredProcess]
    levels: Mapping[str, int]
    rates: Mapping[str, float]
    sampled_at_ms: int | None
    errors: list[CarrierError]
    database: DatabaseNow


def situation(tx: Connection, now_ms: int) -> Situation:
    """Returns how the service does at a moment."""
    now = service_figures(tx, now_ms)
    database = database_state(tx)
    troubles = [
        *_of_processes(now.processes, now_ms),
        *_of_database(database),
        *_of_carriers(tx, now, now_ms),
        *_of_checks(tx, now.carriers, now.processes, now_ms),
        *_of_samples(tx, now, now_ms),
    ]
    troubles.sort(key=lambda trouble: not trouble.is_failure)  # stable: else as they were found
    return Situation(
        troubles[:TROUBLES_MAX],
        now.carriers,
        now.processes,
        levels=now.levels,
        rates=now.rates,
        sampled_at_ms=now.sampled_at_ms,
        errors=errors_of_hour(tx, now_ms),
        database=database,
    )


def _of_processes(processes: list[RegisteredProcess], now_ms: int) -> Iterator[Trouble]:
    kinds = Counter(process.kind for process in processes)
    yield from _troubles([work_checks.processes(kinds)], is_failure=True)
    for process in processes:
        late_ms, figures = process.late_ms(now_ms), process.figures
        if figures is None:
            continue
        name = f"{process.kind} {process.number} (process {figures.process_id} on {figures.host})"
        if late_ms is not None:
            yield Trouble(
                f"The {name} has not shown itself for {late_ms // 1_000} s.",
                "See whether it still runs, and whether its machine reaches the database. After"
                " 30 s, others take over what it held.",
                is_failure=True,
            )
        if figures.redis is False:
            yield Trouble(
                f"Redis does not answer the {name}.",
                "Check REDIS_URL, and that Redis runs. Until then each process counts rate limits"
                " alone, and what was queued is found by looking every 250 ms.",
            )
        free = figures.disk_free_octets
        if free is not None and free < DISK_OCTETS_MIN:
            yield Trouble(
                f"{free / (1 << 30):.1f} GiB are free for the data directory of the {name}.",
                "Make room: with a full disk nothing is accepted.",
                is_failure=True,
            )
    yield from _around(processes)


def _around(processes: list[RegisteredProcess]) -> Iterator[Trouble]:
    """Tells what is wrong around processes, once: most have the same around them."""
    all_figures = [process.figures for process in processes if process.figures is not None]
    hosts = {figures.host for figures in all_figures}
    found: dict[CheckResult, set[str]] = {}
    for figures in all_figures:
        for each in figures.found:
            found.setdefault(each, set()).add(figures.host)
    for each, where in found.items():
        of = "" if where == hosts else f" (on {', '.join(sorted(where))})"
        yield from _troubles([each._replace(found=f"{each.found}{of}")])


def _of_database(database: DatabaseNow) -> Iterator[Trouble]:
    connections, most = database.connections, database.connections_max
    if connections is not None and most is not None and connections >= most * CONNECTIONS_PART:
        yield Trouble(
            f"{connections} of the {most} connections that the database allows are open.",
            "Raise max_connections, run fewer processes, or put a pooler in front: without a free"
            " one, nothing is accepted.",
            is_failure=True,
        )


def _of_carriers(tx: Connection, at: ServiceFigures, now_ms: int) -> Iterator[Trouble]:
    partly_bound = carrier_states.partly_bound(tx)
    causes = queue_causes(tx, at, now_ms)
    queues: dict[int, list[QueueTold]] = {}
    for told in queues_told(tx, at, causes):
        queues.setdefault(told.carrier.id, []).append(told)
    for now in at.carriers:
        carrier = now.carrier
        if carrier.paused:
            yield Trouble(
                f"Carrier {carrier.name} is paused: nothing is handed over to it.",
                f"Run heliograph carrier resume {carrier.name}, or resume it on its page, when it"
                f" may send again. {causes.fate(carrier)}",
                kind=TroubleKind.CARRIER,
                carrier=carrier,
            )
        if carrier.id in partly_bound:
            bound_to = carrier_checks.binds([carrier], partly_bound, lambda _: None)
            for trouble in _troubles(bound_to, kind=TroubleKind.CARRIER):
                yield trouble._replace(carrier=carrier)
        elif carrier.state != LinkState.BOUND.value and carrier.id != SIMULATOR_ID:
            yield _down(carrier, now_ms)
        yield from map(_queue, queues.get(carrier.id, ()))
        yield from _unmatched(now)


def _down(carrier: Carrier, now_ms: int) -> Trouble:
    lasts = "has no bound session"  # where nobody has noted since when
    if carrier.down_since_ms is not None:
        down_ms = max(0, now_ms - carrier.down_since_ms)
        span = f"{down_ms // 1_000} s" if down_ms < 120_000 else f"{down_ms // 60_000} min"
        lasts = f"has had no bound session for {span}"
    detail = f" ({carrier.state_detail})" if carrier.state_detail else ""
    return Trouble(
        f"Carrier {carrier.name} {lasts}: {_STATES[carrier.state]}{detail}.",
        asked(carrier_checks.remedy(carrier)),
        is_failure=True,
        kind=TroubleKind.CARRIER,
        carrier=carrier,
    )


def _queue(told: QueueTold) -> Trouble:
    return Trouble(f"{told.found}.", told.remedy, kind=TroubleKind.QUEUE, carrier=told.carrier)


def _unmatched(now: CarrierNow) -> Iterator[Trouble]:
    name = now.carrier.name
    if now.levels["unmatched"] >= UNMATCHED_MIN:
        yield Trouble(
            f"{grouped(now.levels['unmatched'])} receipts of carrier {name} match no message.",
            f"See how it prints ids: heliograph carrier show {name}; then heliograph receipt list"
            " --unmatched.",
            kind=TroubleKind.RECEIPTS,
            carrier=now.carrier,
        )


def _of_checks(
    tx: Connection, carriers: list[CarrierNow], processes: list[RegisteredProcess], now_ms: int
) -> Iterator[Trouble]:
    by_id = {now.carrier.id: now.carrier for now in carriers}
    kinds = Counter(process.kind for process in processes)
    yield from _troubles(work_checks.doubts(tx, now_ms), kind=TroubleKind.DOUBTS)
    yield from _troubles(work_checks.webhook_deliveries(tx, kinds))
    endpoints = work_checks.troubled_endpoints(tx, now_ms)
    owners = accounts.by_ids(tx, {endpoint.account_id for endpoint in endpoints})
    for endpoint in endpoints:
        found = [work_checks.webhook_endpoint(endpoint)]
        for trouble in _troubles(found, kind=TroubleKind.WEBHOOKS):
            owner = owners[endpoint.account_id]
            yield trouble._replace(endpoint=TroubledEndpoint(endpoint, owner))
    otps = work_checks.one_time_passwords(tx, now_ms)
    yield from _troubles(otps, kind=TroubleKind.ONE_TIME_PASSWORDS)
    routes = routing.all_routes(tx)
    # most of what may be hundreds are as they should be, and are told to nobody
    told = [route for route in routes if not carrier_checks.takes_texts(by_id, route)]
    if told or not routes:
        yield from _troubles(carrier_checks.routes(by_id, told), kind=TroubleKind.ROUTES)


def _of_samples(tx: Connection, now: ServiceFigures, now_ms: int) -> Iterator[Trouble]:
    sampled_at_ms = now.sampled_at_ms
    if sampled_at_ms is not None and now_ms - sampled_at_ms > SAMPLES_LATE_MS:
        yield Trouble(
            f"The figures below are {(now_ms - sampled_at_ms) // 1_000} s old.",
            "See whether heliograph serve, a worker or a scheduler runs: one of them takes samples"
            " every ten seconds.",
        )
    waiting = now.levels["webhooks_waiting"]
    if waiting >= WEBHOOKS_MIN:
        endpoint = backlogs.most_waited_for(tx)
        most, troubled = "", None
        if endpoint is not None:
            most = f", most of them for {endpoint.address}"
            troubled = TroubledEndpoint(endpoint, accounts.by_id(tx, endpoint.account_id))
        yield Trouble(
            f"{grouped(waiting)} events or more wait for webhook endpoints{most}.",
            "See which endpoints are slow or fail: heliograph doctor, then heliograph webhook"
            " attempts ID.",
            kind=TroubleKind.WEBHOOKS,
            endpoint=troubled,
        )


def _troubles(
    results: Iterable[CheckResult], *, is_failure: bool = False, kind: TroubleKind | None = None
) -> Iterator[Trouble]:
    """Yields what is not as it should be, in the words of `heliograph doctor`."""
    for result in results:
        if result.verdict != "ok":
            yield Trouble(
                f"{capital(result.check)}: {result.found}.",
                asked(result.remedy or ""),
                is_failure=is_failure or result.verdict == "failure",
                kind=kind,
            )
