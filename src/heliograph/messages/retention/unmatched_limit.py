"""Receipts that found no message are kept for 72 h, and of each carrier only so many: one that
floods us with them fills no disk.

What came is stored first and acknowledged, like every receipt. What is too much is dropped
afterwards, the oldest first, for what came last is the likeliest to find the answer that it belongs
to. So a carrier has its bound and what comes within one look; the looks are a few seconds apart.
"""

from typing import Final, NamedTuple

from heliograph.database.database import Database
from heliograph.database.hot import HotTx
from heliograph.database.statements import (
    AffectedRow,
    BigInt,
    Int,
    Row,
    SmallInt,
    Statement,
    portable,
)

AT_ONCE: Final = 5_000  # dropped in one transaction: about 50 ms
BATCHES_MAX: Final = 100  # in one look: others have things to look after, too


class _SomeOfCarrier(Row, frozen=True):
    carrier_id: SmallInt
    most: Int


class _RowCount(Row, frozen=True):
    count: BigInt


# Of both tables, by indexes that hold nothing else. A count stops behind what is allowed and what
# one look can drop.
_COUNT_REFS: Final = portable(
    _SomeOfCarrier,
    _RowCount,
    """
    SELECT count(*) AS count FROM (SELECT 1 FROM carrier_refs WHERE carrier_id = :carrier_id
        AND message_id IS NULL LIMIT :most) counted""",
)
_COUNT_ROWS: Final = portable(
    _SomeOfCarrier,
    _RowCount,
    """
        SELECT count(*) AS count FROM (SELECT 1 FROM unmatched_receipts
            WHERE carrier_id = :carrier_id LIMIT :most) counted""",
)
# What an answer is just taking up is locked, and stays.
_DROP_REFS: Final = Statement(
    _SomeOfCarrier,
    AffectedRow,
    postgresql="""
        DELETE FROM carrier_refs WHERE ctid = ANY(ARRAY(
            SELECT ctid FROM carrier_refs WHERE carrier_id = :carrier_id AND message_id IS NULL
            ORDER BY created_at_ms LIMIT :most FOR UPDATE SKIP LOCKED))
        RETURNING 1 AS one""",
    sqlite="""
        DELETE FROM carrier_refs WHERE rowid IN (
            SELECT rowid FROM carrier_refs WHERE carrier_id = :carrier_id AND message_id IS NULL
                ORDER BY created_at_ms LIMIT :most)
        RETURNING 1 AS one""",
)
_DROP_ROWS: Final = Statement(
    _SomeOfCarrier,
    AffectedRow,
    postgresql="""
        DELETE FROM unmatched_receipts WHERE ctid = ANY(ARRAY(
            SELECT ctid FROM unmatched_receipts WHERE carrier_id = :carrier_id
                ORDER BY received_at_ms LIMIT :most FOR UPDATE SKIP LOCKED))
        RETURNING 1 AS one""",
    sqlite="""
        DELETE FROM unmatched_receipts WHERE rowid IN (
            SELECT rowid FROM unmatched_receipts WHERE carrier_id = :carrier_id
                ORDER BY received_at_ms LIMIT :most)
        RETURNING 1 AS one""",
)


class UnmatchedCounts(NamedTuple):
    """Counts the receipts of a carrier that matched no message: those with an id of their own, and
    those in rows of `unmatched_receipts`.
    """

    refs: int
    rows: int

    @property
    def total(self) -> int:
        return self.refs + self.rows


class DropResult(NamedTuple):
    """Counts how many of a carrier's unmatched receipts were deleted, and how many are kept."""

    dropped: int
    kept: int


async def drop_too_many(db: Database, carrier_id: int, kept_max: int) -> DropResult:
    """Drops the oldest receipts of a carrier that found no message, until it has at most
    `kept_max` of them.
    """
    dropped = kept = 0
    for _ in range(BATCHES_MAX):
        async with db.hot() as tx:
            unmatched = await count_unmatched(tx, carrier_id, kept_max + AT_ONCE)
            some = (
                await _drop(tx, carrier_id, unmatched, min(unmatched.total - kept_max, AT_ONCE))
                if unmatched.total > kept_max
                else 0
            )
        dropped += some
        kept = unmatched.total - some
        if some == 0:
            break
    return DropResult(dropped, kept)


async def count_unmatched(tx: HotTx, carrier_id: int, most: int) -> UnmatchedCounts:
    """Counts what a carrier has reported of no message: `most` of each kind at most."""
    asked = _SomeOfCarrier(carrier_id, most)
    [refs], [rows] = await _COUNT_REFS.rows(tx, asked), await _COUNT_ROWS.rows(tx, asked)
    return UnmatchedCounts(refs.count, rows.count)


async def _drop(tx: HotTx, carrier_id: int, unmatched: UnmatchedCounts, count: int) -> int:
    """Drops `count` of what a carrier has reported of no message, of each kind by its share."""
    of_rows = min(unmatched.rows, -(-count * unmatched.rows // unmatched.total))
    dropped = 0
    for drop, share in ((_DROP_REFS, count - of_rows), (_DROP_ROWS, of_rows)):
        if share > 0:
            dropped += len(await drop.rows(tx, _SomeOfCarrier(carrier_id, share)))
    return dropped
