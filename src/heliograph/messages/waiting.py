"""How many messages wait for a carrier: what draining it waits for, and what keeps it from being removed."""

import sqlalchemy as sa
from sqlalchemy.engine import Connection

from heliograph.messages.tables import inflight, queue


def waiting_for_carrier(tx: Connection, carrier_id: int) -> int:
    """Messages in its queue, and those handed to it and not answered."""
    queued = sa.select(sa.func.coalesce(sa.func.sum(queue.c["count"]), 0)).where(queue.c.carrier_id == carrier_id).scalar_subquery()
    in_flight = sa.select(sa.func.count(sa.distinct(inflight.c.message_id))).where(inflight.c.carrier_id == carrier_id).scalar_subquery()
    return int(tx.execute(sa.select(queued + in_flight)).scalar_one())
