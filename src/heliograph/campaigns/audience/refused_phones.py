"""Says in SQL who wants no texts of a campaign."""

import sqlalchemy as sa

from heliograph.campaigns.campaign import AudienceHolder
from heliograph.opt_outs import WHOLE_ACCOUNT, scope_of_sender
from heliograph.opt_outs.tables import suppressions


def refuses(campaign: AudienceHolder, phone: sa.ColumnElement[int]) -> sa.ColumnElement[bool]:
    """Returns the condition that this phone wants no texts of the campaign's account, or of its
    sender. Each phone is looked up by the index: so neither the number of opt-outs nor the
    planner's estimate of it makes a difference.
    """
    columns = suppressions.c
    senders = {WHOLE_ACCOUNT.sender, scope_of_sender(campaign.sender).sender}
    return sa.exists().where(
        columns.account_id == campaign.account_id,
        columns.sandbox == sa.literal(campaign.sandbox),
        columns.phone == phone,
        columns.sender.in_(sorted(senders)),
    )
