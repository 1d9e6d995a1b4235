"""Brings a database to the current schema (Alembic), even while processes use it.

On PostgreSQL each migration is a transaction of its own. It waits for a lock for LOCK_MS at most,
because everything that comes later waits behind a waiting lock. Then it is rolled back, and tried
again. What a migration may do is in docs/recipes.md: the version before must survive it.
"""

import time
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from functools import cache
from importlib import resources
from typing import Final

import sqlalchemy as sa
from alembic.config import Config
from alembic.runtime.environment import EnvironmentContext
from alembic.runtime.migration import MigrationStep
from alembic.script import Script, ScriptDirectory
from sqlalchemy.engine import Connection

from heliograph.base import clock
from heliograph.base.errors import Unavailable
from heliograph.base.settings import SettingError
from heliograph.database import restored_copy
from heliograph.database.commits import Unconfirmed, unconfirmed_on_timeout
from heliograph.database.database import Database
from heliograph.database.outage import is_conflict, unavailable_on_outage
from heliograph.database.partitions import make_months
from heliograph.database.postgresql import indexes
from heliograph.database.postgresql.answer_time import lift_answer_limit, limit_answer_time
from heliograph.database.processes import other_processes
from heliograph.database.schema import installation, is_usable, newest_version, stored_version
from heliograph.database.write_probe import require_confirmed

MIGRATIONS: Final = "heliograph.migrations"
# as long as requests may have to wait behind a migration that waits for a lock
LOCK_MS: Final = 100
# of one migration: about two minutes, in which most backups and reports come to their end
TRIES: Final = 120
AGAIN_S: Final = 1.0
STATEMENT_S: Final = 86_400.0  # for an answer to one statement: a table may be long
COMMIT_S: Final = 10.0  # past it, no standby confirms the commit, which goes on without us
# transactions that have lasted for so long are told when a lock was not to be had
LONG_S: Final = 0.1
_MIGRATION_LOCK: Final = 0x48454C49  # two processes that start at once migrate one after the other

_LONG: Final = sa.text("""
    SELECT coalesce(nullif(application_name, ''), backend_type) AS name, pid,
           extract(epoch FROM clock_timestamp() - xact_start)::int AS seconds
    FROM pg_stat_activity
    WHERE datname = current_database() AND pid <> pg_backend_pid()
        AND xact_start < clock_timestamp() - make_interval(secs => :long_s)
    ORDER BY xact_start LIMIT 3""")

Tell = Callable[[str], None]


def upgrade(url: str, tell: Tell = lambda line: None) -> None:
    """Runs the migrations that are missing, and makes the coming months' partitions. It is safe to
    call at every start, and beside processes that run: they are named to `tell`, as is what is
    waited for.

    Raises SettingError for a database that only a newer version can use, Unavailable when a lock
    was not to be had.
    """
    database = Database(url)
    try:
        with database.engine.connect() as connection:
            if database.postgresql:
                limit_answer_time(connection, STATEMENT_S)
                database.commits.within_s = COMMIT_S
                if _missing_migrations(connection):  # whoever hangs in a commit has the lock
                    _require_confirmed(url)
                connection.execute(sa.text("SET lock_timeout = 0; SET statement_timeout = 0"))
                connection.execute(sa.text(f"SELECT pg_advisory_lock({_MIGRATION_LOCK})"))
                connection.commit()
                _upgrade_in_steps(connection, url, tell)
                _repair_indexes(connection, tell)
            else:
                # likewise; and what breaks off leaves nothing behind
                connection.exec_driver_sql("BEGIN IMMEDIATE")
                for step in _missing_migrations(connection):
                    _run(connection, step)
                connection.commit()
        if database.postgresql:
            _make_months(url, tell)
    finally:
        database.close()


def _missing_migrations(tx: Connection) -> list[Script]:
    """Returns the migrations that the database has not had, in their order. Raises SettingError
    when it has had some that this version does not know, and is not made for.
    """
    found = stored_version(tx)
    if found is not None and found > newest_version():
        if is_usable(tx, found):
            return []
        raise SettingError(
            "DATABASE_URL",
            f"a database with schema {found}, which this version ({newest_version()}) cannot use",
            "one that no newer version has migrated; or use the newer version",
        )
    return list(_scripts().iterate_revisions("head", found or "base"))[::-1]


def _run(tx: Connection, step: Script) -> None:
    """Runs one migration, and stores what it says of the versions that survive it, in the caller's
    transaction.
    """
    config, scripts = _config(), _scripts()
    config.attributes["connection"] = tx
    steps = [MigrationStep.upgrade_from_script(scripts.revision_map, step)]
    with EnvironmentContext(config, scripts, fn=lambda _found, _context: steps):
        scripts.run_env()
    if readable_by := getattr(step.module, "readable_by", None):
        store_readable_by(tx, readable_by)


def store_readable_by(tx: Connection, schema: str) -> None:
    """Stores the oldest schema whose version can work with the database. On PostgreSQL the mark of
    `home` names the transaction that wrote its row, so the mark is made anew, unless the database
    is a copy.
    """
    is_marked = tx.dialect.name == "postgresql" and restored_copy.is_marked(tx)
    tx.execute(sa.update(installation).values(readable_by=schema))
    if is_marked:
        restored_copy.mark(tx)


def _upgrade_in_steps(connection: Connection, url: str, tell: Tell) -> None:
    steps = _missing_migrations(connection)
    others = other_processes(connection)
    connection.rollback()
    for process in others:
        tell(f"beside it runs {process}")
    for step in steps:
        needs = getattr(step.module, "readable_by", None)
        if too_old := [
            process for process in others if needs and process.schema and process.schema < needs
        ]:
            raise Unavailable(
                f"After migration {step.revision} only processes that know schema {needs} can work,"
                f" and {too_old[0]} does not. Bring such processes to the version before this one"
                " first, or stop them."
            )
        _try(connection, step, url, tell)


def _try(connection: Connection, step: Script, url: str, tell: Tell) -> None:
    """Tries a step again and again, until it gets its locks. Raises Unavailable after TRIES."""
    for number in range(1, TRIES + 1):
        try:
            _step(connection, step, url)
            return
        except sa.exc.DBAPIError as error:
            connection.rollback()
            if not is_conflict(error):
                raise
        if number == 1:
            tell(f"migration {step.revision} waits for a lock: {_blocking_sessions(connection)}")
        time.sleep(AGAIN_S)
    raise Unavailable(
        f"Migration {step.revision} did not get a lock in {TRIES} tries of {LOCK_MS} ms:"
        f" {_blocking_sessions(connection)}. It has changed nothing; the same command goes on from"
        " here."
    )


def _step(connection: Connection, step: Script, url: str) -> None:
    """Tries a step once, if what it stores will be confirmed.

    What is not `transactional` (CREATE INDEX CONCURRENTLY) waits for others' transactions, but
    nobody waits for it.
    """
    _require_confirmed(url)
    if getattr(step.module, "transactional", True):
        connection.execute(sa.text(f"SET LOCAL lock_timeout = {LOCK_MS}"))
        _run(connection, step)
        _commit(connection, step)
        return
    with _session_without_limits(connection) as alone:
        _run(alone, step)


def _commit(connection: Connection, step: Script) -> None:
    """Commits, and waits for a standby for COMMIT_S. Nothing cancels a commit: it would
    become visible unreplicated.
    """
    try:
        with unconfirmed_on_timeout(), unavailable_on_outage():
            connection.commit()
    except Unconfirmed as error:
        raise Unavailable(
            f"Migration {step.revision} is stored, and no synchronous standby confirms it: it keeps"
            " its locks until one does. Bring the standby back, or take it out of"
            " synchronous_standby_names; then the same command goes on."
        ) from error


def _require_confirmed(url: str) -> None:
    """Raises Unavailable when a commit would wait, with its locks, for a standby that does
    not confirm it.
    """
    probe = Database(url)
    try:
        require_confirmed(probe)
    except Unconfirmed as error:
        raise Unavailable(
            "The database does not confirm what it stores, so no migration is begun: it would keep"
            " its locks, and those who read would wait too. Bring the synchronous standby back, or"
            " take it out of synchronous_standby_names."
        ) from error
    finally:
        probe.close()


@contextmanager
def _session_without_limits(connection: Connection) -> Iterator[Connection]:
    """Opens a session for what cannot stand in a transaction, and takes as long as others'
    transactions do.
    """
    with connection.engine.connect().execution_options(isolation_level="AUTOCOMMIT") as alone:
        lift_answer_limit(alone)
        alone.execute(sa.text("SET lock_timeout = 0; SET statement_timeout = 0"))
        yield alone
        alone.invalidate()  # with its settings


def _repair_indexes(connection: Connection, tell: Tell) -> None:
    """Builds those indexes again whose building was broken off. PostgreSQL keeps them up and does
    not use them, and a migration that wants to make them finds them there.
    """
    invalid = indexes.find_invalid(connection)
    connection.rollback()
    if not invalid:
        return
    with _session_without_limits(connection) as alone:
        for name in invalid:
            tell(f"index {name} is invalid, because building it was interrupted; it is built again")
            indexes.repair(alone, name)
    left = indexes.find_invalid(connection)
    connection.rollback()
    if left:
        raise Unavailable(f"Invalid indexes could not be built: {', '.join(left)}.")


def _blocking_sessions(connection: Connection) -> str:
    found = connection.execute(_LONG, {"long_s": LONG_S}).all()
    connection.rollback()
    return (
        ", ".join(
            f"{row.name} (PostgreSQL's process {row.pid}) has been in a transaction for"
            f" {row.seconds} s"
            for row in found
        )
        or "it is free now"
    )


def _make_months(url: str, tell: Tell) -> None:
    """Makes the months' partitions. Those that are not made even so are made by the processes that
    run.
    """
    with closing(Database(url)) as database:
        left = _months_or_none(database)
    if left:
        tell(
            "these partitions were not made, because messages were being read all the time:"
            f" {', '.join(left)}. A worker tries again every hour"
        )


def _months_or_none(database: Database) -> list[str]:
    for _ in range(TRIES):
        left = make_months(database, clock.now_ms())
        if not left:
            break
        time.sleep(AGAIN_S)
    return left


@cache
def _scripts() -> ScriptDirectory:
    """Returns the migrations. They are read once, and not again for each of them."""
    return ScriptDirectory.from_config(_config())


def _config() -> Config:
    config = Config()
    config.set_main_option("script_location", str(resources.files(MIGRATIONS)))
    return config
