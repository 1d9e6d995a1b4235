"""Withdraws what is queued for a phone that has just opted out, in the ordinary transaction that
stores the opt-out, and after it what was being accepted meanwhile.
"""

from sqlalchemy.engine import Connection

from heliograph.database.database import after_commit
from heliograph.database.hot import run_in
from heliograph.messages.sweeps.accepted_during_opt_out import cancel_accepted_beside
from heliograph.messages.sweeps.opt_out import UnwantedTexts, cancel_unwanted
from heliograph.opt_outs import OptOutOwner, OptOutScope


def withdraw(
    tx: Connection, owner: OptOutOwner, phone: str, scope: OptOutScope, now_ms: int
) -> None:
    """Cancels and refunds all that is queued for a phone (E.164 digits) in the scope of an opt-out,
    as `apply_keywords` does for a keyword. The opt-out was made at `now_ms`, in this
    transaction. Before whoever opened that goes on, what was accepted beside it is canceled, too.
    """
    unwanted = UnwantedTexts(owner.account_id, owner.sandbox, int(phone), scope.sender)
    run_in(tx, lambda hot: cancel_unwanted(hot, [unwanted], now_ms))
    if tx.dialect.name == "postgresql":  # SQLite has one writer: nobody accepts meanwhile
        after_commit(tx, lambda db: cancel_accepted_beside(db, unwanted, now_ms))
