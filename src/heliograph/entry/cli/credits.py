"""`heliograph credits …`."""

import click

from heliograph.entry.cli.command import Noun, Session, examples
from heliograph.entry.cli.entries import show_posted
from heliograph.entry.cli.values import account_option, reference_options

command = Noun("credits", help="SMS credits of an account. Each change is a ledger entry.")


@command.command("grant", epilog=examples("credits grant --account 'Amina Foods' --credits 5000 --reason 'Invoice 17' --reference inv-17"))
@account_option
@click.option("--credits", "amount", required=True, type=click.IntRange(1), metavar="N")
@reference_options
def grant(session: Session, account: str, amount: int, reason: str, reference: str | None) -> None:
    """Give credits."""
    from heliograph import accounts, wallet
    from heliograph.base import clock

    with session.write() as tx:
        found = accounts.find(tx, account)
        posted = wallet.grant(tx, found.id, amount, reason, reference, now_ms=clock.now_ms())
    show_posted(session, found, posted)


@command.command("adjust", epilog=examples("credits adjust --account 'Amina Foods' --credits -20 --reason 'Granted twice'"))
@account_option
@click.option("--credits", "amount", required=True, type=int, metavar="N", help="Below zero: taken away, never more than there are.")
@reference_options
def adjust(session: Session, account: str, amount: int, reason: str, reference: str | None) -> None:
    """Correct the credits, up or down."""
    from heliograph import accounts, wallet
    from heliograph.base import clock

    with session.write() as tx:
        found = accounts.find(tx, account)
        posted = wallet.adjust_credits(tx, found.id, amount, reason, reference, now_ms=clock.now_ms())
    show_posted(session, found, posted)
