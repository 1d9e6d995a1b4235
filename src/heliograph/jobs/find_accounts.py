"""Finds accounts by anything that an operator may know of them: a name, an address, the id of
something that is theirs. A page and a command look here.
"""

from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Final

from sqlalchemy.engine import Connection

from heliograph import accounts, campaigns, connect, inbound, keys, plugin, senders, users
from heliograph.accounts import Account
from heliograph.base.errors import NotFound
from heliograph.base.paging import PageWanted
from heliograph.messages.doubt import trace
from heliograph.wallet import ledger
from heliograph.webhooks import endpoints

# one returns the accounts (raw ids) that an id in text form belongs to, or raises NotFound
_OwnersOfId = Callable[[Connection, str, PageWanted], Collection[str]]


def find(tx: Connection, looked_for: str, wanted: PageWanted) -> Sequence[Account]:
    """Returns the account with this id, or the accounts that something with this id belongs to. Or
    else it returns, newest first, those with this text in their name, with a member of this
    address, with this sender ID, with a key that begins so, with this reference of their partner,
    or with a site of this URL or host. With an empty text it returns all.
    """
    try:
        return [accounts.with_text_id(tx, looked_for)]
    except NotFound:
        pass
    owners = _owners_of_id(tx, looked_for, wanted)
    if not owners:
        return _with_words(tx, looked_for, wanted)
    below = {each for each in owners if wanted.before is None or each < wanted.before}
    found = accounts.by_ids(tx, below)
    return [found[account_id] for account_id in sorted(found, reverse=True)[: wanted.limit]]


def _with_words(tx: Connection, looked_for: str, wanted: PageWanted) -> Sequence[Account]:
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


def _owners_of_id(tx: Connection, text_id: str, wanted: PageWanted) -> Collection[str]:
    owners_of = _OWNERS.get(text_id.partition("_")[0])
    try:
        return () if owners_of is None else owners_of(tx, text_id, wanted)
    except NotFound:
        return ()


def _of_user(tx: Connection, text_id: str, wanted: PageWanted) -> Collection[str]:
    email = users.find(tx, text_id).email
    return users.accounts_of(tx, email, limit=wanted.limit, before_id=wanted.before)


def _of_number(tx: Connection, text_id: str, _: PageWanted) -> Collection[str]:
    """Returns the account that the number is of, or that gets what no other one of those that share
    it gets.
    """
    getter_id = inbound.number_with_id(tx, text_id).getter_id
    return () if getter_id is None else (getter_id,)


# each looks one thing up by its primary key
_OWNERS: Final[Mapping[str, _OwnersOfId]] = {
    "usr": _of_user,
    "key": lambda tx, text_id, _: (keys.find(tx, text_id).account_id,),
    "sid": lambda tx, text_id, _: (senders.find(tx, text_id).account_id,),
    "txn": lambda tx, text_id, _: ledger.owners_of_entry(tx, text_id),
    "msg": lambda tx, text_id, _: (trace.trace_message(tx, text_id).account_id,),
    "snd": lambda tx, text_id, _: (trace.owner_of_send(tx, text_id),),
    "whe": lambda tx, text_id, _: (endpoints.endpoint_of(tx, text_id).account_id,),
    "cmp": lambda tx, text_id, _: (campaigns.find(tx, text_id).account_id,),
    "num": _of_number,
}
