"""Checks, before a command touches the database, that it is one, that this version works with its
schema, and that clock and secret key are right.
"""

import sqlalchemy as sa

from heliograph.base.database_url import without_password
from heliograph.base.errors import Unavailable
from heliograph.base.settings import Settings
from heliograph.cli.failure import Failure
from heliograph.database import clock_check
from heliograph.database.database import Database
from heliograph.database.outage import error_in_words
from heliograph.database.schema import is_usable, newest_version, stored_version


def require_usable(database: Database, settings: Settings, *, makes: bool, any_key: bool) -> None:
    """Makes sure that a command can use the database. With `makes`, a database of SQLite in which
    nothing is gets the schema. With `any_key`, it does not matter what the secret key is.

    Raises Failure, ClockApart, SettingError, Unavailable.
    """
    try:
        require_schema(database, makes=makes)
    except Unavailable as error:
        if type(error) is not Unavailable:
            raise
        raise Failure(
            f"{error_in_words(error)} It was looked for at {without_password(database.url)}."
        ) from error
    except sa.exc.DatabaseError as error:
        if isinstance(error, sa.exc.OperationalError) or database.postgresql:
            raise
        raise Failure(
            f"{without_password(database.url)} is not an SQLite database: {error.orig}."
        ) from error
    clock_check.begin(database)
    if not any_key:
        from heliograph.processes.checks.secret_key import require_secret_key

        require_secret_key(database, settings)


def require_schema(database: Database, *, makes: bool) -> None:
    """Migrates a database of SQLite, as `serve` does; on PostgreSQL that is the operator's
    decision. Raises Failure.
    """
    address = without_password(database.url)
    with database.read() as tx:
        schema_version = stored_version(tx)
        if is_usable(tx, schema_version):
            return
        is_empty = schema_version is None and not sa.inspect(tx).get_table_names()
    if schema_version is not None and schema_version > newest_version():
        raise Failure(
            f"The database has schema {schema_version}, but this version of Heliograph knows"
            f" schemas up to {newest_version()} only. Use the newer version."
        )
    if database.postgresql:
        raise Failure(
            f"The database {address} does not have the schema that this version needs; run"
            " `heliograph migrate`."
        )
    if schema_version is None and not (makes and is_empty):
        raise Failure(
            f"There is no database of Heliograph in {address}; `heliograph migrate` makes one in an"
            " empty file."
        )
    from heliograph.database import migrate  # only now: Alembic takes a third of a second to load

    migrate.upgrade(database.url)
