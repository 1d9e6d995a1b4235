"""Ends validity and lasting doubts, moves messages to the next carrier when one is down, and takes
over the work of dead processes. It runs every second, in small batches.
"""

from collections import defaultdict
from collections.abc import Collection, Sequence
from typing import Final, NamedTuple

from msgspec.structs import replace

from heliograph.base import ids
from heliograph.carriers import SIMULATOR_ID, routing
from heliograph.database.database import Database
from heliograph.database.hot import HotTx
from heliograph.database.statements import BigInt, Bool, Id, Int, Row, SmallInt, Text, portable
from heliograph.messages.accept import read_sql
from heliograph.messages.carrier.inflight_sql import (
    DOUBT_ORPHANS,
    END_INFLIGHT,
    NOBODY,
    ORPHANS,
    OrphanScope,
    Try,
)
from heliograph.messages.carrier.messages_sql import RESENT, ResentParts
from heliograph.messages.carrier.settle import move
from heliograph.messages.carrier.store import store_changes
from heliograph.messages.changes.collect import Changes, MessageRow, Requeued
from heliograph.messages.changes.message_lock import lock_messages
from heliograph.messages.queue.rank import BULK_FROM_US, HELD_FROM_US, FairQueue, Ranks
from heliograph.messages.queue.sql import (
    QUEUE,
    QUEUE_AGAIN,
    TAKE_RUNS,
    QueuedRun,
    RunKey,
    queue_columns,
)
from heliograph.messages.states import FAILED, IN_DOUBT, QUEUED, RESEND_AFTER_MS, SEGMENT

BATCH_MAX: Final = 500  # messages in one transaction of a sweep: sends must not wait for it


class FailedMessages(NamedTuple):
    """Counts messages that were taken out of the queue, and the credits that were paid back."""

    messages: int
    credits: int


class _ExpiredBy(Row, frozen=True):
    now_ms: BigInt
    most: Int


class _OfRoute(Row, frozen=True):
    carrier_id: SmallInt
    prefix: Text
    most: Int


class _RunOfAccount(Row, frozen=True):
    run: QueuedRun
    account_id: Id


class _Prefix(Row, frozen=True):
    prefix: Text


class _OneCarrier(Row, frozen=True):
    carrier_id: SmallInt


_EXPIRED_RUNS: Final = portable(
    _ExpiredBy,
    QueuedRun,
    f"""
    SELECT {queue_columns("q")} FROM queue q WHERE q.expires_at_ms <= :now_ms LIMIT :most""",
    lock="FOR UPDATE SKIP LOCKED",
)
_PREFIXES: Final = portable(
    _OneCarrier, _Prefix, "SELECT DISTINCT prefix FROM queue WHERE carrier_id = :carrier_id"
)
_RUNS_OF: Final = portable(
    _OfRoute,
    _RunOfAccount,
    f"""
    SELECT {queue_columns("q")}, s.account_id FROM queue q JOIN sends s ON s.id = q.send_id
    WHERE q.carrier_id = :carrier_id AND q.prefix = :prefix AND q.rank_us < {HELD_FROM_US}
        ORDER BY q.rank_us, q.first_id LIMIT :most""",
    lock="FOR UPDATE OF q SKIP LOCKED",
)


class _LastingDoubts(Row, frozen=True):
    """Asks for doubts whose validity is over, and for those of a carrier that have lasted since
    `since_ms` at least (-1: none).
    """

    now_ms: BigInt
    carrier_id: SmallInt
    since_ms: BigInt
    most: Int


class _SegmentInDoubt(Row, frozen=True):
    """Holds a segment in doubt. `opted_out` says that the message is a campaign's, and that its
    recipient has opted out since.
    """

    message_id: Id
    part: SmallInt
    parts: SmallInt
    prefix: Text
    attempt: SmallInt
    expires_at_ms: BigInt
    opted_out: Bool


_DOUBTS: Final = portable(
    _LastingDoubts,
    _SegmentInDoubt,
    f"""
    SELECT i.message_id, i.part, i.parts, i.prefix, i.attempt, i.expires_at_ms, EXISTS (
        SELECT 1 FROM opt_outs o WHERE m.group_id IS NOT NULL AND o.account_id = m.account_id
            AND o.sandbox = m.sandbox AND o.phone = m.recipient AND o.whole
        ) AS opted_out
    FROM inflight i JOIN messages m ON m.id = i.message_id JOIN sends s ON s.id = m.send_id
    WHERE {SEGMENT.is_in(IN_DOUBT, of="i.")} AND (i.expires_at_ms <= :now_ms
        OR (i.carrier_id = :carrier_id AND (m.parts_resent & i.parts) = 0
            AND i.since_ms <= :since_ms AND s.type <> 'otp'))
    LIMIT :most""",
)


class UnreceiptedSegment(Row, frozen=True):
    """Holds a segment that a carrier accepted, without having said what became of it: the carrier's
    id of it, the sender, and the recipient.
    """

    ref: Text
    sender: Text
    recipient: BigInt


class _Among(Row, frozen=True):
    carrier_id: SmallInt
    among: Int


_UNRECEIPTED: Final = portable(
    _Among,
    UnreceiptedSegment,
    """
    SELECT r.ref, s.sender, m.recipient
    FROM (SELECT ref, message_id, receipt_state FROM carrier_refs WHERE carrier_id = :carrier_id
        ORDER BY ref DESC LIMIT :among) r
    JOIN messages m ON m.id = r.message_id JOIN sends s ON s.id = m.send_id
    WHERE r.receipt_state IS NULL AND m.recipient IS NOT NULL""",
)


async def fail_expired(db: Database, now_ms: int) -> int:
    """Fails messages that are still queued when their validity ends: they are `expired` and
    refunded. It returns how many.
    """
    async with db.hot() as tx:
        runs = await _EXPIRED_RUNS.rows(tx, _ExpiredBy(now_ms, BATCH_MAX))
        return (await fail_runs(tx, runs, now_ms, "expired")).messages


async def fail_runs(
    tx: HotTx, runs: Sequence[QueuedRun], now_ms: int, error_code: str
) -> FailedMessages:
    """Takes messages out of the queue, of runs that are locked, at most BATCH_MAX: they have
    failed. It returns how many.
    """
    numbers: list[int] = []
    taken, rests = list[RunKey](), list[QueuedRun]()
    for run in runs:
        some = min(run.messages, BATCH_MAX - len(numbers))
        if some == 0:
            break
        first = int(run.first_id, 16)
        numbers += range(first, first + some)
        taken.append(run.key)
        if some < run.messages:
            rests.append(run.without_first(some, run.rank_us))
    rows = await fail_taken(tx, taken, rests, numbers, now_ms, error_code)
    return FailedMessages(len(numbers), sum(row.refunded - row.refunded_before for row in rows))


async def fail_taken(
    tx: HotTx,
    taken: Sequence[RunKey],
    rests: Sequence[QueuedRun],
    numbers: Collection[int],
    now_ms: int,
    error_code: str,
    wallets: Sequence[str] = (),
) -> list[MessageRow]:
    """Fails the messages with these numbers, and returns them as they are then. `taken` are the
    keys of the runs that they were in, and `rests` what is left of those. `wallets` are the
    accounts, in order of their ids, whose wallets the transaction goes on to need.
    """
    await TAKE_RUNS.rows(tx, taken)
    await QUEUE.rows(tx, rests)
    changes = await _lock_changes(tx, {ids.raw_of_number(number) for number in numbers}, now_ms)
    for row in changes.messages.values():
        # a late answer may have settled it meanwhile: then its other try ends here
        if row.status == QUEUED:
            move(row, FAILED, now_ms, error_code)
    if wallets:  # before some of them are locked for refunds
        await read_sql.lock_wallets(tx, wallets)
    await store_changes(tx, 0, changes)
    return list(changes.messages.values())


async def settle_doubts(db: Database, carrier_id: int, now_ms: int, *, resend: bool) -> int:
    """Settles segments in doubt, and returns how many were dealt with.

    At the end of validity the message has failed (`unknown`). Before that, bulk is sent once more
    where the carrier's setting says so; a campaign's message to a person who has opted out
    meanwhile fails then (`blocked`).
    """
    async with db.hot() as tx:
        since_ms = now_ms - RESEND_AFTER_MS if resend else -1
        doubts = await _DOUBTS.rows(tx, _LastingDoubts(now_ms, carrier_id, since_ms, BATCH_MAX))
        if not doubts:
            return 0
        ended = {
            (was.message_id, was.part)
            for was in await END_INFLIGHT.rows(
                tx,
                sorted(
                    Try(doubt.message_id, doubt.part, doubt.attempt, NOBODY) for doubt in doubts
                ),
            )
        }
        # the others were settled meanwhile, by an answer or a receipt
        doubts = [doubt for doubt in doubts if (doubt.message_id, doubt.part) in ended]
        changes = await _lock_changes(tx, {doubt.message_id for doubt in doubts}, now_ms)
        resent: dict[str, int] = defaultdict(int)
        for doubt in doubts:
            row = changes.messages[doubt.message_id]
            if row.status != QUEUED:
                continue  # a late answer of another try has settled it
            if doubt.expires_at_ms <= now_ms:
                move(row, FAILED, now_ms, "unknown")
            elif doubt.opted_out:
                move(row, FAILED, now_ms, "blocked")
            else:
                changes.requeue(
                    row.id,
                    Requeued(doubt.prefix, doubt.attempt + 1, now_ms, doubt.expires_at_ms),
                )
                resent[doubt.message_id] |= doubt.parts
        await RESENT.rows(
            tx,
            [ResentParts(message_id, parts) for message_id, parts in sorted(resent.items())],
        )
        await store_changes(tx, carrier_id, changes)
    return len(doubts)


async def fail_over(
    db: Database, routes: routing.Routes, down: frozenset[int], queue: FairQueue, now_ms: int
) -> int:
    """Moves what waits for a carrier that has been down for 60 s to those that share its route and
    are up, run by run, or to the next one that stands by. There it takes its place as if it came
    just now. It returns how many runs moved.
    """
    moved = 0
    for carrier_id in sorted(down):
        with queue.give_ranks() as ranks:
            async with db.hot() as tx:
                if queue.is_old():
                    queue.read(await read_sql.heads(tx, BULK_FROM_US), ranks)
                moved += await _move(tx, carrier_id, routes, down, ranks, now_ms)
    return moved


async def _move(
    tx: HotTx,
    carrier_id: int,
    routes: routing.Routes,
    down: frozenset[int],
    ranks: Ranks,
    now_ms: int,
) -> int:
    moved = 0
    for waiting in await _PREFIXES.rows(tx, _OneCarrier(carrier_id)):
        prefix = waiting.prefix
        route = routes.carriers_for(prefix)
        sharing = route.sharing(down) if route is not None else None
        if sharing is None:
            continue  # these wait for the carrier; they must not stand before those that need not
        runs = await _RUNS_OF.rows(tx, _OfRoute(carrier_id, prefix, BATCH_MAX))
        await TAKE_RUNS.rows(tx, [found.run.key for found in runs])
        requeued = []
        for found in runs:
            run, rank_us = found.run, found.run.rank_us
            # parts of a message have one first_id, so they go the same way
            target = sharing.carrier_of(int(run.first_id, 16))
            if rank_us >= BULK_FROM_US:  # virtual time is a carrier's own
                rank_us = ranks.rank_us(
                    found.account_id, target, run.messages * run.segments, now_ms
                )
            requeued.append(replace(run, carrier_id=target, rank_us=rank_us))
        await QUEUE_AGAIN.rows(tx, requeued)  # parts of a message may move one after the other
        moved += len(runs)
    return moved


async def take_over(db: Database, worker: int, now_ms: int, of_carrier: int | None = None) -> int:
    """Takes over the submissions of processes that have no row any more: at the start, and again
    for those that such a process claimed in its last moment.

    With `of_carrier`, it also takes over those that this process, `worker`, holds of a carrier
    whose turn has ended. A submission that was claimed and not written goes back to the queue. One
    that was written is in doubt from now on. The simulator's go back, too, because they existed
    only in the process that is gone.
    """
    taken = 0
    async with db.hot() as tx:
        orphaned = OrphanScope(worker, of_carrier, SIMULATOR_ID, now_ms)
        await DOUBT_ORPHANS.rows(tx, orphaned)
        orphans = await ORPHANS.rows(tx, orphaned)
        mine_now = {
            (was.message_id, was.part)
            for was in await END_INFLIGHT.rows(
                tx,
                sorted(
                    Try(orphan.message_id, orphan.part, orphan.attempt, orphan.worker)
                    for orphan in orphans
                ),
            )
        }
        # another process may have taken the rest over
        orphans = [orphan for orphan in orphans if (orphan.message_id, orphan.part) in mine_now]
        for carrier_id in sorted({orphan.carrier_id for orphan in orphans}):
            held = [orphan for orphan in orphans if orphan.carrier_id == carrier_id]
            changes = await _lock_changes(tx, {orphan.message_id for orphan in held}, now_ms)
            for orphan in held:
                row = changes.messages[orphan.message_id]
                if row.status == QUEUED:
                    changes.requeue(
                        row.id,
                        Requeued(orphan.prefix, orphan.attempt, now_ms, orphan.expires_at_ms),
                    )
            await store_changes(tx, carrier_id, changes)
            taken += len(changes.messages)
    return taken


async def find_unreceipted(db: Database, carrier_id: int, among: int) -> list[UnreceiptedSegment]:
    """Returns the segments without a receipt among the carrier's newest `among` ids, if
    their order is that of time.
    """
    async with db.hot() as tx:
        return await _UNRECEIPTED.rows(tx, _Among(carrier_id, among))


async def _lock_changes(tx: HotTx, message_ids: set[str], now_ms: int) -> Changes:
    return Changes.of(now_ms, await lock_messages(tx, message_ids))
