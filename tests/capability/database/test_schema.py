"""The migrations make the tables that `tables.py` of each capability describes."""

from importlib import import_module
from pkgutil import walk_packages

import pytest
from alembic.autogenerate import compare_metadata
from alembic.runtime.migration import MigrationContext

import heliograph
from heliograph.database.database import Database, metadata

MONTHS_OF_MESSAGES = "messages_"  # PostgreSQL's partitions, which database/migrate.py makes


# which is not made there
@pytest.mark.filterwarnings(
    "ignore:autogenerate skipping .* index 'contacts_grams'; dialect 'sqlite'"
)
def test_the_migrations_make_the_tables_that_the_code_describes(db: Database) -> None:
    for module in walk_packages(heliograph.__path__, "heliograph."):
        if module.name.endswith(".tables"):
            import_module(module.name)
    with db.read() as tx:
        context = MigrationContext.configure(
            tx,
            opts={
                "include_name": lambda name, kind, parents: (
                    kind != "table" or not name.startswith(MONTHS_OF_MESSAGES)
                )
            },
        )
        assert compare_metadata(context, metadata) == []
