"""Finds what an account had at moments of the past. Its ledger tells it: each entry has the credits
and the money that were left after it.
"""

from collections.abc import Iterable
from typing import NamedTuple

import sqlalchemy as sa
from sqlalchemy.engine import Connection

from heliograph.base.paging import first_id_of
from heliograph.wallet.tables import ledger_entries


class LevelAt(NamedTuple):
    """Holds what an account had at a moment: credits, and money in minor units of its currency."""

    at_ms: int
    credits: int
    amount_minor: int


class _BalancesAfter(NamedTuple):
    """Holds what an entry left. `id` is that of the entry, raw."""

    id: str
    credits: int
    amount_minor: int


_NOTHING = _BalancesAfter("", 0, 0)


def levels(tx: Connection, account_id: str, moments_ms: Iterable[int]) -> list[LevelAt]:
    """Returns what an account (raw id) had at these moments, the oldest first. An entry counts from
    the millisecond after its own.
    """
    found: list[LevelAt] = []
    left: _BalancesAfter | None = None
    for at_ms in sorted(moments_ms, reverse=True):
        before = first_id_of(at_ms)
        if left is None or left.id >= before:
            left = max(
                _own_balances(tx, account_id, before),
                _balances_in_transfers(tx, account_id, before),
            )
        found.append(LevelAt(at_ms, left.credits, left.amount_minor))
    return found[::-1]


def _own_balances(tx: Connection, account_id: str, before: str) -> _BalancesAfter:
    """Returns the figures after the newest entry that was written for this account."""
    entry = ledger_entries.c
    query = (
        sa.select(
            entry.id,
            entry.credits_after.label("credits"),
            entry.balance_after_minor.label("amount_minor"),
        )
        .where(entry.account_id == account_id, entry.id < before)
        .order_by(entry.id.desc())
        .limit(1)
    )
    row = tx.execute(query).one_or_none()
    return _NOTHING if row is None else _BalancesAfter(**row._asdict())


def _balances_in_transfers(tx: Connection, account_id: str, before: str) -> _BalancesAfter:
    """Returns the figures after the newest transfer that was written for the other of its two
    accounts.
    """
    entry = ledger_entries.c
    query = (
        sa.select(
            entry.id,
            entry.counterpart_credits_after.label("credits"),
            entry.counterpart_balance_after_minor.label("amount_minor"),
        )
        .where(
            entry.counterpart_id == account_id,
            entry.counterpart_credits_after.is_not(None),
            entry.id < before,
        )
        .order_by(entry.id.desc())
        .limit(1)
    )
    row = tx.execute(query).one_or_none()
    return _NOTHING if row is None else _BalancesAfter(**row._asdict())
