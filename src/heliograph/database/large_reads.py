"""Reads millions of rows, and takes no more memory than for a few."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, Final

import sqlalchemy as sa
from sqlalchemy.engine import Connection

_FETCHED_AT_ONCE: Final = 5_000
_TOLD: Final = "large_reads.told"  # what a connection's rows are told to


def raw_id(column: sa.ColumnElement[Any]) -> sa.Function[str]:
    """Makes an id raw in the database: six times as fast as a driver's UUID objects, of which
    there would be millions.
    """
    return sa.func.replace(sa.cast(column, sa.Text), "-", "")


@contextmanager
def rows_told(tx: Connection, tell: Callable[[int], object]) -> Iterator[None]:
    """Tells, while the block lasts, how many more rows were read, each time that some were."""
    tx.info[_TOLD] = tell
    try:
        yield
    finally:
        del tx.info[_TOLD]


def streamed(tx: Connection, query: sa.Select[Any]) -> Iterator[Any]:
    """Yields the rows as they come, few in memory."""
    rows = tx.execute(query, execution_options={"yield_per": _FETCHED_AT_ONCE})
    tell = tx.info.get(_TOLD)
    return iter(rows) if tell is None else _counted(rows, tell)


def _counted(rows: sa.CursorResult[Any], tell: Callable[[int], object]) -> Iterator[Any]:
    for part in rows.partitions():
        yield from part
        tell(len(part))
