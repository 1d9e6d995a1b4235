"""Describes a campaign as the API and its event show it (docs/api.md, "Campaigns"), and says how
far it is.
"""

from typing import Any, NamedTuple

from heliograph.base.clock import rfc3339, rfc3339_or_none
from heliograph.campaigns.campaign import Campaign, text_id
from heliograph.messages.groups import GroupTally


class Progress(NamedTuple):
    """Says how many messages have left the queue, of how many."""

    left: int
    of: int


def as_record(campaign: Campaign, tally: GroupTally | None = None) -> dict[str, Any]:
    """Returns the fields of a campaign, with `statistics` where its tally is given, which lists
    leave out.
    """
    record = {
        "id": text_id(campaign),
        "name": campaign.name,
        "status": campaign.status,
        "status_reason": campaign.status_reason,
        "sender": campaign.sender,
        "message": campaign.text,
        "recipients_total": campaign.recipients_total,
        "scheduled_at": rfc3339_or_none(campaign.scheduled_at_ms),
        "started_at": rfc3339_or_none(campaign.started_at_ms),
        "completed_at": rfc3339_or_none(campaign.completed_at_ms),
        "created_at": rfc3339(campaign.created_at_ms),
        "sandbox": bool(campaign.sandbox),
    }
    return record if tally is None else {**record, "statistics": statistics(tally)}


def statistics(tally: GroupTally) -> dict[str, Any]:
    """Counts messages by present status. `delivery_rate` is the part that was delivered of all that
    left or failed, 0 to 1, rounded down: 1 is all of them. It is None while there are none.
    """
    decided = tally.sent + tally.delivered + tally.failed
    return {
        "queued": tally.queued,
        "sent": tally.sent,
        "delivered": tally.delivered,
        "failed": tally.failed,
        "segments": tally.segments,
        "credits_used": tally.credits,
        "delivery_rate": tally.delivered * 10_000 // decided / 10_000 if decided else None,
    }


def progress_of(campaign: Campaign, tally: GroupTally) -> Progress | None:
    """Returns how far a campaign is that has begun. While its messages are still being made, the
    frozen audience says how many there will be.
    """
    if campaign.started_at_ms is None:
        return None
    left = tally.sent + tally.delivered + tally.failed
    made = left + tally.queued
    expected = 0 if campaign.expanded else campaign.recipients_total - campaign.refused
    return Progress(left, max(made, expected))
