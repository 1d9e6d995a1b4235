"""Finds the account that somebody has named in a field of a form."""

from sqlalchemy.engine import Connection

from heliograph import accounts
from heliograph.accounts import Account
from heliograph.base.errors import InvalidRequest, NotFound
from heliograph.base.short_texts import invalid_field


def account_named(tx: Connection, field: str, text: str) -> Account:
    """Returns the account that a field names by its id or its name. Raises InvalidRequest."""
    try:
        return accounts.find(tx, text)
    except (NotFound, InvalidRequest) as none:
        raise invalid_field(field, f"was not found: {none}") from none
