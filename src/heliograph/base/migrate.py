"""Bringing a database to the current schema (Alembic), and keeping PostgreSQL's partitions of `messages` ahead of the clock."""

from datetime import UTC, datetime
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

MIGRATIONS: Final = "heliograph.migrations"
PARTITION_MONTHS_AHEAD: Final = 3
_MIGRATION_LOCK: Final = 0x48454C49  # two processes that start at once migrate one after the other


def upgrade(url: str) -> None:
    """Runs the migrations that are missing, and makes the coming months' partitions. Safe to call at every start."""
    database = Database(url)
    try:
        with database.engine.connect() as connection:
            if database.postgresql:
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
    head = ScriptDirectory.from_config(_config()).get_current_head()
    return MigrationContext.configure(tx).get_current_revision() == head


def make_partitions(tx: Connection, now_ms: int) -> None:
    """One partition of `messages` a month, this month's and the next ones'; a wrong clock's rows go to the default partition."""
    moment = datetime.fromtimestamp(now_ms / 1_000, UTC)
    for ahead in range(PARTITION_MONTHS_AHEAD + 1):
        months = moment.year * 12 + moment.month - 1 + ahead
        name = f"messages_{months // 12}_{months % 12 + 1:02d}"
        if tx.execute(sa.text("SELECT to_regclass(:name)"), {"name": name}).scalar() is None:
            tx.execute(sa.text(f"CREATE TABLE {name} PARTITION OF messages FOR VALUES FROM ('{_first_id(months)}') TO ('{_first_id(months + 1)}')"
                               " WITH (fillfactor = 70)"))


def _first_id(months: int) -> str:
    start_ms = int(datetime(months // 12, months % 12 + 1, 1, tzinfo=UTC).timestamp() * 1_000)
    digits = f"{start_ms << 80:032x}"
    return f"{digits[:8]}-{digits[8:12]}-{digits[12:16]}-{digits[16:20]}-{digits[20:]}"


def _config() -> Config:
    config = Config()
    config.set_main_option("script_location", str(resources.files(MIGRATIONS)))
    return config
