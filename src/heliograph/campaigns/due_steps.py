"""Finds the campaigns that have something to do, and takes the steps that need no operator. Each
step is one transaction of the caller's.
"""

from typing import Any, Final, NamedTuple

import sqlalchemy as sa
from sqlalchemy.engine import Connection

from heliograph.accounts.tables import accounts
from heliograph.base import clock, ids
from heliograph.campaigns import states
from heliograph.campaigns.campaign import by_id, change, move
from heliograph.campaigns.campaign_record import as_record
from heliograph.campaigns.tables import campaigns
from heliograph.messages.groups import tally_of
from heliograph.messages.tables import groups, tallies
from heliograph.opt_outs.tables import opt_outs
from heliograph.wallet import daily_cap
from heliograph.wallet.tables import wallets
from heliograph.webhooks import Event, emit_to_listeners

AT_WORK_MAX: Final = 1_000  # looked at at once; those that wait for credits come last
_ITS_END: Final = 0  # the place of `campaign.completed` in the ids that belong to a campaign


# What is asked every second is put together once: that costs more than asking.
_NOW_MS: Final = sa.bindparam("now_ms", type_=sa.BigInteger)
IS_DUE: Final = (
    campaigns.c.ended_at_ms.is_(None)
    & (campaigns.c.status == states.SCHEDULED)
    & (campaigns.c.scheduled_at_ms <= _NOW_MS)
)
_WAITS: Final = (
    (campaigns.c.status == states.PAUSED)
    & (campaigns.c.status_reason == states.PAUSED_BY_OPERATOR)
    & groups.c.held
)
_UNDER_WAY: Final = (
    campaigns.c.ended_at_ms.is_(None)
    & campaigns.c.status.not_in((states.DRAFT, states.SCHEDULED))
    & (~_WAITS | campaigns.c.expanded)
)
_GLANCE: Final = sa.select(
    sa.exists().where(_UNDER_WAY, groups.c.id == campaigns.c.group_id).label("under_way"),
    sa.exists().where(opt_outs.c.due_ms <= _NOW_MS).label("opted_out"),
    sa.exists().where(IS_DUE).label("due"),
)


class RunningCampaign(NamedTuple):
    """Describes a campaign that has begun and not ended. Its id is raw. `can_go_on` says that what
    it was paused for is over.
    """

    id: str
    group_id: int
    sandbox: bool
    status: str
    status_reason: str | None
    expanded: bool
    rate: int | None
    held: bool
    queued: int
    can_go_on: bool


class QuickCheck(NamedTuple):
    """Says whether there is anything to do, as far as one quick query can tell."""

    at_work: bool  # a campaign is under way, or somebody has opted out
    due: bool  # the time of a scheduled one has come


def quick_check(tx: Connection) -> QuickCheck:
    """Returns what there is to do. It is asked every second, also while there are no campaigns."""
    glance = tx.execute(_GLANCE, {"now_ms": clock.now_ms()}).one()
    return QuickCheck(bool(glance.under_way or glance.opted_out), bool(glance.due))


def running_campaigns(tx: Connection) -> list[RunningCampaign]:
    """Returns the campaigns that something can be done for, at most AT_WORK_MAX."""
    now_ms = clock.now_ms()
    return [
        RunningCampaign(
            row.id,
            row.group_id,
            bool(row.sandbox),
            status=row.status,
            status_reason=row.status_reason,
            expanded=bool(row.expanded),
            rate=row.rate,
            held=bool(row.held),
            queued=int(row.queued),
            can_go_on=_can_go_on(row, now_ms),
        )
        for row in tx.execute(_AT_WORK)
    ]


def _at_work() -> sa.Select[Any]:
    queued = sa.func.coalesce(
        sa.select(sa.func.sum(tallies.c.queued))
        .where(tallies.c.group_id == campaigns.c.group_id)
        .scalar_subquery(),
        0,
    )
    return (
        sa.select(
            campaigns.c.id,
            campaigns.c.group_id,
            campaigns.c.sandbox,
            campaigns.c.status,
            campaigns.c.status_reason,
            campaigns.c.expanded,
            campaigns.c.rate,
            groups.c.held,
            queued.label("queued"),
            campaigns.c.waits_for,
            wallets.c.sms_credits,
            wallets.c.spent_day,
            wallets.c.spent_credits,
            accounts.c.daily_credits,
        )
        .join_from(campaigns, groups, groups.c.id == campaigns.c.group_id)
        .join(wallets, wallets.c.account_id == campaigns.c.account_id)
        .join(accounts, accounts.c.id == campaigns.c.account_id)
        .where(_UNDER_WAY)
        .order_by(campaigns.c.status == states.PAUSED, campaigns.c.id)
        .limit(AT_WORK_MAX)
    )


_AT_WORK: Final = _at_work()


def _can_go_on(row: sa.Row[Any], now_ms: int) -> bool:
    """Returns whether there are credits for at least the next recipient, so that a campaign makes
    progress each time that it goes on.
    """
    if row.status_reason not in (states.INSUFFICIENT_CREDITS, states.DAILY_CAP_REACHED):
        return False
    needed = row.waits_for or 1
    spent = daily_cap.counted_today(row.spent_day, row.spent_credits, now_ms)
    left = daily_cap.left_today(row.daily_credits, spent)
    return bool(row.sms_credits >= needed and (left is None or left >= needed))


def go_on(tx: Connection, campaign: RunningCampaign) -> None:
    """Lets a campaign go on, because what it was paused for is over; unless somebody has just
    decided otherwise.
    """
    found = by_id(tx, campaign.id, lock=True)
    if (found.status, found.status_reason) == (states.PAUSED, campaign.status_reason):
        move(tx, found, states.SENDING, status_reason=None)


def complete(tx: Connection, campaign_id: str) -> bool:
    """Completes a campaign, once, when none of its messages is queued any more, and tells those who
    listen. Returns whether it did.
    """
    campaign = by_id(tx, campaign_id, lock=True)
    tally = tally_of(tx, campaign.group_id)
    if (
        campaign.status not in (states.SENDING, states.PAUSED)
        or not campaign.expanded
        or tally.queued
    ):
        return False
    now_ms = clock.now_ms()
    completed = move(
        tx,
        campaign,
        states.COMPLETED,
        status_reason=None,
        completed_at_ms=now_ms,
        ended_at_ms=now_ms,
    )
    end = Event(
        campaign.account_id,
        bool(campaign.sandbox),
        "campaign.completed",
        now_ms,
        as_record(completed, tally),
        number=ids.derived_number(int(campaign.id, 16), _ITS_END, now_ms),
    )
    emit_to_listeners(tx, campaign.account_id, lambda _: [end])
    return True


def end_canceled(tx: Connection, campaign_id: str) -> bool:
    """Ends a canceled campaign when nothing of it is queued any more. Returns whether it did."""
    found = by_id(tx, campaign_id, lock=True)
    if found.status != states.CANCELED or tally_of(tx, found.group_id).queued:
        return False
    change(tx, found, ended_at_ms=clock.now_ms())
    return True
