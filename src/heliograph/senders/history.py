"""A sender ID has a history: each state that it came into, when, by whom and why."""

from collections.abc import Collection
from typing import Any, Final, NamedTuple

import sqlalchemy as sa
from sqlalchemy.engine import Connection

from heliograph.base import ids
from heliograph.base.clock import rfc3339
from heliograph.database.reads import records_of
from heliograph.senders.states import SUBMITTED
from heliograph.senders.tables import sender_history, senders

SHOWN_MAX: Final = 100


class Step(NamedTuple):
    """Holds one step of a sender's history. If `by` is None, the account itself took it."""

    status: str
    reason: str | None
    by: str | None
    at_ms: int


def note(tx: Connection, sender_id: str, step: Step) -> None:
    """Adds a step to a sender's history."""
    tx.execute(
        sender_history.insert().values(
            id=ids.raw_of_number(ids.new_number(step.at_ms)), sender_id=sender_id, **step._asdict()
        )
    )


def history(tx: Connection, sender_id: str) -> list[Step]:
    """Returns the latest steps of a sender, newest first."""
    columns = [sender_history.c[name] for name in Step._fields]
    return records_of(
        Step,
        tx.execute(
            sa.select(*columns)
            .where(sender_history.c.sender_id == sender_id)
            .order_by(sender_history.c.id.desc())
            .limit(SHOWN_MAX)
        ),
    )


def counted_by_past_status(
    tx: Connection, account_ids: Collection[str]
) -> dict[str, dict[str, int]]:
    """Returns how many live senders of each of these accounts (raw ids) have ever been in each
    status: one that was approved and then suspended counts in both.
    """
    of_them = sa.and_(senders.c.account_id.in_(account_ids), senders.c.sandbox.is_(False))
    now = sa.select(senders.c.account_id, senders.c.id, senders.c.status).where(of_them)
    steps = sender_history.join(senders, senders.c.id == sender_history.c.sender_id)
    then = sa.select(senders.c.account_id, senders.c.id, sender_history.c.status)
    been = sa.union(now, then.select_from(steps).where(of_them)).subquery()
    key = (been.c.account_id, been.c.status)
    found: dict[str, dict[str, int]] = {}
    for row in tx.execute(sa.select(*key, sa.func.count().label("number")).group_by(*key)):
        found.setdefault(row.account_id, {})[row.status] = row.number
    return found


def last_decision_ms(tx: Connection, sender_id: str) -> int | None:
    """Returns when the operator last decided on a sender, or None if nobody has decided yet."""
    columns = sender_history.c
    query = sa.select(sa.func.max(columns.at_ms)).where(
        columns.sender_id == sender_id, columns.status != SUBMITTED
    )
    at_ms = tx.execute(query).scalar_one()
    return None if at_ms is None else int(at_ms)


def submitted_at_ms(tx: Connection, sender_ids: Collection[str]) -> dict[str, int]:
    """Returns when each of these senders (raw ids) was last submitted: one that was rejected and
    registered again waits since then.
    """
    columns = sender_history.c
    query = (
        sa.select(columns.sender_id, sa.func.max(columns.at_ms).label("at_ms"))
        .where(columns.sender_id.in_(sender_ids), columns.status == SUBMITTED)
        .group_by(columns.sender_id)
    )
    return {row.sender_id: int(row.at_ms) for row in tx.execute(query)}


def as_step_record(step: Step) -> dict[str, Any]:
    """Returns a step as the operator sees it."""
    return {
        "status": step.status,
        "at": rfc3339(step.at_ms),
        "by": step.by or "the account",
        "reason": step.reason,
    }
