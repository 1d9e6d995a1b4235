"""Bringing a database to the current schema (Alembic), and keeping PostgreSQL's partitions of `messages` ahead of the clock."""

from datetime import UTC, datetime
from functools import cache
from importlib import resources
from typing import Final

import sqlalchemy as sa
from alembic import command
from alembic.config import Config
from alembic.runtime.migration import MigrationContext
from alembic.script import ScriptDirectory
from sqlalchemy.engine import Connection

from heliograph.base import clock
from heliograph.base.db import Database
from heliograph.base.sessions import wait_for_it

MIGRATIONS: Final = "heliograph.migrations"
PARTITION_MONTHS_AHEAD: Final = 3
_MIGRATION_LOCK: Final = 0x48454C49  # two processes that start at once migrate one after the other


def upgrade(url: str) -> None:
    """Runs the migrations that are missing, and makes the coming months' partitions. Safe to call at every start."""
    database = Database(url)
    try:
        with database.engine.connect() as connection:
            if database.postgresql:
                wait_for_it(connection)
                connection.execute(sa.text("SET lock_timeout = 0; SET statement_timeout = 0"))
                connection.execute(sa.text(f"SELECT pg_advisory_lock({_MIGRATION_LOCK})"))
                connection.commit()
            else:
                connection.exec_driver_sql("BEGIN IMMEDIATE")  # likewise; and a migration that breaks off leaves nothing behind
            config = _config()
            config.attributes["connection"] = connection
            command.upgrade(config, "head")
            connection.commit()
            if database.postgresql:
                make_partitions(connection, clock.now_ms())
                connection.commit()
    finally:
        database.close()


def is_current(tx: Connection) -> bool:
    """Whether the database has the schema this version needs."""
    return MigrationContext.configure(tx).get_current_revision() == newest()


@cache
def newest() -> str | None:
    """Returns the newest revision that this version knows. It reads and runs the files of all migrations, so each process does that once."""
    return ScriptDirectory.from_config(_config()).get_current_head()


def make_partitions(tx: Connection, now_ms: int) -> None:
    """One partition of `messages` a month, this month's and the next ones'. What a wrong clock, or a month nobody prepared for, has left
    in the default partition moves into its month."""
    moment = datetime.fromtimestamp(now_ms / 1_000, UTC)
    for ahead in range(PARTITION_MONTHS_AHEAD + 1):
        months = moment.year * 12 + moment.month - 1 + ahead
        name = f"messages_{months // 12}_{months % 12 + 1:02d}"
        if tx.execute(sa.text("SELECT to_regclass(:name)"), {"name": name}).scalar() is None:
            _make_partition(tx, name, _uuid(months), _uuid(months + 1))


def _make_partition(tx: Connection, name: str, first_id: str, next_id: str) -> None:
    for statement in (
        f"CREATE TABLE {name} (LIKE messages INCLUDING DEFAULTS INCLUDING CONSTRAINTS INCLUDING COMMENTS) WITH (fillfactor = 70)",
        "LOCK TABLE messages IN ACCESS EXCLUSIVE MODE",  # for milliseconds: nobody may add to the default partition meanwhile
        f"WITH moved AS (DELETE FROM messages_default WHERE id >= '{first_id}' AND id < '{next_id}' RETURNING *)"  # noqa: S608  names of ours
        f" INSERT INTO {name} SELECT * FROM moved",
        f"ALTER TABLE messages ATTACH PARTITION {name} FOR VALUES FROM ('{first_id}') TO ('{next_id}')",
    ):
        tx.execute(sa.text(statement))


def first_id_of_month(months: int) -> str:
    """The lowest id (raw) of a month, counted from January of the year 0."""
    return f"{int(datetime(months // 12, months % 12 + 1, 1, tzinfo=UTC).timestamp() * 1_000) << 80:032x}"


def _uuid(months: int) -> str:
    digits = first_id_of_month(months)
    return f"{digits[:8]}-{digits[8:12]}-{digits[12:16]}-{digits[16:20]}-{digits[20:]}"


def _config() -> Config:
    config = Config()
    config.set_main_option("script_location", str(resources.files(MIGRATIONS)))
    return config
