"""`heliograph wallet …`."""

from decimal import Decimal

import click

from heliograph.entry.cli.command import Noun, Session, examples
from heliograph.entry.cli.entries import post_entry
from heliograph.entry.cli.values import Money, account_option, reference_options

command = Noun("wallet", help="Money of an account, in its wallet's currency. Each change is a ledger entry.")


@command.command("topup", epilog=examples("wallet topup --account 'Amina Foods' --amount 250.50 --reason 'Bank transfer' --reference bt-99"))
@account_option
@click.option("--amount", required=True, type=Money(), metavar="X")
@reference_options
def topup(session: Session, account: str, amount: Decimal, reason: str, reference: str | None) -> None:
    """Add money."""
    from heliograph import wallet

    post_entry(session, wallet.topup, account, amount, reason, reference)


@command.command("adjust", epilog=examples("wallet adjust --account 'Amina Foods' --amount -10 --reason 'Bank charges'"))
@account_option
@click.option("--amount", required=True, type=Money(), metavar="X", help="Below zero: taken away, never more than there is.")
@reference_options
def adjust(session: Session, account: str, amount: Decimal, reason: str, reference: str | None) -> None:
    """Correct the money, up or down."""
    from heliograph import wallet

    post_entry(session, wallet.adjust_money, account, amount, reason, reference)
