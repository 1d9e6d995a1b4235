"""Registers processes that tell of themselves, as they do with their beats."""

import msgspec
import sqlalchemy as sa

from heliograph.base import clock
from heliograph.carriers import LinkState, carrier_states
from heliograph.database.database import Database
from heliograph.database.leases import workers
from heliograph.monitoring.process_figures import CarrierCounts, ProcessFigures


def told(**given: object) -> str:
    """Returns what a process tells that is well, but for what is given."""
    usual = {
        "at_ms": clock.now_ms(),
        "version": "1.0",
        "host": "pump",
        "process_id": 4711,
        "memory_octets": 80 << 20,
        "disk_free_octets": 50 << 30,
    }
    return msgspec.json.encode(ProcessFigures(**usual | given)).decode()  # type: ignore[arg-type]


def tell(
    db: Database,
    epoch: int,
    *,
    kind: str = "worker",
    figures: str | None = None,
    **carriers: CarrierCounts,
) -> None:
    """Lets a process tell of itself and its carriers. It is registered if it was not yet."""
    stored = figures if figures is not None else told(carriers=carriers)
    with db.write() as tx:
        there = tx.execute(
            sa.update(workers).where(workers.c.epoch == epoch).values(figures=stored)
        )
        if not there.rowcount:  # as a beat does, which keeps the process's links
            tx.execute(
                workers.insert().values(
                    epoch=epoch, kind=kind, started_at_ms=clock.now_ms(), figures=stored
                )
            )


def bound(db: Database, carrier_id: int, state: LinkState = LinkState.BOUND, why: str = "") -> None:
    """Lets the process 7 tell how its link to a carrier is."""
    with db.write() as tx:
        carrier_states.record(tx, 7, carrier_id, state, why, clock.now_ms())
