"""Lists what waits for an operator, oldest first: messages in doubt, and receipts that found no
message. Each list belongs to one carrier, which the operator asks about its entries.
"""

from collections.abc import Iterable
from typing import Any, Final, NamedTuple

import sqlalchemy as sa
from sqlalchemy.engine import Connection

from heliograph.database.reads import records_of
from heliograph.messages.doubt.trace import TracedMessage, traced_by_ids
from heliograph.messages.doubt.unmatched import ReceiptToMatch, select_receipts
from heliograph.messages.states import IN_DOUBT
from heliograph.messages.tables import carrier_refs, inflight, unmatched_receipts

_SAME_MS_MAX: Final = 2_000  # receipts of one turn, all of which have its time
# A page says "200+", and reads no more rows of a carrier than that: with 1,000, 50 carriers take
# 100 ms.
COUNTED_MAX: Final = 200
DOUBTS_READ_MAX: Final = 100_000  # of all carriers; it takes 80 ms


class WaitingForOperator(NamedTuple):
    """Counts what waits of one carrier. Each figure is COUNTED_MAX at most."""

    carrier_id: int
    in_doubt: int
    unmatched: int


class ReceiptCursor(NamedTuple):
    """Says where a page of receipts begins: behind the receipt that came then and has this id."""

    at_ms: int
    ref_or_row_id: str


def count_waiting(tx: Connection, carrier_ids: Iterable[int]) -> list[WaitingForOperator]:
    """Returns how much waits of each of these carriers, and of others that have messages in
    doubt.
    """
    doubts = sa.select(inflight.c.carrier_id, inflight.c.message_id).where(
        inflight.c.state == IN_DOUBT
    )
    found = doubts.distinct().limit(DOUBTS_READ_MAX).subquery()
    query = sa.select(found.c.carrier_id, sa.func.count().label("messages"))
    in_doubt = {
        row.carrier_id: row.messages for row in tx.execute(query.group_by(found.c.carrier_id))
    }
    known = sorted({*carrier_ids, *in_doubt})
    receipts = _receipts_waiting(tx, known)
    return [
        WaitingForOperator(
            carrier_id,
            min(in_doubt.get(carrier_id, 0), COUNTED_MAX),
            min(receipts.get(carrier_id, 0), COUNTED_MAX),
        )
        for carrier_id in known
    ]


def _receipts_waiting(tx: Connection, carrier_ids: list[int]) -> dict[int, int]:
    if not carrier_ids:
        return {}
    numbers = sa.values(sa.column("id", sa.SmallInteger), name="numbers")
    asked = numbers.data([(carrier_id,) for carrier_id in carrier_ids]).cte("asked")
    refs, rows = carrier_refs.c, unmatched_receipts.c
    unmatched = _count(asked, refs.carrier_id == asked.c.id, refs.message_id.is_(None))
    unread = _count(asked, rows.carrier_id == asked.c.id)
    query = sa.select(asked.c.id.label("carrier_id"), (unmatched + unread).label("receipts"))
    return {row.carrier_id: row.receipts for row in tx.execute(query)}


def _count(asked: sa.FromClause, *conditions: sa.ColumnElement[bool]) -> Any:
    """Returns how many rows belong to a row of `asked`, COUNTED_MAX at most."""
    found = sa.select(sa.literal(1).label("one")).where(*conditions).correlate(asked)
    counted = sa.select(sa.func.count()).select_from(found.limit(COUNTED_MAX).subquery())
    return counted.scalar_subquery()


def oldest_in_doubt(
    tx: Connection, carrier_id: int, after: str | None, limit: int
) -> list[TracedMessage]:
    """Returns messages of which something is in doubt with this carrier, in the order in which they
    were accepted: those behind `after` (raw id).
    """
    query = sa.select(inflight.c.message_id).where(
        inflight.c.state == IN_DOUBT, inflight.c.carrier_id == carrier_id
    )
    if after is not None:
        query = query.where(inflight.c.message_id > after)
    query = query.distinct().order_by(inflight.c.message_id).limit(limit)
    found = traced_by_ids(tx, list(tx.execute(query).scalars()))
    return sorted(found, key=lambda traced: traced.message.id)


def oldest_unmatched(
    tx: Connection, carrier_id: int, after: ReceiptCursor | None, limit: int
) -> list[ReceiptToMatch]:
    """Returns receipts of a carrier that found no message, in the order in which they came: those
    behind `after`.
    """
    refs, rows = carrier_refs.c, unmatched_receipts.c
    found = []
    for has_row, at_ms, conditions in (
        (False, refs.created_at_ms, [refs.message_id.is_(None)]),
        (True, rows.received_at_ms, []),
    ):
        query = select_receipts(has_row).where(*conditions)
        query = query.where((rows if has_row else refs).carrier_id == carrier_id)
        if after is not None:
            # of those that came in one millisecond, some were shown before
            query = query.where(at_ms >= after.at_ms)
        query = query.order_by(at_ms).limit(limit + _SAME_MS_MAX)
        found += records_of(ReceiptToMatch, tx.execute(query))
    ordered = sorted(found, key=cursor_at)
    return [receipt for receipt in ordered if after is None or cursor_at(receipt) > after][:limit]


def cursor_at(receipt: ReceiptToMatch) -> ReceiptCursor:
    """Returns where the page begins that follows this receipt."""
    return ReceiptCursor(receipt.at_ms, receipt.ref_or_row_id)
