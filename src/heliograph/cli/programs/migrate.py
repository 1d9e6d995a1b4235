"""Defines the command `heliograph migrate`."""

from typing import TYPE_CHECKING

from heliograph.cli.command import Command, CommandRun, examples

if TYPE_CHECKING:
    from heliograph.base.settings import Settings
    from heliograph.database.database import Database


def _migrate(run: CommandRun) -> None:
    import click

    from heliograph.cli.output import show
    from heliograph.database import migrate, processes
    from heliograph.database.database import Database
    from heliograph.database.schema import newest_version
    from heliograph.processes.checks.secret_key import require_secret_key

    settings = run.settings
    processes.set_process_kind("migrate")
    database = Database(settings.database_url)
    try:
        _look(database, settings)
        migrate.upgrade(
            settings.database_url, lambda line: click.echo(f"heliograph: {line}", err=True)
        )
        require_secret_key(database, settings)
    finally:
        database.close()
    show(
        run,
        {"database": "postgresql" if database.postgresql else "sqlite", "schema": newest_version()},
    )


def _look(database: "Database", settings: "Settings") -> None:
    """Makes sure that the database can be reached, goes by this machine's time and, if it has a
    secret key, that it is this one: before anything is changed. Raises OperationalError, which says
    why, ClockApart, SettingError.
    """
    from heliograph.database import clock_check, secret_key_canary

    with database.engine.connect():
        pass
    clock_check.begin(database)  # the months that are made are those of its clock
    with database.read() as tx:
        canary = secret_key_canary.load(tx) if secret_key_canary.exists(tx) else None
    if canary is not None:
        secret_key_canary.in_use(canary, settings.secret_keys)


command = Command(
    "migrate",
    callback=_migrate,
    making="always",
    epilog=examples("migrate"),
    help=(
        "Bring the database to the current schema. It is safe to run it again, to run it twice at"
        " once, and to run it beside processes of the previous version: the command names them,"
        " and they keep running. It waits at most 100 ms for a lock, and tries again for two"
        " minutes. On SQLite every command does this by itself."
    ),
)
