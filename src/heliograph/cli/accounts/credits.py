"""Defines the commands `heliograph credits …`."""

from functools import partial

import click

from heliograph.cli.command import CommandRun, Noun, examples
from heliograph.cli.ledger_entry import post_entry
from heliograph.cli.values import WholeNumber, account_option, reference_option, reference_options

command = Noun("credits", help="SMS credits of an account. Each change is a ledger entry.")


@command.command(
    "grant",
    epilog=examples(
        "credits grant --account 'Amina Foods' --credits 5000 --reason 'Invoice 17' --reference"
        " inv-17"
    ),
)
@account_option
@click.option(
    "--credits",
    "amount",
    required=True,
    type=WholeNumber(1),
    metavar="N",
    help="How many credits to grant.",
)
@reference_options
def grant(run: CommandRun, account: str, amount: int, reason: str, reference: str | None) -> None:
    """Give an account SMS credits."""
    from heliograph.wallet import ledger

    post_entry(
        run, account, partial(ledger.grant, credits=amount, reason=reason, reference=reference)
    )


@command.command(
    "adjust",
    epilog=examples(
        "credits adjust --account 'Amina Foods' --credits -20 --reason 'Granted twice'"
    ),
)
@account_option
@click.option(
    "--credits",
    "amount",
    required=True,
    type=WholeNumber(),
    metavar="N",
    help="How many to add. A negative number takes credits away, but never more than there are.",
)
@reference_options
def adjust(run: CommandRun, account: str, amount: int, reason: str, reference: str | None) -> None:
    """Correct an account's SMS credits, up or down."""
    from heliograph.wallet import ledger

    post_entry(
        run,
        account,
        partial(ledger.adjust_credits, credits=amount, reason=reason, reference=reference),
    )


@command.command(
    "buy",
    epilog=examples("credits buy --account 'Amina Foods' --credits 5000 --reference order-17"),
)
@account_option
@click.option(
    "--credits",
    "amount",
    required=True,
    type=WholeNumber(1),
    metavar="N",
    help="How many credits to buy.",
)
@reference_option
def buy(run: CommandRun, account: str, amount: int, reference: str | None) -> None:
    """Buy credits with the money of an account's wallet. `price list` shows what they cost in its
    currency.
    """
    from heliograph.wallet import prices

    post_entry(run, account, partial(prices.buy_credits, credits=amount, reference=reference))
