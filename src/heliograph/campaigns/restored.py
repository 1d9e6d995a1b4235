"""Stops the campaigns of a restored copy of the database, until somebody says that they go on.

The copy does not know how far they came after it was taken: its recipients' cursor stands where it
stood then. Nor does it know which scheduled ones were launched since.
"""

from typing import NamedTuple

import sqlalchemy as sa
from sqlalchemy.engine import Connection

from heliograph.campaigns import states
from heliograph.campaigns.campaign import by_id, move, text_id
from heliograph.campaigns.lifecycle import pause
from heliograph.campaigns.tables import campaigns


class Stopped(NamedTuple):
    """Describes a campaign that was stopped: its id in text form, and what it is now."""

    id: str
    status: str


def stop_all(tx: Connection, now_ms: int) -> list[Stopped]:
    """Pauses the campaigns that are under way, also those that wait for credits and would go on by
    themselves. Campaigns that were scheduled for a time that is over become drafts again.
    """
    columns = campaigns.c
    goes_on = columns.status.in_((states.SENDING, states.PAUSED)) & (
        columns.status_reason.is_(None) | (columns.status_reason != states.PAUSED_BY_OPERATOR)
    )
    is_over = (columns.status == states.SCHEDULED) & (columns.scheduled_at_ms <= now_ms)
    found = tx.execute(
        sa.select(columns.id)
        .where(columns.ended_at_ms.is_(None), goes_on | is_over)
        .order_by(columns.id)
    )
    return [_stop(tx, campaign_id) for campaign_id in found.scalars().all()]


def _stop(tx: Connection, campaign_id: str) -> Stopped:
    campaign = by_id(tx, campaign_id, lock=True)
    is_scheduled = campaign.status == states.SCHEDULED
    stopped = (
        move(tx, campaign, states.DRAFT, scheduled_at_ms=None, freezing=None)
        if is_scheduled
        else pause(tx, campaign_id)
    )
    return Stopped(text_id(stopped), stopped.status)
