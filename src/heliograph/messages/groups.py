"""A group holds messages that belong together beyond one send: those of a campaign. It knows how
many of them are in each state.

The figures are kept, not counted. A transaction that stores a change adds it to a row of its own
slot. So nobody waits for another, and a look at a million messages is a sum over a few rows.
"""

import os
from collections.abc import Iterable
from typing import Final, NamedTuple

import sqlalchemy as sa
from sqlalchemy.engine import Connection

from heliograph.database.hot import HotTx
from heliograph.database.statements import (
    BatchStatement,
    BigInt,
    Bool,
    Id,
    Insert,
    Int,
    Nothing,
    Row,
    SmallInt,
    columns_of,
    portable,
)
from heliograph.messages.queue.rank import HELD_FROM_US, RESTORED_FROM_US
from heliograph.messages.tables import groups, queue, sends, tallies

# Why a chunk of a group is not accepted, or only in part: `status_reason` of its campaign.
INSUFFICIENT_CREDITS: Final = "insufficient_credits"
DAILY_CAP_REACHED: Final = "daily_cap_reached"
SENDER_NOT_APPROVED: Final = "sender_not_approved"
ACCOUNT_SUSPENDED: Final = "account_suspended"  # of a closed account, too

SLOTS: Final = 64  # rows of one group: what two add at once meets in one row only by chance


class GroupTally(NamedTuple):
    """Counts the messages of a group by present status, their segments, and the credits charged for
    them, less what was refunded.
    """

    queued: BigInt = 0
    sent: BigInt = 0
    delivered: BigInt = 0
    failed: BigInt = 0
    segments: BigInt = 0
    credits: BigInt = 0


class _Added(Row, frozen=True):
    """Says what is added to a row of `tallies`."""

    group_id: Int
    slot: SmallInt
    queued: BigInt
    sent: BigInt
    delivered: BigInt
    failed: BigInt
    segments: BigInt
    credits: BigInt


_COLUMNS: Final = columns_of(_Added)
_SUMS: Final = ", ".join(
    f"{name} = tallies.{name} + excluded.{name}" for name in GroupTally._fields
)
_UPSERT: Final = f"ON CONFLICT (group_id, slot) DO UPDATE SET {_SUMS}"
_ADD: Final = Insert("tallies", _Added, _UPSERT)


class _GroupId(Row, frozen=True):
    id: Int


class _GroupState(Row, frozen=True):
    id: Int
    held: Bool
    canceled_at_ms: BigInt | None


class _CampaignGroup(Row, frozen=True):
    id: Int
    campaign_id: Id


class _CanceledGroup(Row, frozen=True):
    id: Int
    now_ms: BigInt


_CANCEL: Final = portable(
    _CanceledGroup,
    Nothing,
    """
    UPDATE groups SET canceled_at_ms = :now_ms WHERE id = :id AND canceled_at_ms IS NULL""",
)
# Locked, for another transaction may be about to say that nothing of the group waits where a
# carrier takes it from, or nothing of it is held.
_STATES: Final = BatchStatement(
    _GroupId,
    _GroupState,
    postgresql="""
        SELECT id, held, canceled_at_ms FROM groups WHERE id = ANY(:id) ORDER BY id FOR SHARE""",
    sqlite="SELECT id, held, canceled_at_ms FROM groups WHERE id = :id",
)
_CAMPAIGNS: Final = BatchStatement(
    _GroupId,
    _CampaignGroup,
    postgresql="SELECT id, campaign_id FROM groups WHERE id = ANY(:id)",
    sqlite="SELECT id, campaign_id FROM groups WHERE id = :id",
)


def open_group(tx: Connection, account_id: str, campaign_id: str, *, sandbox: bool) -> int:
    """Makes a group for the messages of one campaign (raw id), and returns its id."""
    added = tx.execute(
        sa.insert(groups).values(
            account_id=account_id, sandbox=sandbox, campaign_id=campaign_id, held=False
        )
    )
    key = added.inserted_primary_key
    assert key is not None
    return int(key[0])


def remove_group(tx: Connection, group_id: int) -> None:
    """Removes a group of which no message was made."""
    tx.execute(sa.delete(groups).where(groups.c.id == group_id))


async def cancel_group(tx: HotTx, group_id: int, now_ms: int) -> None:
    """Says that what is queued of the group shall not be sent; `pause.fail_canceled` fails it."""
    await _CANCEL.rows(tx, _CanceledGroup(group_id, now_ms))


def mark_held(tx: Connection, group_id: int, *, held: bool) -> None:
    """Stores whether messages of the group are to be held. `pause.hold` and `pause.release` then
    move all of them.
    """
    tx.execute(sa.update(groups).where(groups.c.id == group_id).values(held=held))


def mark_all_held(tx: Connection, group_id: int) -> None:
    """Marks the group as held, unless a message of it still waits where a carrier takes it from:
    such as the rest of a run that one was taking meanwhile.
    """
    _mark(tx, group_id, held=True, but_for=queue.c.rank_us < HELD_FROM_US)


def mark_all_released(tx: Connection, group_id: int) -> None:
    """Marks the group as not held any more, unless a message of it still is."""
    _mark(
        tx,
        group_id,
        held=False,
        but_for=(queue.c.rank_us >= HELD_FROM_US) & (queue.c.rank_us < RESTORED_FROM_US),
    )


def _mark(tx: Connection, group_id: int, *, held: bool, but_for: sa.ColumnElement[bool]) -> None:
    # what is just coming back is looked at once it is there
    tx.execute(sa.select(groups.c.id).where(groups.c.id == group_id).with_for_update())
    left = sa.exists().where(
        but_for, sa.exists().where(sends.c.id == queue.c.send_id, sends.c.group_id == groups.c.id)
    )
    tx.execute(sa.update(groups).where(groups.c.id == group_id, ~left).values(held=held))


def group_of(
    tx: Connection, account_id: str, campaign_id: str | None, *, sandbox: bool
) -> int | None:
    """Returns the group of an account's campaign (raw id)."""
    return tx.execute(
        sa.select(groups.c.id).where(
            groups.c.campaign_id == campaign_id,
            groups.c.account_id == account_id,
            groups.c.sandbox.is_(sandbox),
        )
    ).scalar_one_or_none()


def tally_of(tx: Connection, group_id: int) -> GroupTally:
    """Returns the present figures."""
    sums = [
        sa.func.coalesce(sa.func.sum(tallies.c[name]), 0).label(name) for name in GroupTally._fields
    ]
    row = tx.execute(sa.select(*sums).where(tallies.c.group_id == group_id)).one()
    return GroupTally(**{name: int(figure) for name, figure in row._asdict().items()})


def tallies_of(tx: Connection, group_ids: Iterable[int]) -> dict[int, GroupTally]:
    """Returns the present figures of groups. A group without messages is left out."""
    sums = [sa.func.sum(tallies.c[name]).label(name) for name in GroupTally._fields]
    found = tx.execute(
        sa.select(tallies.c.group_id, *sums)
        .where(tallies.c.group_id.in_(list(group_ids)))
        .group_by(tallies.c.group_id)
    )
    return {
        row.group_id: GroupTally(**{name: int(row._mapping[name]) for name in GroupTally._fields})
        for row in found
    }


async def add(tx: HotTx, changed: Iterable[tuple[int, GroupTally]], slot: int) -> None:
    """Adds to the figures of some groups, each once. Their rows are the last that a transaction
    locks. `slot` is any number that differs between those who may do so at once.
    """
    of_process = (os.getpid() + slot) % SLOTS
    await _ADD.rows(
        tx,
        [
            _Added(group_id=group_id, slot=of_process, **tally._asdict())
            for group_id, tally in sorted(changed)
        ],
    )


async def find_held(tx: HotTx, group_ids: set[int]) -> set[int]:
    """Returns groups of which nothing that comes back from a carrier may leave again: paused ones,
    whose queue is held, and canceled ones. They stay as they are until this transaction ends.
    """
    states = await _STATES.rows(tx, [_GroupId(group_id) for group_id in sorted(group_ids)])
    return {group.id for group in states if group.held or group.canceled_at_ms is not None}


async def campaigns_of(tx: HotTx, group_ids: set[int]) -> dict[int, str]:
    """Returns the campaign (raw id) of each group."""
    return {
        group.id: group.campaign_id
        for group in await _CAMPAIGNS.rows(
            tx, [_GroupId(group_id) for group_id in sorted(group_ids)]
        )
    }
