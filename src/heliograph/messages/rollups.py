"""Roll-ups say what became of messages, by quarter of an hour, country, sender, type and campaign.

They are kept, not counted, so a report costs the same whether it is about ten messages or ten
million. The transaction that stores a change of messages adds it here, to rows of its own slot. A
message is in them as soon as it has left the state `queued`, so accepting sends writes none.
"""

import os
from bisect import bisect_left
from collections.abc import Iterable
from typing import Final, NamedTuple

from heliograph.database.hot import HotTx
from heliograph.database.statements import BigInt, Bool, Id, Insert, Int, Row, SmallInt, Text
from heliograph.messages.changes import MessageRow
from heliograph.messages.groups import SLOTS
from heliograph.messages.states import DELIVERED, QUEUED
from heliograph.messages.tables import DELIVERY_STEPS, DELIVERY_STEPS_S, QUARTER_MS


class RollupKey(NamedTuple):
    """Says which messages are counted together. `country_code` is empty if it is not known, and
    `group_id` is 0 for messages of no campaign.
    """

    account_id: str
    sandbox: bool
    quarter_ms: int
    country_code: str
    sender: str
    type: str
    group_id: int


class _AddedCounts(Row, frozen=True):
    """Says what is added to a row of `rollups`."""

    account_id: Id
    sandbox: Bool
    quarter_ms: BigInt
    country_code: Text
    sender: Text
    type: Text
    group_id: Int
    slot: SmallInt
    segments: BigInt
    credits: BigInt
    sent: Int
    delivered: Int
    failed: Int
    carrier_rejected: Int
    undeliverable: Int
    expired: Int
    rejected: Int
    unknown: Int
    canceled: Int
    blocked: Int
    no_route: Int
    within_1_s: Int
    within_2_s: Int
    within_5_s: Int
    within_10_s: Int
    within_30_s: Int
    within_60_s: Int
    within_120_s: Int
    within_300_s: Int
    within_600_s: Int
    within_1800_s: Int
    within_3600_s: Int
    within_10800_s: Int
    within_21600_s: Int
    within_43200_s: Int
    within_86400_s: Int
    later: Int


_KEYS: Final = (*RollupKey._fields, "slot")
COUNTS: Final = _AddedCounts.__struct_fields__[len(_KEYS) :]
_PLACE: Final = {name: place for place, name in enumerate(COUNTS)}
_SUMS: Final = ", ".join(f"{name} = rollups.{name} + excluded.{name}" for name in COUNTS)
_ADD: Final = Insert(
    "rollups", _AddedCounts, f"ON CONFLICT ({', '.join(_KEYS)}) DO UPDATE SET {_SUMS}"
)


async def add(tx: HotTx, changed: dict[RollupKey, list[int]], slot: int) -> None:
    """Adds to roll-ups. `slot`: any number that tells apart who may do so at once. After the
    tallies, and in the order of keys, so that nobody waits in a circle.
    """
    of_process = (os.getpid() + slot) % SLOTS
    await _ADD.rows(
        tx, [_AddedCounts(*key, of_process, *counts) for key, counts in sorted(changed.items())]
    )


def counted(rows: Iterable[MessageRow]) -> dict[RollupKey, list[int]]:
    """Returns what the changes of some messages add to roll-ups, in the order of COUNTS."""
    found: dict[RollupKey, list[int]] = {}
    for row in rows:
        if not row.changed or row.status == QUEUED:
            continue
        key = _key_of(row)
        counts = found.get(key)
        if counts is None:
            counts = found[key] = [0] * len(COUNTS)
        if row.was == QUEUED:
            counts[_SEGMENTS] += row.segments
            counts[_CREDITS] += row.credits - row.refunded
        else:
            counts[_CREDITS] -= row.refunded - row.refunded_before
        if row.was != row.status:
            _move(counts, row)
    return found


def _move(counts: list[int], row: MessageRow) -> None:
    """Counts a message in its new state, and no more in the former one. Only `queued` and `sent`
    are ever left.
    """
    if row.was != QUEUED:
        counts[_PLACE[row.was]] -= 1
    counts[_PLACE[row.status]] += 1
    if row.error_code is not None:
        counts[_PLACE[row.error_code]] += 1
    if row.status == DELIVERED:
        assert row.locked is not None
        assert row.delivered_at_ms is not None
        counts[_PLACE[delivery_step(row.delivered_at_ms - row.locked.created_at_ms)]] += 1


def delivery_step(delay_ms: int) -> str:
    """Returns the step that a time from acceptance to delivery is counted in."""
    return DELIVERY_STEPS[bisect_left(DELIVERY_STEPS_S, delay_ms / 1_000)]


def _key_of(row: MessageRow) -> RollupKey:
    locked = row.locked
    assert locked is not None
    return RollupKey(
        row.account_id,
        sandbox=row.sandbox,
        quarter_ms=locked.created_at_ms - locked.created_at_ms % QUARTER_MS,
        country_code=locked.country_code or "",
        sender=locked.sender,
        type=locked.type,
        group_id=row.group_id or 0,
    )


_SEGMENTS: Final = _PLACE["segments"]
_CREDITS: Final = _PLACE["credits"]
