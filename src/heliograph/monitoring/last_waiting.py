"""Tells how much waits for each carrier: the last sample says it, and counting takes seconds."""

import sqlalchemy as sa
from sqlalchemy.engine import Connection

from heliograph.monitoring.tables import EVERY_CARRIER, TEN_SECONDS_MS, service_samples


def last_waiting(tx: Connection) -> dict[int, int]:
    """Returns how many messages waited for each carrier when the last sample was taken, by the
    carrier's id. A carrier without a sample is left out.
    """
    columns = service_samples.c
    last = (
        sa.select(sa.func.max(columns.at_ms))
        .where(columns.step_ms == TEN_SECONDS_MS)
        .scalar_subquery()
    )
    query = sa.select(
        columns.carrier_id, (columns.waiting_ahead + columns.waiting_bulk).label("waiting")
    ).where(
        columns.step_ms == TEN_SECONDS_MS,
        columns.at_ms == last,
        columns.carrier_id != EVERY_CARRIER,
    )
    return {row.carrier_id: row.waiting for row in tx.execute(query)}
