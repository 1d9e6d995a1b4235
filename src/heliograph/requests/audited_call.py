"""Writes into the audit log what a request has changed."""

from sqlalchemy.engine import Connection

from heliograph import accounts
from heliograph.accounts import AuditEntry, Author, AuthorKind
from heliograph.base import clock
from heliograph.requests.endpoint import Call


def audit_call(
    tx: Connection, call: Call, account_id: str, entry: AuditEntry, *, is_counted: bool = False
) -> None:
    """Stores that the key of this request has made a change to the account (raw id), which is its
    own or a Connect customer's. `is_counted` says whether it is one of very many, which are counted
    by hour.
    """
    who = call.principal
    author = Author(AuthorKind.KEY, who.key_id, f"{who.key_prefix}…")
    store = accounts.audit_in_bulk if is_counted else accounts.audit
    store(tx, account_id, author, entry, now_ms=clock.now_ms())
