"""Limits the credits that may leave an account in a day (UTC), be it by its own sends or by what a
partner moves to its customers.
"""

import sqlalchemy as sa
from sqlalchemy.engine import Connection

from heliograph.accounts import by_id
from heliograph.base.clock import DAY_MS
from heliograph.base.errors import RateLimited
from heliograph.wallet.tables import counted_today, wallets


class DailyCapReached(RateLimited):
    """The account has spent the credits that it may spend today (UTC)."""

    reason = "daily_cap_reached"


def left_today(cap: int | None, spent: int) -> int | None:
    """Returns the credits that may still leave the account today, or None if there is no bound.
    `spent` is today's. It is below zero when the cap was lowered since.
    """
    return None if cap is None else cap - spent


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
    spent = _credits_of_day(tx, partner_id, wallets.c.spent_day, wallets.c.spent_credits, today)
    moved = _credits_of_day(tx, customer_id, wallets.c.moved_day, wallets.c.moved_credits, today)
    if credits > 0:
        refusal = refusal_to_spend(by_id(tx, partner_id).daily_credits, spent, credits, now_ms)
        if refusal is not None:
            raise refusal
        counted = credits
    else:
        used = _credits_of_day(tx, customer_id, wallets.c.spent_day, wallets.c.spent_credits, today)
        counted = -min(-credits, max(0, moved - used), spent)
    if counted:
        tx.execute(
            sa.update(wallets)
            .where(wallets.c.account_id == partner_id)
            .values(spent_day=today, spent_credits=spent + counted)
        )
        tx.execute(
            sa.update(wallets)
            .where(wallets.c.account_id == customer_id)
            .values(moved_day=today, moved_credits=moved + counted)
        )


def _credits_of_day(
    tx: Connection, account_id: str, day: sa.Column[int], credits: sa.Column[int], today: int
) -> int:
    counted = sa.select(counted_today(day, credits)).where(wallets.c.account_id == account_id)
    return int(tx.execute(counted, {"today": today}).scalar_one())
