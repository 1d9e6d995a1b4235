"""Reads what the operators' log and an account's audit log have."""

from collections.abc import Sequence
from typing import Final

from heliograph import users
from heliograph.accounts import audit_log
from heliograph.base.paging import PageWanted
from heliograph.database.database import Database
from heliograph.users import OperatorEntry

LATEST: Final = PageWanted(20, None)


def logged(db: Database) -> Sequence[OperatorEntry]:
    """Returns what the operators' log has, newest first."""
    with db.read() as tx:
        return [each.entry for each in users.operator_entries(tx, LATEST)]


def told(db: Database, account_id: str) -> list[str]:
    """Returns which actions the account's audit log has, newest first."""
    with db.read() as tx:
        return [each.entry.action for each in audit_log.page(tx, account_id, LATEST)]
