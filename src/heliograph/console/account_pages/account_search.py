"""Leads from a whole API key that an operator was given to the key's page.

A key opens an account, so it stands in no address, on no page and in no log: it is found by its
digest, and otherwise only its beginning is looked for, which lists show.
"""

from urllib.parse import urlencode

from sqlalchemy.engine import Connection

from heliograph import accounts, keys
from heliograph.console.navigation import ACCOUNTS


def place_of_key(tx: Connection, looked_for: str) -> str | None:
    """Returns where a search for an API key leads: to the page of the key, or to the accounts whose
    keys begin like it. It returns None for what is no whole key.
    """
    written = keys.written_in(looked_for)
    if written is None:
        return None
    key = keys.with_text(tx, written)
    if key is None:
        return address_of_search(written[: keys.SHOWN_LENGTH])
    owner = accounts.by_id(tx, key.account_id)
    return f"{ACCOUNTS}/{accounts.text_id(owner)}/keys/{keys.text_id(key)}"


def address_of_search(looked_for: str) -> str:
    """Returns the address of the list of accounts that were looked for."""
    return f"{ACCOUNTS}?{urlencode({'q': looked_for})}" if looked_for else ACCOUNTS
