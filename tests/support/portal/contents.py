"""Reads all that a database holds, for tests that nothing may change it."""

from typing import Any

from heliograph.database.database import Database, metadata

OF_VISITS = {"user_sessions", "password_tries", "known_browsers"}


def contents(db: Database) -> dict[str, list[Any]]:
    """Returns all rows of all tables, but of what visits leave behind."""
    with db.read() as tx:
        return {
            table.name: sorted(map(str, tx.execute(table.select())))
            for table in metadata.sorted_tables
            if table.name not in OF_VISITS
        }
