"""Defines the commands `heliograph tier …`."""

import click

from heliograph.cli.command import CommandRun, Noun, examples
from heliograph.cli.output import show, show_list
from heliograph.cli.values import WholeNumber

command = Noun("tier", help="Rate tiers: how many requests a minute a key may make.")


@command.command("add", epilog=examples("tier add bulk 5000"))
@click.argument("name")
@click.argument("per_minute", type=WholeNumber(1))
def add(run: CommandRun, name: str, per_minute: int) -> None:
    """Add a tier. No command removes it again, because keys refer to it."""
    from heliograph.keys import add_tier

    with run.write() as tx:
        record = add_tier(tx, name, per_minute).tier._asdict()
    show(run, record)


@command.command("set", epilog=examples("tier set standard 200"))
@click.argument("name")
@click.argument("per_minute", type=WholeNumber(1))
def set_(run: CommandRun, name: str, per_minute: int) -> None:
    """Change what a tier allows. It holds within a second, for all keys of the tier."""
    from heliograph.keys import change_tier

    with run.write() as tx:
        record = change_tier(tx, name, per_minute).tier._asdict()
    show(run, record)


@command.command("list", epilog=examples("tier list"))
def list_(run: CommandRun) -> None:
    """List all tiers, the slowest first."""
    from heliograph.keys import all_tiers

    with run.read() as tx:
        records = [tier._asdict() for tier in all_tiers(tx)]
    show_list(run, records, ("name", "per_minute"))
