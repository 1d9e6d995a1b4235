"""Proves the tallies: the figures that are stored for a group must be the sums of its messages.

Messages may be deleted, and their tallies stay (retention.py): a campaign that may have lost some
is not asked.
"""

from collections import defaultdict
from itertools import islice
from typing import Final

import sqlalchemy as sa
from sqlalchemy.engine import Connection

from heliograph.base import ids
from heliograph.database.reads import raw_id
from heliograph.messages.groups import GroupTally
from heliograph.messages.read import CAMPAIGN_PREFIX
from heliograph.messages.retention import MESSAGES, first_kept
from heliograph.messages.tables import groups, messages, tallies
from heliograph.wallet import DISCREPANCIES_MAX, Discrepancy

NOTHING: Final = GroupTally()


def verify_tallies(tx: Connection) -> list[Discrepancy]:
    """Returns what is wrong with tallies: nothing, if all agree, and at most DISCREPANCIES_MAX."""
    first = first_kept(tx, MESSAGES)
    counted, stored = _count_messages(tx, first), _stored_tallies(tx)
    query = sa.select(
        groups.c.id,
        raw_id(groups.c.account_id).label("account_id"),
        raw_id(groups.c.campaign_id).label("campaign_id"),
    ).where(groups.c.campaign_id >= first)
    wrong = (
        Discrepancy(row.account_id, what)
        for row in tx.execute(query.order_by(groups.c.id))
        if (
            what := _difference(
                row.campaign_id, counted.get(row.id, NOTHING), stored.get(row.id, NOTHING)
            )
        )
    )
    return list(islice(wrong, DISCREPANCIES_MAX))


def _difference(campaign_id: str, counted: GroupTally, stored: GroupTally) -> str | None:
    if counted == stored:
        return None
    figures = [
        f"{name} {stored_figure} (its messages add up to {counted_figure})"
        for name, stored_figure, counted_figure in zip(
            GroupTally._fields, stored, counted, strict=True
        )
        if stored_figure != counted_figure
    ]
    return (
        f"the tallies of {ids.text_of_raw(CAMPAIGN_PREFIX, campaign_id)} say {', '.join(figures)}"
    )


def _stored_tallies(tx: Connection) -> dict[int, GroupTally]:
    columns = [sa.func.sum(tallies.c[name]).label(name) for name in GroupTally._fields]
    query = sa.select(tallies.c.group_id, *columns).group_by(tallies.c.group_id)
    return {
        row.group_id: GroupTally(**{name: int(row._mapping[name]) for name in GroupTally._fields})
        for row in tx.execute(query)
    }


def _count_messages(tx: Connection, first: str) -> dict[int, GroupTally]:
    """Counts all messages from the id `first` on in one look."""
    columns = messages.c
    query = sa.select(
        columns.group_id,
        columns.status,
        sa.func.count().label("messages"),
        sa.func.sum(columns.segments).label("segments"),
        sa.func.sum(columns.credits - columns.refunded).label("credits"),
    ).where(columns.group_id.is_not(None), columns.id >= first)
    found: dict[int, GroupTally] = defaultdict(GroupTally)
    for row in tx.execute(query.group_by(columns.group_id, columns.status)):
        before = found[row.group_id]
        found[row.group_id] = before._replace(
            segments=before.segments + int(row.segments),
            credits=before.credits + int(row.credits),
            **{row.status: row.messages},
        )
    return found
