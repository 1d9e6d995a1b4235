"""Stores a row in place of the one with its key, also if somebody else does so at the same time,
and lets one transaction at a time change a table.
"""

from collections.abc import Mapping
from typing import Any, Final

import sqlalchemy as sa
from sqlalchemy.engine import Connection

from heliograph.alerts.tables import alert_recipients, alert_rules, watched_wallets

_LOCKS: Final = {
    table: sa.text(f"LOCK TABLE {table.name} IN SHARE ROW EXCLUSIVE MODE")
    for table in (alert_recipients, alert_rules, watched_wallets)
}


def lock_table(tx: Connection, table: sa.Table) -> None:
    """Waits until nobody else changes a table, and lets nobody else until the transaction ends.
    Others go on reading it.
    """
    if tx.dialect.name == "postgresql":  # on SQLite, a writer is alone
        tx.execute(_LOCKS[table])


def upsert(tx: Connection, table: sa.Table, row: Mapping[str, Any]) -> None:
    """Inserts a row, or changes the one that has its primary key. Whoever comes second waits for
    the first, and overwrites what that one has stored.
    """
    keys = [column.name for column in table.primary_key]
    if tx.dialect.name != "postgresql":  # a writer is alone there
        tx.execute(table.delete().where(*(table.c[name] == row[name] for name in keys)))
        tx.execute(table.insert().values(row))
        return
    from sqlalchemy.dialects.postgresql import insert  # not needed on SQLite, and heavy

    rest = {name: value for name, value in row.items() if name not in keys}
    tx.execute(insert(table).values(row).on_conflict_do_update(index_elements=keys, set_=rest))
