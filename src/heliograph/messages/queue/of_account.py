"""Finds what is queued of an account, of both modes."""

import sqlalchemy as sa
from sqlalchemy.engine import Connection

from heliograph.base import ids
from heliograph.messages.tables import queue, sends


def count_queued(tx: Connection, account_id: str) -> int:
    """Returns how many messages of an account (raw id) are queued."""
    counted = sa.func.coalesce(sa.func.sum(queue.c["count"]), 0)
    found = sa.select(counted).join_from(queue, sends, sends.c.id == queue.c.send_id)
    return int(tx.execute(found.where(sends.c.account_id == account_id)).scalar_one())


def queued_messages(tx: Connection, account_id: str, *, limit: int) -> list[str]:
    """Returns the raw ids of messages of an account (raw id) that are queued, oldest first."""
    found = sa.select(queue.c.first_id, queue.c["count"].label("messages")).join_from(
        queue, sends, sends.c.id == queue.c.send_id
    )
    found = found.where(sends.c.account_id == account_id).order_by(queue.c.first_id).limit(limit)
    queued: list[str] = []
    for run in tx.execute(found):
        first = int(run.first_id, 16)
        some = min(run.messages, limit - len(queued))
        queued += map(ids.raw_of_number, range(first, first + some))
    return queued
