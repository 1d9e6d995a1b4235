"""Rows that have served their time are deleted, oldest first, a few at a time: nobody who
sends waits for it. Other long work goes in the same batches.
"""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from functools import cache
from typing import Final, NamedTuple

from heliograph.base import clock
from heliograph.base.paging import first_id_of
from heliograph.database.database import Database
from heliograph.database.hot import HotTx
from heliograph.database.statements import AffectedRow, BigInt, GivenT, Id, Int, Row, Statement

# in one transaction: about 10 ms, in which others wait for SQLite's one writer
ROWS_AT_ONCE: Final = 1_000
# after each transaction: at most a tenth of a writer's time, and still 10,000 rows a second
PAUSE_S: Final = 0.1
# times as long as a batch took, if that is more: a tenth, however slow the machine
PAUSES: Final = 9

# By the index of the age, and by the rows' own places: no other row is looked at. Rows that
# somebody has locked are left for the next time.
_PRUNE: Final = """
    DELETE FROM {table} WHERE ctid = ANY(ARRAY(
        SELECT ctid FROM {table} WHERE {age} <= :until ORDER BY {age} LIMIT :most
            FOR UPDATE SKIP LOCKED)) RETURNING 1 AS one"""
_PRUNE_SQLITE: Final = """
    DELETE FROM {table} WHERE rowid IN (SELECT rowid FROM {table} WHERE {age} <= :until
        ORDER BY {age} LIMIT :most)
    RETURNING 1 AS one"""


class PruningRule(NamedTuple):
    """Names a table whose rows are kept for so long. `age` is the indexed column that tells it, a
    time in milliseconds or an id.
    """

    table: str
    age: str
    ms: int
    # it tells of no single message: it is kept for as long as it is needed, however soon texts go
    is_counts: bool = False


class _IdsUpTo(Row, frozen=True):
    until: Id
    most: Int


class _TimesUpTo(Row, frozen=True):
    until: BigInt
    most: Int


@cache  # there are as many as tables
def prune_statement_by_id(rule: PruningRule) -> Statement[_IdsUpTo, AffectedRow]:
    """Returns what deletes the oldest rows of a table whose age is an id."""
    return _prune_statement(_IdsUpTo, rule)


@cache
def prune_statement_by_time(rule: PruningRule) -> Statement[_TimesUpTo, AffectedRow]:
    """Returns what deletes the oldest rows of a table whose age is a time."""
    return _prune_statement(_TimesUpTo, rule)


def _prune_statement(given: type[GivenT], rule: PruningRule) -> Statement[GivenT, AffectedRow]:
    postgresql, sqlite = (
        text.format(table=rule.table, age=rule.age) for text in (_PRUNE, _PRUNE_SQLITE)
    )
    return Statement(given, AffectedRow, postgresql=postgresql, sqlite=sqlite)


async def prune_ids(tx: HotTx, rule: PruningRule, until: str) -> int:
    """Deletes the oldest rows up to the id `until` (raw), at most `ROWS_AT_ONCE`, and returns how
    many.
    """
    return len(await prune_statement_by_id(rule).rows(tx, _IdsUpTo(until, ROWS_AT_ONCE)))


async def prune(tx: HotTx, rule: PruningRule, now_ms: int) -> int:
    """Deletes the oldest rows that are past their time, at most `ROWS_AT_ONCE`, and returns how
    many.
    """
    until_ms = now_ms - rule.ms
    if rule.age == "id":
        return await prune_ids(tx, rule, first_id_of(until_ms))
    return len(await prune_statement_by_time(rule).rows(tx, _TimesUpTo(until_ms, ROWS_AT_ONCE)))


async def in_batches(
    db: Database, work: Callable[[HotTx], Awaitable[tuple[int, bool]]]
) -> AsyncIterator[int]:
    """Runs `work` in one transaction after the other, until it says that there is no more. It
    returns of how many rows it has made what they are to be, and whether there are more; each
    number of rows is given when it is committed.
    """
    more = True
    while more:
        began_s = clock.monotonic_s()
        async with db.hot() as tx:
            rows, more = await work(tx)
        yield rows
        if more:
            await asyncio.sleep(max(PAUSE_S, PAUSES * (clock.monotonic_s() - began_s)))
