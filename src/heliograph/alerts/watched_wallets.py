"""Keeps which accounts' wallets are watched for the operator, each with a threshold of its own."""

from typing import Final, NamedTuple

import sqlalchemy as sa
from sqlalchemy.engine import Connection

from heliograph import accounts
from heliograph.accounts import Account
from heliograph.alerts.rules import refused_number
from heliograph.alerts.tables import watched_wallets
from heliograph.alerts.upsert import lock_table, upsert
from heliograph.base.errors import InvalidRequest, NotFound
from heliograph.base.short_texts import invalid_field

WATCHED_MAX: Final = 100  # each is read at each look; and nobody cares for more
CREDITS_MAX: Final = 1_000_000_000


class WatchedWallet(NamedTuple):
    """Describes a wallet that is watched: fewer credits than these are an alert."""

    account: Account
    credits_min: int

    @property
    def text_id(self) -> str:
        return accounts.text_id(self.account)


def all_watched(tx: Connection) -> list[WatchedWallet]:
    """Returns the wallets that are watched, by their accounts' age."""
    columns = watched_wallets.c
    query = sa.select(watched_wallets).order_by(columns.account_id).limit(WATCHED_MAX)
    rows = tx.execute(query).all()
    owners = accounts.by_ids(tx, {row.account_id for row in rows})
    return [WatchedWallet(owners[row.account_id], row.credits_min) for row in rows]


def locked_watched(tx: Connection) -> list[WatchedWallet]:
    """Returns the wallets that are watched, which nobody else changes until the transaction
    ends.
    """
    lock_table(tx, watched_wallets)
    return all_watched(tx)


def watch_wallet(tx: Connection, account: str, credits_min: int) -> WatchedWallet:
    """Watches the wallet of an account, which is named by its id or its name, or changes its
    threshold. Raises InvalidRequest.
    """
    try:
        found = accounts.find(tx, account)
    except (NotFound, InvalidRequest) as none:
        raise invalid_field("account", f"was not found: {none}") from none
    if found.closed_at_ms is not None:
        raise invalid_field("account", "is closed: nothing is charged to its wallet any more")
    if not 1 <= credits_min <= CREDITS_MAX:
        allowed = f"1 to {CREDITS_MAX}{refused_number(credits_min)}"
        raise invalid_field("credits", f"must be a whole number, {allowed}")
    # two at once would each count the others, and not each other
    others = [each for each in locked_watched(tx) if each.account.id != found.id]
    if len(others) >= WATCHED_MAX:
        raise invalid_field("account", f"cannot be added: {WATCHED_MAX} are watched, end one first")
    upsert(tx, watched_wallets, {"account_id": found.id, "credits_min": credits_min})
    return WatchedWallet(found, credits_min)


def unwatch_wallet(tx: Connection, account: str) -> WatchedWallet:
    """Watches the wallet of an account no more. Raises NotFound."""
    found = accounts.find(tx, account)
    # of two at once, one finds none
    watched = [each for each in locked_watched(tx) if each.account.id == found.id]
    if not watched:
        raise NotFound("The wallet of this account is not watched.")
    tx.execute(watched_wallets.delete().where(watched_wallets.c.account_id == found.id))
    return watched[0]
