"""Finds the account that somebody has named in a field of a form, and names accounts in rows."""

from collections.abc import Collection
from typing import NamedTuple

from sqlalchemy.engine import Connection

from heliograph import accounts
from heliograph.accounts import Account
from heliograph.base.errors import InvalidRequest, NotFound
from heliograph.base.short_texts import invalid_field


class OwnerOfRow(NamedTuple):
    """Names an account, for a link to its page."""

    text_id: str
    name: str


def account_named(tx: Connection, field: str, text: str) -> Account:
    """Returns the account that a field names by its id or its name. Raises InvalidRequest."""
    try:
        return accounts.find(tx, text)
    except (NotFound, InvalidRequest) as none:
        raise invalid_field(field, f"was not found: {none}") from none


def owners_of_rows(tx: Connection, account_ids: Collection[str]) -> dict[str, OwnerOfRow]:
    """Returns how rows name these accounts, by their raw ids."""
    found = accounts.by_ids(tx, account_ids)
    return {
        account_id: OwnerOfRow(accounts.text_id(account), account.name)
        for account_id, account in found.items()
    }
