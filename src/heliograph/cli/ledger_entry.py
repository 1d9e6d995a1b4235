"""The commands that change a wallet make their ledger entry, and show it, in one way."""

from collections.abc import Callable
from typing import TYPE_CHECKING

from heliograph.cli.command import CommandRun
from heliograph.cli.output import show

if TYPE_CHECKING:
    from heliograph.wallet.ledger import Posted


def post_entry(
    run: CommandRun, make: "Callable[..., Posted]", account: str, *change: object
) -> None:
    """Makes an entry by one of the wallet's functions, `make(tx, account_id, *change,
    now_ms=…)`: new, or as the same reference made it before.
    """
    from heliograph import accounts
    from heliograph.base import clock
    from heliograph.wallet import ledger

    with run.write() as tx:
        found = accounts.find(tx, account)
        posted = make(tx, found.id, *change, now_ms=clock.now_ms())
    record = ledger.as_record(posted.entry)
    note = (
        None
        if posted.applied
        else "Nothing was changed: this reference was already applied, as shown."
    )
    show(
        run,
        {
            "id": record.pop("id"),
            "account_id": accounts.text_id(found),
            **record,
            "applied": posted.applied,
        },
        note=note,
    )
