"""Reads how each carrier and each process does now, as the last samples and beats tell it."""

from collections.abc import Mapping
from typing import Final, NamedTuple

import sqlalchemy as sa
from sqlalchemy.engine import Connection

from heliograph.base.clock import HOUR_MS, MINUTE_MS
from heliograph.carriers import Carrier, carrier_states
from heliograph.monitoring.process_list import RegisteredProcess, registered_processes
from heliograph.monitoring.tables import (
    COUNTS,
    EVERY_CARRIER,
    LEVELS,
    TEN_SECONDS_MS,
    service_samples,
)


class CarrierNow(NamedTuple):
    """Tells how a carrier does: its figures of the last sample, and those of the last hour."""

    carrier: Carrier
    levels: Mapping[str, int]
    rates: Mapping[str, float]
    hour: Mapping[str, int]


class ServiceFigures(NamedTuple):
    """Tells how carriers and processes do. `levels` and `rates` are the whole service's.
    `sampled_at_ms` is None if no sample was taken yet.
    """

    carriers: list[CarrierNow]
    processes: list[RegisteredProcess]
    levels: Mapping[str, int]
    rates: Mapping[str, float]
    sampled_at_ms: int | None


class CarrierSample(NamedTuple):
    """Holds a sample of ten seconds: what waited at its end, and what was done in a second."""

    levels: dict[str, int]
    rates: dict[str, float]


_NO_SAMPLE: Final = CarrierSample(dict.fromkeys(LEVELS, 0), dict.fromkeys(COUNTS, 0.0))


def service_figures(tx: Connection, now_ms: int) -> ServiceFigures:
    """Returns how carriers and processes do at a moment."""
    sampled_at_ms = tx.execute(
        sa.select(sa.func.max(service_samples.c.at_ms)).where(
            service_samples.c.step_ms == TEN_SECONDS_MS
        )
    ).scalar()
    last = samples_at(tx, sampled_at_ms)
    hour = _hour(tx, now_ms)
    carriers = [
        CarrierNow(
            carrier,
            last.get(carrier.id, _NO_SAMPLE).levels,
            last.get(carrier.id, _NO_SAMPLE).rates,
            hour.get(carrier.id, dict.fromkeys(COUNTS, 0)),
        )
        for carrier in carrier_states.served_carriers(tx)
    ]
    service = last.get(EVERY_CARRIER, _NO_SAMPLE)
    return ServiceFigures(
        carriers,
        registered_processes(tx),
        levels=service.levels,
        rates=service.rates,
        sampled_at_ms=sampled_at_ms,
    )


def samples_at(tx: Connection, at_ms: int | None) -> dict[int, CarrierSample]:
    """Returns the samples of all carriers that begin at a moment, by the carrier's id."""
    if at_ms is None:
        return {}
    columns = service_samples.c
    query = sa.select(service_samples).where(
        columns.step_ms == TEN_SECONDS_MS, columns.at_ms == at_ms
    )
    return {
        row.carrier_id: CarrierSample(
            {name: int(row._mapping[name]) for name in LEVELS},
            {name: row._mapping[name] * 1_000 / row.covered_ms for name in COUNTS},
        )
        for row in tx.execute(query)
    }


def _hour(tx: Connection, now_ms: int) -> dict[int, dict[str, int]]:
    """Returns what was counted of each carrier in the last hour, to the minute."""
    columns = service_samples.c
    query = (
        sa.select(columns.carrier_id, *(sa.func.sum(columns[name]).label(name) for name in COUNTS))
        .where(columns.step_ms == MINUTE_MS, columns.at_ms >= now_ms - HOUR_MS)
        .group_by(columns.carrier_id)
    )
    return {
        row.carrier_id: {name: int(row._mapping[name]) for name in COUNTS}
        for row in tx.execute(query)
    }
