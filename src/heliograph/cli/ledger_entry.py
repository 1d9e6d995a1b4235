"""The commands that change a wallet make their ledger entry, and show it, in one way."""

from typing import TYPE_CHECKING, Protocol

from heliograph.cli.command import CommandRun
from heliograph.cli.output import show

if TYPE_CHECKING:
    from sqlalchemy.engine import Connection

    from heliograph.wallet.ledger import Posted


class MakeEntry(Protocol):
    """Makes an entry of an account (raw id), or finds the one that the same reference made."""

    def __call__(self, tx: "Connection", account_id: str, /, *, now_ms: int) -> "Posted": ...


def post_entry(run: CommandRun, account: str, make: MakeEntry) -> None:
    """Makes an entry by one of the wallet's functions, and shows it: a new one, or the one that the
    same reference made before. `account` is a name or an id.
    """
    from heliograph import accounts
    from heliograph.base import clock
    from heliograph.wallet import ledger

    with run.write() as tx:
        found = accounts.find(tx, account)
        posted = make(tx, found.id, now_ms=clock.now_ms())
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
