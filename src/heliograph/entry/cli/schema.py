"""Before a command touches the database: does it have this version's schema?"""

from importlib import resources
from typing import Final

import sqlalchemy as sa

from heliograph.base.db import Database
from heliograph.entry.cli.command import Failure

_VERSIONS: Final = "heliograph.migrations.versions"


def require_schema(database: Database) -> None:
    """Makes or migrates a database of SQLite, as `serve` does; on PostgreSQL that is the operator's decision. Raises Failure."""
    found = _found_version(database)
    if found == newest_version():
        return
    if found is not None and found > newest_version():
        raise Failure(f"The database has schema {found}; this version of Heliograph knows it up to {newest_version()}. Use the newer version.")
    if database.postgresql:
        raise Failure("The database does not have the schema that this version needs; run `heliograph migrate`.")
    from heliograph.base import migrate  # only now: Alembic takes a third of a second to load

    migrate.upgrade(database.url)


def newest_version() -> str:
    """The number of the last migration: what its file's name begins with."""
    names = (entry.name for entry in resources.files(_VERSIONS).iterdir())
    return max(name.split("_")[0] for name in names if name[0].isdigit())


def _found_version(database: Database) -> str | None:
    with database.read() as tx:
        if not sa.inspect(tx).has_table("alembic_version"):
            return None
        return tx.execute(sa.text("SELECT version_num FROM alembic_version")).scalar()
