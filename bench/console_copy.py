"""Copies a filled PostgreSQL database into one of SQLite, row by row, for `bench.console_pages`: so
both have the same rows, which are described once.
"""

from collections.abc import Iterator
from typing import Any, Final

import psycopg
import sqlalchemy as sa

from heliograph.database.database import RawId, metadata
from heliograph.database.schema import installation
from heliograph.database.sessions import connect_sqlite, sqlite_path

ROWS_AT_ONCE: Final = 20_000


def copy_to_sqlite(postgresql_url: str, sqlite_url: str) -> None:
    """Replaces the rows of all tables of the SQLite database, which has the current schema. What
    SQLite knows of its own place stays.
    """
    target = connect_sqlite(sqlite_path(sqlite_url))
    # nobody needs what is half copied
    for pragma in ("foreign_keys = OFF", "synchronous = OFF", "cache_size = -1000000"):
        target.execute(f"PRAGMA {pragma}")
    with psycopg.connect(postgresql_url) as source:
        source.execute("SET statement_timeout = 0")
        for table in metadata.sorted_tables:
            if table is installation:
                continue
            names = ", ".join(f'"{column.name}"' for column in table.columns)
            places = ", ".join("?" for _ in table.columns)
            target.execute("BEGIN")
            target.execute(f"DELETE FROM {table.name}")
            target.executemany(
                f"INSERT INTO {table.name} ({names}) VALUES ({places})", _rows_of(source, table)
            )
            target.execute("COMMIT")
    target.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    target.close()


def _rows_of(source: psycopg.Connection[Any], table: sa.Table) -> Iterator[tuple[Any, ...]]:
    """Yields the rows of a table, with ids as SQLite has them: 32 hex digits."""
    asked = ", ".join(
        f"""replace(CAST("{column.name}" AS text), '-', '')"""
        if isinstance(column.type, (RawId, sa.Uuid))
        else f'"{column.name}"'
        for column in table.columns
    )
    with source.cursor(name="copied") as cursor:
        cursor.itersize = ROWS_AT_ONCE
        yield from cursor.execute(f"SELECT {asked} FROM {table.name}".encode())
