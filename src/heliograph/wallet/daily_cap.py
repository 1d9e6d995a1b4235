"""Limits the credits that may leave an account in a day (UTC), be it by its own sends or by what a
partner moves to its customers.
"""

from typing import Final, NamedTuple

import sqlalchemy as sa
from sqlalchemy.engine import Connection

from heliograph.accounts import by_id
from heliograph.accounts.tables import accounts
from heliograph.base.clock import DAY_MS
from heliograph.base.errors import RateLimited
from heliograph.wallet.tables import wallets

_COUNTED: Final = sa.select(
    wallets.c.spent_day, wallets.c.spent_credits, wallets.c.moved_day, wallets.c.moved_credits
)

_CAP_AND_SPENT: Final = sa.select(
    wallets.c.spent_day, wallets.c.spent_credits, accounts.c.daily_credits
).join_from(wallets, accounts, accounts.c.id == wallets.c.account_id)


class DailyCapReached(RateLimited):
    """The account has spent the credits that it may spend today (UTC)."""

    reason = "daily_cap_reached"


def counted_today(day: int, credits: int, now_ms: int) -> int:
    """Returns the credits that a wallet has counted on the day of `now_ms`. That is `credits`, if
    they were counted on that day, and else 0. `day` is in days since 1970 (UTC).
    """
    return credits if day == now_ms // DAY_MS else 0


def left_today(cap: int | None, spent: int) -> int | None:
    """Returns the credits that may still leave the account today, or None if there is no bound.
    `spent` is today's. It is below zero when the cap was lowered since.
    """
    return None if cap is None else cap - spent


class CapOfAccount(NamedTuple):
    """Holds the credits that may leave an account in a day (UTC), and those that still may today,
    which are never below zero.
    """

    credits_a_day: int
    left_today: int


def cap_of_account(tx: Connection, account_id: str, now_ms: int) -> CapOfAccount | None:
    """Returns the cap of an account (raw id), without a lock, or None if it has none."""
    row = tx.execute(_CAP_AND_SPENT.where(wallets.c.account_id == account_id)).one()
    if row.daily_credits is None:
        return None
    spent = counted_today(row.spent_day, row.spent_credits, now_ms)
    return CapOfAccount(row.daily_credits, max(0, row.daily_credits - spent))


def refusal_to_spend(
    cap: int | None, spent: int, credits: int, now_ms: int
) -> DailyCapReached | None:
    """Returns why `credits` more may not leave the account today, or None if they may. `cap` None
    means no bound. `spent` is today's.
    """
    left = left_today(cap, spent)
    if left is None or credits <= left:
        return None
    return DailyCapReached(
        f"This account may spend {cap} credits a day, and has spent {spent}, including credits"
        f" moved to customers; this is {credits} more.",
        retry_after_s=(DAY_MS - now_ms % DAY_MS) // 1_000 + 1,
    )


def count_moved(
    tx: Connection, partner_id: str, customer_id: str, credits: int, now_ms: int
) -> None:
    """Counts credits that were moved to a customer as spent by its partner; both wallets are
    locked, and the ids raw.

    Below zero, they are taken back. That gives back what was moved to this customer today and is
    left, without what it has sent meanwhile: what was moved on earlier days was counted then.
    Raises DailyCapReached; then the caller moves nothing.
    """
    today = now_ms // DAY_MS
    spent = _of_today(tx, partner_id, now_ms).spent
    customer = _of_today(tx, customer_id, now_ms)
    if credits > 0:
        refusal = refusal_to_spend(by_id(tx, partner_id).daily_credits, spent, credits, now_ms)
        if refusal is not None:
            raise refusal
        counted = credits
    else:
        counted = -min(-credits, max(0, customer.moved - customer.spent), spent)
    if counted:
        tx.execute(
            sa.update(wallets)
            .where(wallets.c.account_id == partner_id)
            .values(spent_day=today, spent_credits=spent + counted)
        )
        tx.execute(
            sa.update(wallets)
            .where(wallets.c.account_id == customer_id)
            .values(moved_day=today, moved_credits=customer.moved + counted)
        )


class _OfToday(NamedTuple):
    """Holds the credits that a wallet has counted today."""

    spent: int
    moved: int


def _of_today(tx: Connection, account_id: str, now_ms: int) -> _OfToday:
    row = tx.execute(_COUNTED.where(wallets.c.account_id == account_id)).one()
    return _OfToday(
        spent=counted_today(row.spent_day, row.spent_credits, now_ms),
        moved=counted_today(row.moved_day, row.moved_credits, now_ms),
    )
