"""How a ledger entry is shown by the commands that make one."""

from typing import TYPE_CHECKING

from heliograph.entry.cli.command import Session
from heliograph.entry.cli.output import show

if TYPE_CHECKING:
    from heliograph.accounts import Account
    from heliograph.wallet import Posted


def show_posted(session: Session, account: "Account", posted: "Posted") -> None:
    """The entry, new or as the same reference made it before."""
    from heliograph.accounts import text_id
    from heliograph.wallet import as_record

    record = as_record(posted.entry)
    note = None if posted.applied else "Nothing was changed: this reference had been applied before, as shown."
    show(session, {"id": record.pop("id"), "account_id": text_id(account), **record, "applied": posted.applied}, note=note)
