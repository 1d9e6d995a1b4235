"""`heliograph ledger …`."""

from typing import TYPE_CHECKING

import click

from heliograph.entry.cli.command import Failure, Noun, Session, examples
from heliograph.entry.cli.output import show

if TYPE_CHECKING:
    from collections.abc import Sequence

    from sqlalchemy.engine import Connection

    from heliograph.wallet import Discrepancy

command = Noun("ledger", help="The ledger: every change of money and credits, in entries that are only ever added.")


@command.command("verify", epilog=examples("ledger verify"))
def verify(session: Session) -> None:
    """Prove the ledger. Wallets are the sum of their entries, charges and refunds those of the messages, nothing is below zero.

    Works beside a running server. Exit status 1, and what is wrong with which account, if it is not so."""
    from heliograph.messages.verify import verify_charges
    from heliograph.wallet import hold_still, size, verify

    with session.read() as tx:
        hold_still(tx)
        found = [*verify(tx), *verify_charges(tx)]
        counts = size(tx)
        told = _told(tx, found)
    discrepancies = {"discrepancies": [{"account_id": account_id, "what": what} for account_id, what in told]} if session.as_json else {}
    show(session, {"proven": not found, **counts, **discrepancies})
    if not found:
        return
    if not session.as_json:
        click.echo("\n".join(f"{account_id}: {what}" for account_id, what in told))
    account_id, what = told[0]
    raise Failure(f"The ledger is not proven: account {account_id}: {what}" + (f" (and {len(told) - 1} more)" if len(told) > 1 else ""))


def _told(tx: "Connection", found: "Sequence[Discrepancy]") -> list[tuple[str, str]]:
    """With the accounts' ids as they are shown."""
    from heliograph.accounts import by_id, text_id
    from heliograph.base.errors import NotFound

    told = []
    for account_id, what in found:
        try:
            shown = text_id(by_id(tx, account_id))
        except NotFound:  # of an entry's counterpart: nothing keeps that from being anything
            shown = account_id
        told.append((shown, what))
    return told
