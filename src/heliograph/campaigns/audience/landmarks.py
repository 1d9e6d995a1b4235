"""Finds a sample of a file's numbers without reading all of them: by landmarks among them, which
are noted once, when the file has been read.
"""

from typing import Any, Final

import sqlalchemy as sa
from sqlalchemy.engine import Connection

from heliograph.base.json import encode
from heliograph.campaigns.audience import members
from heliograph.campaigns.audience.recipients import AudienceMember
from heliograph.campaigns.campaign import Campaign
from heliograph.campaigns.tables import campaign_recipients
from heliograph.database.arrays import literal

LANDMARKS: Final = 125  # about 1.4 kB of a campaign's row
EACH: Final = 8  # numbers that are looked at behind each landmark: 1,000 in all
LANDMARKED_MIN: Final = 4_000  # numbers; of fewer, every place is soon read
UNNAMED: Final = 100  # a landmark lacks a number's last two digits: it is nobody's
_HIGHEST: Final = 10**18  # above every phone number


def landmarks_among(tx: Connection, campaign: Campaign, size: int) -> tuple[int, ...]:
    """Returns the first digits of the numbers with which equal parts of all `size` recipients
    begin; none if there are few. It reads all of them: 0.4 s for a million.
    """
    if size < LANDMARKED_MIN:
        return ()
    recipient = campaign_recipients.c.recipient
    place = sa.func.row_number().over(order_by=recipient)
    placed = (
        sa.select(recipient, (place - 1).label("before"))
        .where(campaign_recipients.c.group_id == campaign.group_id)
        .subquery("placed")
    )
    begins = placed.c.before % -(-size // LANDMARKS) == 0
    found = tx.execute(sa.select(placed.c.recipient).where(begins).order_by(placed.c.recipient))
    return tuple(number // UNNAMED for number in found.scalars())


def read_at_landmarks(
    tx: Connection, campaign: Campaign
) -> list[tuple[AudienceMember, int | None]]:
    """Returns the recipients behind each landmark of a campaign, with the segments of their own
    texts, if they have any. Where landmarks stand close together, some come more than once: each
    landmark stands for as many people.
    """
    table = campaign_recipients.c
    landmark = _values(tx, [each * UNNAMED for each in campaign.audience.landmarks])
    its = (table.group_id == campaign.group_id) & (table.recipient >= landmark.c.value)
    others = campaign_recipients.alias("others")
    last = (
        sa.select(others.c.recipient)
        .where(
            others.c.group_id == campaign.group_id,
            others.c.recipient >= landmark.c.value,
        )
        .order_by(others.c.recipient)
        .offset(EACH - 1)
        .limit(1)
        .correlate(landmark)
        .scalar_subquery()
    )
    upto = sa.func.coalesce(last, sa.literal(_HIGHEST, sa.BigInteger))
    reach = members.reach_of(campaign, table.recipient)
    # An outer join, because its order is kept: SQLite would otherwise compare every number of the
    # campaign with every landmark.
    query = sa.select(table.recipient, table.country_code, table.segments, reach).select_from(
        landmark.outerjoin(campaign_recipients, its & (table.recipient <= upto))
    )
    return [
        (AudienceMember(row.recipient, row.reach, row.country_code, None, None), row.segments)
        for row in tx.execute(query)
        if row.recipient is not None  # all behind a landmark were erased
    ]


def _values(tx: Connection, numbers: list[int]) -> Any:
    """Returns the numbers as a table with the column `value`."""
    if tx.dialect.name == "postgresql":
        from sqlalchemy.dialects.postgresql import ARRAY  # not needed on SQLite, and heavy

        array = sa.cast(sa.literal(literal(numbers), sa.Text), ARRAY(sa.BigInteger))
        its = sa.func.unnest(array).table_valued(sa.column("value", sa.BigInteger), name="landmark")
        return its.render_derived()
    text = encode(numbers).decode()
    return sa.func.json_each(text).table_valued(sa.column("value", sa.BigInteger), name="landmark")
