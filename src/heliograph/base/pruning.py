"""Rows that have served their time are deleted, oldest first, a few at a time: nobody who sends waits for it."""

from typing import Final, NamedTuple

from heliograph.base.hot import HotTx
from heliograph.base.paging import first_id_of

ROWS_AT_ONCE: Final = 1_000  # in one transaction: about 10 ms, in which others wait for SQLite's one writer

# By the index of the age, and by the rows' own places: no other row is looked at. Rows that somebody has locked are left for the next time.
_PRUNE: Final = """
    DELETE FROM {table} WHERE ctid = ANY(ARRAY(
        SELECT ctid FROM {table} WHERE {age} <= $1 ORDER BY {age} LIMIT $2 FOR UPDATE SKIP LOCKED)) RETURNING 1"""
_PRUNE_SQLITE: Final = """
    DELETE FROM {table} WHERE rowid IN (SELECT rowid FROM {table} WHERE {age} <= $1 ORDER BY {age} LIMIT $2) RETURNING 1"""


class Kept(NamedTuple):
    """A table whose rows are kept for so long. `age`: the indexed column that tells it, a time in milliseconds or an id."""

    table: str
    age: str
    ms: int
    is_counts: bool = False  # it tells of no single message: it is kept for as long as it is needed, however soon texts go


def statement(kept: Kept, *, postgresql: bool) -> str:
    """Deletes what is as old as its first value or older, at most so many rows as its second."""
    return (_PRUNE if postgresql else _PRUNE_SQLITE).format(table=kept.table, age=kept.age)


async def prune(tx: HotTx, kept: Kept, now_ms: int) -> int:
    """Deletes the oldest rows that are past their time, at most `ROWS_AT_ONCE`; how many."""
    until_ms = now_ms - kept.ms
    return len(await tx.fetch(statement(kept, postgresql=tx.postgresql), first_id_of(until_ms) if kept.age == "id" else until_ms, ROWS_AT_ONCE))
