"""What was queued in a copy of the database that was restored is kept from every carrier until an
operator decides.

A copy knows nothing of what was sent after it was taken. So all of it that had not left by then, as
far as it knows, may have left since. It stays in the queue, behind everything, by a rank of its own
and RESTORED_FROM_US: validity ends there as everywhere, and what is let go stands where it stood.
What was on the wire goes there too: its answers went to a process that is gone, with the database
that it stored them in.
"""

from collections import Counter
from collections.abc import Sequence
from typing import Final, NamedTuple

import sqlalchemy as sa
from msgspec.structs import replace
from sqlalchemy.engine import Connection

from heliograph.base import ids
from heliograph.database.database import Database
from heliograph.database.hot import HotTx
from heliograph.database.statements import BigInt, Id, Int, Row, SmallInt, Text, portable
from heliograph.messages import groups
from heliograph.messages.carrier.store import store_changes
from heliograph.messages.changes.collect import Changes
from heliograph.messages.changes.message_lock import lock_messages
from heliograph.messages.queue.rank import HELD_FROM_US, RESTORED_FROM_US, rank_ahead
from heliograph.messages.queue.sql import QUEUE_AGAIN, TAKE_RUNS, QueuedRun, queue_columns
from heliograph.messages.states import CLAIMED, QUEUED
from heliograph.messages.sweeps.pause import RUNS_AT_ONCE
from heliograph.messages.sweeps.sweep import BATCH_MAX, fail_runs
from heliograph.messages.tables import inflight, queue, sends


class _MessagesBefore(Row, frozen=True):
    """Asks for messages whose ids (raw) are smaller than `until`."""

    until: Id


class _RestoredRun(Row, frozen=True):
    """Holds a run that is kept, and the group that it belongs to."""

    run: QueuedRun
    group_id: Int | None


_TO_KEEP: Final = portable(
    _MessagesBefore,
    QueuedRun,
    f"""
    SELECT {queue_columns("q")} FROM queue q
    WHERE q.rank_us < {RESTORED_FROM_US} AND q.first_id < :until LIMIT {RUNS_AT_ONCE}""",
)


class _TakenSegment(Row, frozen=True):
    """Names a segment that was on the wire."""

    message_id: Id
    part: SmallInt
    prefix: Text
    attempt: SmallInt
    expires_at_ms: BigInt
    carrier_id: SmallInt
    state: Text


_ON_THE_WIRE: Final = portable(
    _MessagesBefore,
    _TakenSegment,
    f"""
    DELETE FROM inflight WHERE (message_id, part) IN (
        SELECT message_id, part FROM inflight WHERE message_id < :until ORDER BY message_id, part
            LIMIT {BATCH_MAX})
    RETURNING message_id, part, prefix, attempt, expires_at_ms, carrier_id, state""",
)


class Selection(NamedTuple):
    """Selects the messages that are decided about. `account_id` is raw. A field that is None
    selects all.
    """

    account_id: Id | None = None
    carrier_id: SmallInt | None = None

    def runs(self, most: int) -> "_SelectedRuns":
        """Returns the parameters that ask for at most so many of the selected runs."""
        return _SelectedRuns(account_id=self.account_id, carrier_id=self.carrier_id, most=most)


class _SelectedRuns(Row, frozen=True):
    """Selects as `Selection` does, and limits how many runs are read."""

    account_id: Id | None
    carrier_id: SmallInt | None
    most: Int


_RESTORED_RUNS: Final = portable(
    _SelectedRuns,
    _RestoredRun,
    f"""
    SELECT {queue_columns("q")}, s.group_id FROM queue q CROSS JOIN sends s
    WHERE s.id = q.send_id AND q.rank_us >= {RESTORED_FROM_US}
        AND (:account_id IS NULL OR s.account_id = :account_id)
            AND (:carrier_id IS NULL OR q.carrier_id = :carrier_id)
    LIMIT :most""",
    lock="FOR UPDATE OF q SKIP LOCKED",
)


class KeptMessages(NamedTuple):
    """Counts the messages of one account, carrier and type that are still kept. `account_id` is
    raw.
    """

    account_id: str
    carrier_id: int
    type: str
    sandbox: bool
    messages: int
    segments: int
    last_expires_at_ms: int


def kept_messages(tx: Connection) -> list[KeptMessages]:
    """Returns all that is kept of a restored copy, by account, carrier and type."""
    columns, count = queue.c, queue.c["count"]
    of = (sends.c.account_id, columns.carrier_id, sends.c.type, sends.c.sandbox)
    query = sa.select(
        *of,
        sa.func.sum(count).label("messages"),
        sa.func.sum(count * columns.segments).label("segments"),
        sa.func.max(columns.expires_at_ms).label("last_expires_at_ms"),
    )
    query = query.join_from(queue, sends, sends.c.id == columns.send_id).where(
        columns.rank_us >= RESTORED_FROM_US
    )
    return [
        KeptMessages(
            row.account_id,
            row.carrier_id,
            row.type,
            row.sandbox,
            messages=int(row.messages),
            segments=int(row.segments),
            last_expires_at_ms=int(row.last_expires_at_ms),
        )
        for row in tx.execute(query.group_by(*of).order_by(*of))
    ]


def newest_queued(tx: Connection) -> str | None:
    """Returns the highest id (raw) of what a carrier would be given, or has been."""
    waiting = sa.select(sa.func.max(sa.cast(queue.c.first_id, sa.Text))).where(
        queue.c.rank_us < RESTORED_FROM_US
    )
    found = [
        tx.execute(query).scalar()
        for query in (waiting, sa.select(sa.func.max(sa.cast(inflight.c.message_id, sa.Text))))
    ]
    return max((each.replace("-", "") for each in found if each is not None), default=None)


async def keep_some(db: Database, until: str, now_ms: int) -> int:
    """Keeps what is queued or on the wire of messages below the id `until` (raw), at most as much
    as one transaction takes. Returns how many runs and segments it kept; 0 means that there are no
    more.
    """
    async with db.hot() as tx:
        runs = await _TO_KEEP.rows(tx, _MessagesBefore(until))
        await TAKE_RUNS.rows(tx, [run.key for run in runs])
        await QUEUE_AGAIN.rows(tx, [run.moved(RESTORED_FROM_US) for run in runs])
        return len(runs) + await _keep_from_the_wire(tx, until, now_ms)


async def _keep_from_the_wire(tx: HotTx, until: str, now_ms: int) -> int:
    taken = await _ON_THE_WIRE.rows(tx, _MessagesBefore(until))
    changes = Changes.of(now_ms, await lock_messages(tx, {segment.message_id for segment in taken}))
    # what has failed, and was to be paid back once nothing of it is on the wire
    await store_changes(tx, 0, changes)
    requeued = list[QueuedRun]()
    for segment in taken:
        row = changes.messages[segment.message_id]
        if row.status == QUEUED:
            requeued.append(
                QueuedRun(
                    carrier_id=segment.carrier_id,
                    rank_us=RESTORED_FROM_US + rank_ahead(ids.made_at_ms(int(row.id, 16))),
                    first_id=row.id,
                    messages=1,
                    send_id=row.send_id,
                    segments=row.segments,
                    prefix=segment.prefix,
                    attempt=segment.attempt + (segment.state != CLAIMED),
                    not_before_ms=0,
                    expires_at_ms=segment.expires_at_ms,
                )
            )
    await QUEUE_AGAIN.rows(tx, _one_run_each(requeued))
    return len(taken)


def _one_run_each(runs: Sequence[QueuedRun]) -> list[QueuedRun]:
    """Returns one run for each message, however many parts of it there are: with the
    highest number of a try.
    """
    return list({run.key: run for run in sorted(runs, key=lambda run: run.attempt)}.values())


async def release_some(db: Database, which: Selection) -> Counter[int]:
    """Lets some of the selected messages go to their carriers; those of a campaign that is paused
    or canceled, to where all of it waits. Returns how many messages, by carrier; if it is empty,
    there are no more.
    """
    async with db.hot() as tx:
        found = await _RESTORED_RUNS.rows(tx, which.runs(RUNS_AT_ONCE))
        await TAKE_RUNS.rows(tx, [restored.run.key for restored in found])
        waiting = await groups.find_held(
            tx, {restored.group_id for restored in found if restored.group_id is not None}
        )
        await QUEUE_AGAIN.rows(
            tx, [_release(restored, to_wait=restored.group_id in waiting) for restored in found]
        )
    let_go = Counter[int]()
    for restored in found:
        let_go[restored.run.carrier_id] += restored.run.messages
    return let_go


def _release(restored: _RestoredRun, *, to_wait: bool) -> QueuedRun:
    rank_us = restored.run.rank_us % HELD_FROM_US
    return replace(restored.run, rank_us=rank_us + HELD_FROM_US if to_wait else rank_us)


async def cancel_some(db: Database, which: Selection, now_ms: int) -> int:
    """Cancels some of the selected messages: they fail as `canceled`, and are paid back as far as
    no carrier has accepted them. Returns how many messages.
    """
    async with db.hot() as tx:
        found = await _RESTORED_RUNS.rows(tx, which.runs(BATCH_MAX))
        runs = [restored.run for restored in found]
        return (await fail_runs(tx, runs, now_ms, "canceled")).messages
