"""Finds accounts by anything that an operator may know of them: a page and a command look here."""

from collections.abc import Sequence

from sqlalchemy.engine import Connection

from heliograph import accounts, connect, keys, plugin, senders, users
from heliograph.accounts import Account
from heliograph.base.errors import NotFound
from heliograph.base.paging import PageWanted


def find(tx: Connection, looked_for: str, wanted: PageWanted) -> Sequence[Account]:
    """Returns the account with this id, or else, newest first, those with this text in their name,
    with a member of this address, with this sender ID, with a key that begins so, with this
    reference of their partner, or with a site of this URL or host. With an empty text it returns
    all.
    """
    try:
        return [accounts.with_text_id(tx, looked_for)]
    except NotFound:
        pass
    limit, before = wanted.limit, wanted.before
    named = accounts.search_by_name(tx, looked_for, limit=limit, before_id=before)
    if not looked_for:
        return named
    # each gives its newest ones, so the newest of all are among them
    owners = {
        *users.accounts_of(tx, looked_for, limit=limit, before_id=before),
        *senders.owners_of(tx, looked_for, limit=limit, before_id=before),
        *keys.owners_of(tx, looked_for, limit=limit, before_id=before),
        *connect.accounts_with_ref(tx, looked_for, limit=limit, before_id=before),
        *plugin.owners_of(tx, looked_for, limit=limit, before_id=before),
    }
    found = {account.id: account for account in named} | accounts.by_ids(tx, owners)
    return [found[account_id] for account_id in sorted(found, reverse=True)[:limit]]
