"""Defines the commands `heliograph secret …`."""

import click

from heliograph.cli.command import CommandRun, Noun, examples
from heliograph.cli.output import show

command = Noun(
    "secret",
    help=(
        "The secret key, HELIOGRAPH_SECRET_KEY: it encrypts the passwords and secrets that are"
        " stored."
    ),
)


@command.command(
    "rotate", epilog=examples("secret rotate", "secret rotate --json", "secret rotate --lost")
)
@click.option(
    "--lost",
    is_flag=True,
    help="Use this if the key in use is lost: what was encrypted with it is given up.",
)
def rotate(run: CommandRun, lost: bool) -> None:
    """Bring a new secret key into use. The command encrypts with HELIOGRAPH_SECRET_KEY what is
    stored under HELIOGRAPH_SECRET_KEY_OLD.

    Start every process with both keys first. If a process was started without them, the command
    names it and changes nothing. If the command is interrupted, run it again: it continues.
    docs/operations.md, "The secret key", has all steps.
    """
    from heliograph.base.clock import rfc3339
    from heliograph.database import processes
    from heliograph.processes.checks import sealed_secrets

    processes.set_process_kind("secret-rotate")
    run.any_key = lost
    rotated = sealed_secrets.rotate(run.database, run.settings, lost=lost)
    show(
        run,
        {
            "resealed": rotated.resealed,
            "unreadable": rotated.unreadable,
            "old_key_needed_until": rfc3339(rotated.old_needed_until_ms),
        },
    )
    if rotated.unreadable:
        click.echo(
            "heliograph: some secrets cannot be read with either key: set those carriers'"
            " passwords, and rotate those webhooks' secrets",
            err=True,
        )
