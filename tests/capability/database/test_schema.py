"""The migrations make the tables that the code describes."""

from importlib import import_module
from operator import itemgetter
from pkgutil import walk_packages
from typing import Any, Final

import pytest
import sqlalchemy as sa
from alembic.autogenerate import compare_metadata
from alembic.runtime.migration import MigrationContext
from sqlalchemy.engine import Connection

import heliograph
from heliograph.database.database import Database, metadata

MONTHS_OF_MESSAGES: Final = "messages_"  # PostgreSQL's partitions, which database/migrate.py makes
OF_ALEMBIC: Final = "alembic_version"
DESCRIBED: Final = "described"  # a schema of PostgreSQL for what is made as the code describes it
ASKED_FOR: Final = ("indexes", "check_constraints", "table_options")  # of SQLAlchemy's inspector
PARTITIONED_BY: Final = sa.text("""
    SELECT c.relname, pg_get_partkeydef(c.oid) FROM pg_class c
    WHERE c.relkind = 'p' AND c.relnamespace = CAST(:schema AS regnamespace)""")


@pytest.fixture
def described() -> sa.MetaData:
    """Returns all tables, each with its options of PostgreSQL, which are its `info`."""
    for module in walk_packages(heliograph.__path__, "heliograph."):
        if ".migrations" not in module.name:
            import_module(module.name)
    for table in metadata.tables.values():
        table.dialect_kwargs.update(table.info)
        for index in table.indexes:
            index.dialect_kwargs.update(index.info)
    return metadata


# which are not made there
@pytest.mark.filterwarnings(
    "ignore:autogenerate skipping .* index 'contacts_(grams|tags)'; dialect 'sqlite'"
)
def test_the_migrations_make_the_tables_that_the_code_describes(
    db: Database, described: sa.MetaData
) -> None:
    with db.read() as tx:
        context = MigrationContext.configure(
            tx,
            opts={
                "include_name": lambda name, kind, parents: (
                    kind != "table" or not name.startswith(MONTHS_OF_MESSAGES)
                )
            },
        )
        assert compare_metadata(context, described) == []


def test_the_migrations_make_the_predicates_checks_and_options_that_the_code_describes(
    db: Database, described: sa.MetaData
) -> None:
    """Alembic compares none of these. The database tells both in its own words."""
    with db.engine.connect() as tx:
        migrated = _told(tx, "public" if db.postgresql else None)
        if db.postgresql:
            tx.execute(sa.schema.CreateSchema(DESCRIBED))
            there = tx.execution_options(schema_translate_map={None: DESCRIBED})
            described.create_all(there, checkfirst=False)
            as_described = _told(tx, DESCRIBED)
        else:
            with sa.create_engine("sqlite://").connect() as empty:
                described.create_all(empty)
                as_described = _told(empty, None)
        tx.rollback()
    assert as_described == migrated


def _told(tx: Connection, schema: str | None) -> dict[str, Any]:
    """Returns what the database says of each table in a schema."""
    inspector = sa.inspect(tx)
    told = {
        f"{what} of {table}": _comparable(found)
        for what in ASKED_FOR
        for (_, table), found in getattr(inspector, f"get_multi_{what}")(schema=schema).items()
        if table != OF_ALEMBIC and not table.startswith(MONTHS_OF_MESSAGES)
    }
    if schema is not None:
        for table, key in tx.execute(PARTITIONED_BY, {"schema": schema}):
            told[f"partitions of {table}"] = key
    return told


def _comparable(found: Any) -> Any:
    """Returns what an inspector found with SQL as text, and lists in the order of names."""
    if isinstance(found, dict):
        return {key: _comparable(value) for key, value in found.items()}
    if isinstance(found, list) and found and isinstance(found[0], dict):
        return sorted(map(_comparable, found), key=itemgetter("name"))
    return str(found) if isinstance(found, sa.ClauseElement) else found
