"""`heliograph migrate`."""

from heliograph.entry.cli.command import Command, Session, examples


def _migrate(session: Session) -> None:
    from heliograph.base import migrate, timekeeping
    from heliograph.base.db import Database
    from heliograph.entry.cli.output import show
    from heliograph.entry.cli.schema import newest_version

    settings = session.settings
    database = Database(settings.database_url)
    try:
        with database.engine.connect():
            pass  # an OperationalError says why it cannot be reached
        timekeeping.begin(database)  # the months that are made are those of its clock
    finally:
        database.close()
    migrate.upgrade(settings.database_url)
    kind = "postgresql" if settings.database_url.startswith("postgresql") else "sqlite"
    show(session, {"database": kind, "schema": newest_version()})


command = Command(
    "migrate", callback=_migrate, epilog=examples("migrate"),
    help="Bring the database to the current schema. Safe to repeat, and beside others who do the same. On SQLite every command does it by itself.",
)  # fmt: skip
