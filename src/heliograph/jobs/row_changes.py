"""Describes changes of rows that name a phone number, and finds the simple ones."""

from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import sqlalchemy as sa
from sqlalchemy.engine import Connection

from heliograph.database.reads import stream
from heliograph.text.phones_in_text import Quoted


class RowChange(NamedTuple):
    """Describes the change of a row that names the number. `becomes` holds the new values, or None
    if the row is deleted.
    """

    table: sa.Table
    key: tuple[Any, ...]
    becomes: dict[str, Any] | None


def redact(
    tx: Connection,
    table: sa.Table,
    columns: Sequence[str],
    condition: sa.ColumnElement[bool],
    quoted: Quoted,
    joined: sa.FromClause | None = None,
) -> Iterator[RowChange]:
    """Yields changes that take the number out of the `columns` that have it. The rest of each text
    stays.
    """
    keys = list(table.primary_key.columns)
    query = (
        sa.select(*keys, *(table.c[name] for name in columns))
        .select_from(table if joined is None else joined)
        .where(condition)
    )
    for row in stream(tx, query):
        texts = {name: row._mapping[table.c[name]] for name in columns}
        becomes = {
            name: quoted.erased_from(text) for name, text in texts.items() if quoted.stands_in(text)
        }
        if becomes:
            yield RowChange(table, tuple(row._mapping[key] for key in keys), becomes)


def delete_rows(
    tx: Connection, table: sa.Table, *conditions: sa.ColumnElement[bool]
) -> Iterator[RowChange]:
    """Removes the rows that meet all `conditions`."""
    for row in stream(tx, sa.select(*table.primary_key.columns).where(*conditions)):
        yield RowChange(table, tuple(row), None)
