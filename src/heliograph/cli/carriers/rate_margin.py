"""Defines the command `heliograph rate margin`."""

import sys
from typing import TYPE_CHECKING, Any

import click

from heliograph.cli.command import Command, CommandRun, examples
from heliograph.cli.output import show, show_list
from heliograph.cli.output_files import is_standard_output, whole_file
from heliograph.cli.values import LISTED_MAX, WholeNumber

if TYPE_CHECKING:
    from heliograph.pricing import Margins, WeighedRow


@click.command(
    "margin",
    cls=Command,
    epilog=examples(
        "rate margin", "rate margin --account 'Amina Foods' --json", "rate margin --csv margins.csv"
    ),
)
@click.option(
    "--account",
    metavar="ACC",
    help="Show what holds for this account, with its own rates: its id or unique name.",
)
@click.option(
    "--limit",
    type=WholeNumber(1, LISTED_MAX),
    default=200,
    show_default=True,
    help="The most to show, the worst first.",
)
@click.option(
    "--csv",
    "file",
    type=click.Path(dir_okay=False, writable=True, allow_dash=True),
    metavar="FILE",
    help="Write all of them to this file instead, or to standard output with -.",
)
@click.option("--force", is_flag=True, help="Overwrite FILE if it exists.")
def margin(run: CommandRun, account: str | None, limit: int, file: str | None, force: bool) -> None:
    """List what a segment brings and costs, the worst margin first.

    It brings its credits at today's price. It costs what the first carrier of its route charges, or
    the dearest of those that share it. What cannot be compared comes last, because credits are not
    sold in the currency of the cost.
    """
    from heliograph import accounts, pricing
    from heliograph.carriers import GENERAL

    with run.snapshot() as tx:
        account_id = GENERAL if account is None else accounts.find(tx, account).id
        margins = pricing.load_margins(tx, account_id)
    if file is None:
        _show(run, margins, limit)
    elif file == "-" or is_standard_output(file):
        sys.stdout.write(margins.csv())
    else:
        with whole_file(file, force=force) as opened:
            opened.write(margins.csv())
        show(run, {"file": file, "margins": len(margins.weighed)})


def _show(run: CommandRun, margins: "Margins", limit: int) -> None:
    owner = next(iter(margins.owners.values()), None)
    records = [_record(row, owner) for row in margins.rows(limit)]
    columns = ("numbers", "margin", "brings", "costs", "currency", "carrier", "rate", "credits")
    show_list(run, records, (*columns, "account_id") if owner else columns)
    if not margins.has_costs:
        said = "No cost is known. `heliograph cost set` says what a carrier charges."
    elif not records:
        said = "No route leads to a carrier whose cost is known."
    else:
        losses = margins.losses
        said = f"{losses} below cost." if losses else "Nothing sells below cost."
        if left := margins.left(limit):
            said += f" And {left} more: --limit shows up to {LISTED_MAX}, --csv all."
    click.echo(said, err=True)


def _record(row: "WeighedRow", owner: str | None) -> dict[str, Any]:
    return {
        "numbers": row.numbers,
        "margin": row.margin,
        "brings": row.sold,
        "costs": row.cost,
        "currency": row.currency,
        "carrier": row.carrier,
        "rate": row.rate,
        "account_id": owner if row.is_own else None,
        "credits": row.credits,
        "below_cost": row.is_loss,
    }
