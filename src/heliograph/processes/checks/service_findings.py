"""Tells of the service for `heliograph doctor`: each process, the database, and queues."""

from collections.abc import Iterator

import sqlalchemy as sa

from heliograph.base.short_texts import duration_in_words
from heliograph.carriers import Carrier
from heliograph.monitoring import (
    SAMPLES_LATE_MS,
    CheckResult,
    RegisteredProcess,
    database_state,
    queue_causes,
    queues_told,
    registered_processes,
    service_figures,
)


def database(tx: sa.Connection) -> Iterator[CheckResult]:
    """Tells how large the database is and, of PostgreSQL, how many connections are open."""
    now = database_state(tx)
    yield CheckResult("database size", "ok", f"{_octets(now.octets)}, {now.kind}")
    if now.connections is not None:
        yield CheckResult(
            "connections",
            "ok",
            f"{now.connections} of {now.connections_max} are open, {now.waiting} wait for a lock",
        )


def each_process(tx: sa.Connection, carriers: list[Carrier], now_ms: int) -> Iterator[CheckResult]:
    """Tells of each process that is registered what it is, and what it tells of itself."""
    names = {carrier.id: carrier.name for carrier in carriers}
    for process in registered_processes(tx):
        kind = process.kind
        if process.carrier_id is not None:
            kind = f"{kind} {names.get(process.carrier_id, 'that was removed')}"
        late_ms = process.late_ms(now_ms)
        if late_ms is None:
            yield CheckResult(f"process {process.number}", "ok", f"{kind}{_told(process)}")
        else:
            yield CheckResult(
                f"process {process.number}",
                "warning",
                f"{kind}{_told(process)}; it has not shown itself for {duration_in_words(late_ms)}",
                "see whether it still runs, and whether its machine reaches the database",
            )


def queues(tx: sa.Connection, now_ms: int) -> Iterator[CheckResult]:
    """Tells of queues that are stuck or grow, as far as they were measured just now."""
    at = service_figures(tx, now_ms)
    if at.sampled_at_ms is None or now_ms - at.sampled_at_ms > SAMPLES_LATE_MS:
        return
    for told in queues_told(tx, at, queue_causes(tx, at, now_ms)):
        remedy = told.remedy[:1].lower() + told.remedy[1:].removesuffix(".")  # as all others
        yield CheckResult(f"queue of {told.carrier.name}", "warning", told.found, remedy)


def _told(process: RegisteredProcess) -> str:
    figures = process.figures
    if figures is None:
        return ": it tells nothing of itself yet"
    told = [f"version {figures.version}"]
    if figures.memory_octets is not None:
        told.append(f"{_octets(figures.memory_octets)} of memory")
    if figures.disk_free_octets is not None:
        told.append(f"{_octets(figures.disk_free_octets)} free on its disk")
    if figures.redis is not None:
        told.append("Redis answers" if figures.redis else "Redis does not answer")
    return f" on {figures.host}, process {figures.process_id}: {', '.join(told)}"


def _octets(octets: int) -> str:
    if octets < 1 << 30:
        return f"{octets / (1 << 20):.1f} MiB"
    return f"{octets / (1 << 30):.1f} GiB"
