"""Defines the commands `heliograph rate …`."""

from typing import TYPE_CHECKING, Any

import click

from heliograph.cli.carriers.rate_margin import margin
from heliograph.cli.carriers.rate_sheet import export, import_, sheets_, withdraw
from heliograph.cli.command import CommandRun, Noun, examples
from heliograph.cli.output import show, show_list, warn_of_loss
from heliograph.cli.values import OrWord, WholeNumber, given_options

if TYPE_CHECKING:
    from sqlalchemy.engine import Connection

    from heliograph.carriers import current_rates

command = Noun(
    "rate",
    help=(
        "Rates: the SMS credits that a segment costs. An account's own rates come before the "
        "general ones. Then the longest prefix counts, then the country, then default (1 until it "
        "is set)."
    ),
)

for _other in (margin, import_, export, sheets_, withdraw):
    command.add_command(_other)


def _record(tx: "Connection", rate: "current_rates.Rate") -> dict[str, Any]:
    from heliograph import accounts
    from heliograph.carriers import GENERAL

    account_id = (
        None
        if rate.account_id == GENERAL
        else accounts.text_id(accounts.by_id(tx, rate.account_id))
    )
    return {"destination": rate.destination, "credits": rate.credits, "account_id": account_id}


def _account_id(tx: "Connection", account: str | None) -> str:
    from heliograph import accounts
    from heliograph.carriers import GENERAL

    return GENERAL if account is None else accounts.find(tx, account).id


@command.command(
    "set",
    epilog=examples(
        "rate set default 2",
        "rate set GH 1",
        "rate set 23324 3 --account 'Amina Foods'",
        "rate set CU none",
    ),
)
@click.argument("destination", metavar="PREFIX|COUNTRY|default")
@click.argument("per_segment", type=OrWord(WholeNumber(0), "none"), metavar="CREDITS|none")
@click.option("--account", metavar="ACC", help="For this account only.")
def set_(run: CommandRun, destination: str, per_segment: object, account: str | None) -> None:
    """Set what a segment costs for a prefix or a country. With none, messages there are refused.
    The command warns about what then sells below cost.
    """
    from heliograph.base import clock
    from heliograph.carriers import current_rates
    from heliograph.pricing import change_with_warning, sheets

    with run.write() as tx:
        sheets.apply_due(tx, now_ms=clock.now_ms())  # first: this change is the newer one
        account_id, credits = (
            _account_id(tx, account),
            given_options(credits=per_segment)["credits"],
        )
        rate = change_with_warning(
            tx,
            lambda: current_rates.store(tx, destination, credits, account_id=account_id),
            warn_of_loss,
        )
        record = _record(tx, rate)
    show(run, record)


@command.command("list", epilog=examples("rate list", "rate list --account 'Amina Foods'"))
@click.option("--account", metavar="ACC", help="Show only the rates of this account.")
def list_(run: CommandRun, account: str | None) -> None:
    """List rates, the general ones first."""
    from heliograph.carriers import current_rates

    with run.read() as tx:
        rates = current_rates.load(tx, _account_id(tx, account) if account is not None else None)
        records = [_record(tx, rate) for rate in rates]
    show_list(run, records, ("destination", "credits", "account_id"))


@command.command("remove", epilog=examples("rate remove 23324 --account 'Amina Foods'"))
@click.argument("destination", metavar="PREFIX|COUNTRY|default")
@click.option("--account", metavar="ACC", help="Remove the rate of this account.")
def remove(run: CommandRun, destination: str, account: str | None) -> None:
    """Remove a rate. The next more general rate then counts."""
    from heliograph.base import clock
    from heliograph.carriers import current_rates
    from heliograph.pricing import change_with_warning, sheets

    with run.write() as tx:
        sheets.apply_due(tx, now_ms=clock.now_ms())  # first: this change is the newer one
        account_id = _account_id(tx, account)
        removed = change_with_warning(
            tx, lambda: current_rates.remove(tx, destination, account_id=account_id), warn_of_loss
        )
    show(run, {"destination": removed, "account": account, "removed": True})
