"""What was queued in a copy of the database that was restored: kept from every carrier until an operator decides.

A copy knows nothing of what was sent after it was taken. So all of it that had not left by then, as far as it knows,
may have left since. It stays in the queue, behind everything, by a rank of its own and RESTORED_FROM_US: validity ends
there as everywhere, and what is let go stands where it stood. What was on the wire goes there too: its answers went to
a process that is gone, with the database that it stored them in.
"""

from collections import Counter
from collections.abc import Sequence
from typing import Any, Final, NamedTuple

import sqlalchemy as sa
from sqlalchemy.engine import Connection

from heliograph.base import ids
from heliograph.base.db import Database
from heliograph.base.hot import HotTx
from heliograph.messages import groups, turn_sql
from heliograph.messages.fair import HELD_FROM_US, RESTORED_FROM_US, rank_ahead
from heliograph.messages.hold import RUNS_AT_ONCE
from heliograph.messages.settle import Changes
from heliograph.messages.states import QUEUED
from heliograph.messages.store import store_changes
from heliograph.messages.sweep import BATCH_MAX, RUN_COLUMNS, fail_runs
from heliograph.messages.tables import inflight, queue, sends

_TO_HOLD: Final = f"""
    SELECT {RUN_COLUMNS} FROM queue WHERE rank_us < {RESTORED_FROM_US} AND first_id < $1 LIMIT {RUNS_AT_ONCE}"""  # noqa: S608  names of ours
_ON_THE_WIRE: Final = f"""
    DELETE FROM inflight WHERE (message_id, part) IN (
        SELECT message_id, part FROM inflight WHERE message_id < $1 ORDER BY message_id, part LIMIT {BATCH_MAX})
    RETURNING message_id, part, prefix, attempt, expires_at_ms, carrier_id, state"""  # noqa: S608  likewise
_HELD: Final = f"""
    SELECT q.{RUN_COLUMNS.replace(", ", ", q.")}, s.group_id FROM queue q CROSS JOIN sends s
    WHERE s.id = q.send_id AND q.rank_us >= {RESTORED_FROM_US} {{which}} LIMIT $1"""  # noqa: S608  likewise
_OF_CARRIER: Final = " AND q.carrier_id = {place}"
_OF_ACCOUNT: Final = " AND s.account_id = {place}"


class Which(NamedTuple):
    """What of it is decided about. `account_id` is raw; None: not by this."""

    account_id: str | None = None
    carrier_id: int | None = None


class Kept(NamedTuple):
    """What is kept of one account's messages of one type, with one carrier. `account_id` is raw."""

    account_id: str
    carrier_id: int
    type: str
    sandbox: bool
    messages: int
    segments: int
    last_expires_at_ms: int


def kept(tx: Connection) -> list[Kept]:
    """Returns all that is kept of a restored copy, by account, carrier and type."""
    columns, count = queue.c, queue.c["count"]
    of = (sends.c.account_id, columns.carrier_id, sends.c.type, sends.c.sandbox)
    query = sa.select(
        *of, sa.func.sum(count), sa.func.sum(count * columns.segments), sa.func.max(columns.expires_at_ms)
    )
    query = query.join_from(queue, sends, sends.c.id == columns.send_id).where(columns.rank_us >= RESTORED_FROM_US)
    return [
        Kept(*row[:4], int(row[4]), int(row[5]), int(row[6])) for row in tx.execute(query.group_by(*of).order_by(*of))
    ]


def newest_queued(tx: Connection) -> str | None:
    """Returns the highest id (raw) of what a carrier would be given, or has been."""
    waiting = sa.select(sa.func.max(sa.cast(queue.c.first_id, sa.Text))).where(queue.c.rank_us < RESTORED_FROM_US)
    found = [
        tx.execute(query).scalar()
        for query in (waiting, sa.select(sa.func.max(sa.cast(inflight.c.message_id, sa.Text))))
    ]
    return max((each.replace("-", "") for each in found if each is not None), default=None)


async def keep_some(db: Database, until: str, now_ms: int) -> int:
    """Keeps what is queued or on the wire of messages below the id `until` (raw), at most so much as one transaction
    takes. Returns how many runs and segments that were; 0: there is no more."""
    async with db.hot() as tx:
        runs = await tx.fetch(_TO_HOLD, until)
        await turn_sql.TAKE_RUNS.rows(tx, [tuple(run[:3]) for run in runs])
        await turn_sql.QUEUE_AGAIN.rows(tx, [(run[0], run[1] + RESTORED_FROM_US, *run[2:]) for run in runs])
        return len(runs) + await _keep_from_the_wire(tx, until, now_ms)


async def _keep_from_the_wire(tx: HotTx, until: str, now_ms: int) -> int:
    rows = await tx.fetch(_ON_THE_WIRE, until)
    changes = Changes.of(now_ms, await turn_sql.lock_messages(tx, {row[0] for row in rows}))
    await store_changes(tx, 0, changes)  # what has failed, and was to be paid back once nothing of it is on the wire
    again: list[tuple[Any, ...]] = []
    for message_id, _, prefix, attempt, expires_at_ms, carrier_id, state in rows:
        row = changes.messages[message_id]
        if row.status == QUEUED:
            rank_us = RESTORED_FROM_US + rank_ahead(ids.made_at_ms(int(message_id, 16)))
            again.append(
                (
                    carrier_id,
                    rank_us,
                    message_id,
                    1,
                    row.send_id,
                    row.segments,
                    prefix,
                    attempt + (state != "claimed"),
                    0,
                    expires_at_ms,
                )
            )
    await turn_sql.QUEUE_AGAIN.rows(tx, _once(again))
    return len(rows)


def _once(rows: Sequence[tuple[Any, ...]]) -> list[tuple[Any, ...]]:
    """Returns one row for each message, however many parts of it there are: with the highest number of a try."""
    found: dict[tuple[Any, ...], tuple[Any, ...]] = {}
    for row in sorted(rows, key=lambda row: int(row[7])):
        found[row[:3]] = row
    return list(found.values())


async def let_go_some(db: Database, which: Which) -> Counter[int]:
    """Lets some of it go to its carriers; a campaign's that is paused or canceled, to where all of that waits. Returns
    how many messages, by carrier; nothing: there is no more."""
    async with db.hot() as tx:
        found = await _held(tx, which, RUNS_AT_ONCE)
        await turn_sql.TAKE_RUNS.rows(tx, [tuple(run[:3]) for run in found])
        held = await groups.to_be_held(tx, {run[10] for run in found if run[10] is not None})
        await turn_sql.QUEUE_AGAIN.rows(
            tx, [(run[0], run[1] % HELD_FROM_US + HELD_FROM_US * (run[10] in held), *run[2:10]) for run in found]
        )
    let_go = Counter[int]()
    for run in found:
        let_go[run[0]] += run[3]
    return let_go


async def cancel_some(db: Database, which: Which, now_ms: int) -> int:
    """Cancels some of it: failed, `canceled`, paid back as far as no carrier has accepted it. Returns how many
    messages."""
    async with db.hot() as tx:
        return await fail_runs(tx, [run[:10] for run in await _held(tx, which, BATCH_MAX)], now_ms, "canceled")


async def _held(tx: HotTx, which: Which, most: int) -> list[Any]:
    """The runs, each with its group, locked."""
    asked, values = "", list[Any]()
    for value, condition in ((which.account_id, _OF_ACCOUNT), (which.carrier_id, _OF_CARRIER)):
        if value is not None:
            values.append(value)
            asked += condition.format(place=f"${len(values) + 1}")
    return await tx.fetch(
        _HELD.format(which=asked) + (" FOR UPDATE OF q SKIP LOCKED" if tx.postgresql else ""), most, *values
    )
