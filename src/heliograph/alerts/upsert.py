"""Stores a row in place of the one with its key, also if somebody else does so at the same time."""

from collections.abc import Mapping
from typing import Any

import sqlalchemy as sa
from sqlalchemy.engine import Connection


def upsert(tx: Connection, table: sa.Table, row: Mapping[str, Any]) -> None:
    """Inserts a row, or changes the one that has its primary key. Who comes second waits for the
    first, and has the last word.
    """
    keys = [column.name for column in table.primary_key]
    if tx.dialect.name != "postgresql":  # a writer is alone there
        tx.execute(table.delete().where(*(table.c[name] == row[name] for name in keys)))
        tx.execute(table.insert().values(row))
        return
    from sqlalchemy.dialects.postgresql import insert  # not needed on SQLite, and heavy

    rest = {name: value for name, value in row.items() if name not in keys}
    tx.execute(insert(table).values(row).on_conflict_do_update(index_elements=keys, set_=rest))
