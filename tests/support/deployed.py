"""Holds what the tests of deploy/ share."""

from collections.abc import Sequence

import click

from heliograph.cli import main
from tests.support.sources import ROOT

DEPLOY = ROOT / "deploy"


def parses(words: Sequence[str]) -> None:
    """Reads a command line as `heliograph` would, without doing it. Raises click.UsageError for one
    that it would refuse.
    """
    command: click.Command | None = main
    context, rest = click.Context(main), list(words)
    while isinstance(command, click.Group):
        _, command, rest = command.resolve_command(context, rest)
    assert command is not None
    command.make_context(command.name, rest, parent=context)
