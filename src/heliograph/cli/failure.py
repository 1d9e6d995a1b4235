"""A command fails with one line on standard error, or with one for each bad value."""

import sys
from typing import Any

import click

from heliograph.processes import colours


class Failure(click.ClickException):
    """The command could not do what it was told: one line on standard error, or one for each bad
    value; exit status 1.
    """

    exit_code = 1

    def show(self, file: Any = None) -> None:
        prefix = (
            click.style("heliograph:", fg="red")
            if colours.are_wanted(sys.stderr)
            else "heliograph:"
        )
        click.echo(f"{prefix} {self.message}", err=True, file=file)


class BadValue(Failure):
    """An option or argument has a value that is not allowed. It is a mistake in the command line,
    and the exit status is 2.
    """

    exit_code = 2
