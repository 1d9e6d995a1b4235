"""Makes a database with the schema of an earlier version, and fills it with rows of this one, as
far as that schema has their tables and columns.
"""

from typing import Any

import sqlalchemy as sa
from sqlalchemy.engine import Connection

from heliograph.base import clock
from heliograph.database import migrate
from heliograph.database.database import Database, metadata
from heliograph.database.partitions import make_months
from heliograph.database.schema import installation

# the columns of each table that are compared and copied
Columns = dict[str, list[str]]


def bring_to(database: Database, revision: str) -> None:
    """Runs the migrations up to this one, as `heliograph migrate` runs them."""
    with database.engine.connect() as connection:
        steps = [
            step for step in migrate._missing_migrations(connection) if step.revision <= revision
        ]
        connection.rollback()
        if database.postgresql:
            for step in steps:
                migrate._step(connection, step, database.url)
        else:
            connection.exec_driver_sql("BEGIN IMMEDIATE")
            for step in steps:
                migrate._run(connection, step)
            connection.commit()
    if database.postgresql and "messages" in sa.inspect(database.engine).get_table_names():
        assert make_months(database, clock.now_ms()) == []


def columns_of(database: Database) -> Columns:
    """Returns the columns of each table that this version knows, too: but for those of the
    installation, which say where it is.
    """
    there = sa.inspect(database.engine)
    names = [
        table.name
        for table in metadata.sorted_tables
        if table is not installation and there.has_table(table.name)
    ]
    return {
        name: [
            column["name"]
            for column in there.get_columns(name)
            if column["name"] in metadata.tables[name].columns
        ]
        for name in names
    }


def rows_of(database: Database, columns: Columns) -> dict[str, list[tuple[Any, ...]]]:
    """Returns all rows, as they are stored."""
    with database.read() as tx:
        return {
            name: sorted((tuple(row) for row in tx.execute(sa.select(_bare(name, of)))), key=str)
            for name, of in columns.items()
        }


def replace_rows(database: Database, columns: Columns, rows: dict[str, list[Any]]) -> None:
    """Stores these rows in place of those that there are."""
    with database.write() as tx:
        for name in reversed(columns):
            tx.execute(sa.delete(sa.table(name)))
        for name, of in columns.items():
            if rows[name]:
                named = [dict(zip(of, row, strict=True)) for row in rows[name]]
                tx.execute(sa.insert(_bare(name, of)), named)
        if database.postgresql:
            _count_on(tx, columns)


def _bare(name: str, columns: list[str]) -> sa.TableClause:
    """Returns a table whose values are taken as the driver has them."""
    return sa.table(name, *map(sa.column, columns))


def _count_on(tx: Connection, columns: Columns) -> None:
    """Lets the numbers that the database gives out go on behind those of the rows."""
    for name, of in columns.items():
        for column in of:
            if metadata.tables[name].columns[column].identity is not None:
                tx.execute(
                    sa.text(
                        f"SELECT setval(pg_get_serial_sequence('{name}', '{column}'),"
                        f" (SELECT coalesce(max({column}), 0) + 1 FROM {name}))"
                    )
                )
