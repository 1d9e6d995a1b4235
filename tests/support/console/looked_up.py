"""Looks up where the console shows an account, and what operators did."""

from heliograph import accounts, users
from heliograph.base.paging import PageWanted
from heliograph.database.database import Database


def page_of(db: Database, account_id: str) -> str:
    """Returns the path of the page of an account (raw id)."""
    with db.read() as tx:
        return f"/console/accounts/{accounts.text_id(accounts.by_id(tx, account_id))}"


def operators_did(db: Database) -> list[str]:
    """Returns the newest actions of their log, newest first."""
    with db.read() as tx:
        return [each.entry.action for each in users.operator_entries(tx, PageWanted(9, None))]
