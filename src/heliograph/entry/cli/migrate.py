"""`heliograph migrate`."""

from heliograph.entry.cli.command import Command, Session, examples


def _migrate(session: Session) -> None:
    import click

    from heliograph.base import migrate, processes, timekeeping
    from heliograph.base.db import Database
    from heliograph.base.schema import newest_version
    from heliograph.entry.cli.output import show

    settings = session.settings
    processes.be_known_as("migrate")
    database = Database(settings.database_url)
    try:
        with database.engine.connect():
            pass  # an OperationalError says why it cannot be reached
        timekeeping.begin(database)  # the months that are made are those of its clock
    finally:
        database.close()
    migrate.upgrade(settings.database_url, lambda line: click.echo(f"heliograph: {line}", err=True))
    kind = "postgresql" if settings.database_url.startswith("postgresql") else "sqlite"
    show(session, {"database": kind, "schema": newest_version()})


command = Command(
    "migrate", callback=_migrate, epilog=examples("migrate"),
    help="Bring the database to the current schema. Safe to repeat, beside others who do the same, and beside processes "
         "of the version before: they are named, and go on. It waits for no lock for longer than 100 ms, and tries again "
         "for two minutes. On SQLite every command does it by itself.",
)  # fmt: skip
