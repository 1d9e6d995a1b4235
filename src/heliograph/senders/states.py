"""A sender ID's life: submitted, then decided by the operator, who may change his mind."""

from typing import Any, Final

import sqlalchemy as sa
from sqlalchemy.engine import Connection

from heliograph.base import config
from heliograph.senders.sender import COLUMNS, Sender
from heliograph.senders.tables import senders

STATUSES: Final = ("submitted", "approved", "rejected", "suspended")

# state → the states it may be reached from
REACHED_FROM: Final[dict[str, tuple[str, ...]]] = {
    "submitted": ("rejected",),  # registered again by the account
    "approved": ("submitted", "rejected", "suspended"),
    "rejected": ("submitted",),
    "suspended": ("approved",),
}


def move(tx: Connection, sender_id: str, to: str, **values: Any) -> Sender | None:
    """Brings a sender into the state `to`, with further columns; None when it is in none of the states that lead there."""
    config.bump(tx)
    row = tx.execute(sa.update(senders).where(senders.c.id == sender_id, senders.c.status.in_(REACHED_FROM[to]))
                     .values(status=to, **values).returning(*COLUMNS)).one_or_none()
    return None if row is None else Sender(*row)
