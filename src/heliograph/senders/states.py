"""A sender ID's life: submitted, then decided by the operator, who may change his mind."""

from typing import Any, Final

import sqlalchemy as sa
from sqlalchemy.engine import Connection

from heliograph.database import config
from heliograph.senders.history import Step, note
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


def move(
    tx: Connection,
    sender_id: str,
    to: str,
    *,
    by: str | None,
    now_ms: int,
    reason: str | None = None,
    **values: Any,
) -> Sender | None:
    """Brings a sender into the state `to`, with further columns, and notes it in its history; None
    when it is in none of the states that lead there.

    `by`: who decided, None for the account itself.
    """
    config.bump(tx)
    row = tx.execute(
        sa.update(senders)
        .where(senders.c.id == sender_id, senders.c.status.in_(REACHED_FROM[to]))
        .values(status=to, rejection_reason=reason, **values)
        .returning(*COLUMNS)
    ).one_or_none()
    if row is None:
        return None
    note(tx, sender_id, Step(to, reason, by, now_ms))
    return Sender(*row)
