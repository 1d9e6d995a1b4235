"""Before a command touches the database: can it work with its schema?"""

from heliograph.base.db import Database
from heliograph.base.schema import found_version, is_usable, newest_version
from heliograph.entry.cli.command import Failure


def require_schema(database: Database) -> None:
    """Makes or migrates a database of SQLite, as `serve` does; on PostgreSQL that is the operator's decision. Raises Failure."""
    with database.read() as tx:
        found = found_version(tx)
        if is_usable(tx, found):
            return
    if found is not None and found > newest_version():
        raise Failure(f"The database has schema {found}; this version of Heliograph knows it up to {newest_version()}. Use the newer version.")
    if database.postgresql:
        raise Failure("The database does not have the schema that this version needs; run `heliograph migrate`.")
    from heliograph.base import migrate  # only now: Alembic takes a third of a second to load

    migrate.upgrade(database.url)
