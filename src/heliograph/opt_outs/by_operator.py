"""Opts a phone out of an account on behalf of the operator, who no keyword can overrule, and finds
the opt-outs of a phone in all accounts.
"""

from typing import NamedTuple

import sqlalchemy as sa
from sqlalchemy.engine import Connection

from heliograph.accounts.tables import accounts
from heliograph.database.reads import of_every
from heliograph.opt_outs.read import SUPPRESSION_COLUMNS, opt_outs_of, suppression_of_row
from heliograph.opt_outs.suppress import suppress
from heliograph.opt_outs.suppression import OptOutOwner, OptOutScope, Suppression, Withdraw
from heliograph.opt_outs.tables import OptOutSource, suppressions


class StoredOptOut(NamedTuple):
    """Holds an opt-out as it is stored now. `is_new` says whether there was none before."""

    opt_out: Suppression
    is_new: bool


class OwnedOptOut(NamedTuple):
    """Holds an opt-out, and whose it is."""

    owner: OptOutOwner
    opt_out: Suppression


def opt_phone_out(
    tx: Connection,
    owner: OptOutOwner,
    phone: str,
    scope: OptOutScope,
    withdraw: Withdraw,
    *,
    now_ms: int,
) -> StoredOptOut:
    """Sees to it that a phone (E.164 digits) gets no more texts of the scope, and cancels what is
    queued for it. Its owner cannot undo this by texting a keyword.
    """
    new = suppress(tx, owner, [phone], source=OptOutSource.OPERATOR, now_ms=now_ms, scope=scope)
    withdraw(tx, owner, phone, scope, now_ms)
    [stored] = [each for each in opt_outs_of(tx, owner, phone) if each.scope == scope]
    return StoredOptOut(stored, bool(new))


def opt_outs_everywhere(
    tx: Connection, phone: str, *, sandbox: bool, account_id: str | None = None, limit: int
) -> list[OwnedOptOut]:
    """Returns at most `limit` opt-outs of a phone (E.164 digits) in a mode, newest first: those
    from all accounts, or from one (raw id). There is no index by phone alone, so the primary key
    is asked for each account, which takes 3 µs.
    """
    columns = suppressions.c
    whose = (
        of_every(tx, columns.account_id, sa.select(accounts.c.id))
        if account_id is None
        else columns.account_id == account_id
    )
    query = sa.select(*SUPPRESSION_COLUMNS, columns.account_id, columns.sandbox).where(
        whose, columns.sandbox.is_(sandbox), columns.phone == int(phone)
    )
    return [
        OwnedOptOut(OptOutOwner(row.account_id, row.sandbox), suppression_of_row(row))
        for row in tx.execute(query.order_by(columns.id.desc()).limit(limit))
    ]
