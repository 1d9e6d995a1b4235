"""What no event brings about: validity that ends, doubts that last, work that a dead process held. Run every second, in small batches."""

from collections import defaultdict
from collections.abc import Collection, Sequence
from typing import Any, Final

from heliograph.base import ids
from heliograph.base.db import Database
from heliograph.base.hot import HotTx
from heliograph.carriers import SIMULATOR_ID, Routes
from heliograph.messages import accept_sql, turn_sql
from heliograph.messages.fair import BULK_FROM_US, HELD_FROM_US, FairQueue, Places, rank_ahead
from heliograph.messages.settle import Changes, MessageRow, Requeued, move
from heliograph.messages.states import FAILED, QUEUED
from heliograph.messages.store import store_changes

BATCH_MAX: Final = 500  # messages in one transaction of a sweep: sends must not wait for it
RESEND_AFTER_MS: Final = 120_000  # in doubt for so long without a receipt: bulk is sent once more (contract section 6)

RUN_COLUMNS: Final = "carrier_id, rank_us, first_id, count, send_id, segments, prefix, attempt, not_before_ms, expires_at_ms"
_EXPIRED_RUNS: Final = f"SELECT {RUN_COLUMNS} FROM queue WHERE expires_at_ms <= $1 LIMIT $2"  # noqa: S608  names of ours
_RUNS_OF: Final = """
    SELECT q.carrier_id, q.rank_us, q.first_id, q.count, q.send_id, q.segments, q.prefix, q.attempt, q.not_before_ms, q.expires_at_ms, s.account_id
    FROM queue q JOIN sends s ON s.id = q.send_id WHERE q.carrier_id = $1 AND q.prefix = $2 AND q.rank_us < $4
    ORDER BY q.rank_us, q.first_id LIMIT $3"""
_DOUBTS: Final = """
    SELECT i.message_id, i.part, i.parts, i.prefix, i.attempt, i.expires_at_ms, EXISTS (
        SELECT 1 FROM opt_outs o WHERE m.group_id IS NOT NULL AND o.account_id = m.account_id AND o.sandbox = m.sandbox AND o.phone = m.recipient)
    FROM inflight i JOIN messages m ON m.id = i.message_id JOIN sends s ON s.id = m.send_id
    WHERE i.state = 'in_doubt'
        AND (i.expires_at_ms <= $1 OR (i.carrier_id = $2 AND (m.parts_resent & i.parts) = 0 AND i.since_ms <= $3 AND s.type <> 'otp'))
    LIMIT $4"""
_UNRECEIPTED: Final = """
    SELECT r.ref, s.sender, m.recipient
    FROM (SELECT ref, message_id, receipt_state FROM carrier_refs WHERE carrier_id = $1 ORDER BY ref DESC LIMIT $2) r
    JOIN messages m ON m.id = r.message_id JOIN sends s ON s.id = m.send_id
    WHERE r.receipt_state IS NULL AND m.recipient IS NOT NULL"""


async def fail_expired(db: Database, now_ms: int) -> int:
    """Messages still queued when their validity ends: failed, `expired`, refunded. Answers how many."""
    async with db.hot() as tx:
        runs = await tx.fetch(_EXPIRED_RUNS + (" FOR UPDATE SKIP LOCKED" if tx.postgresql else ""), now_ms, BATCH_MAX)
        return await fail_runs(tx, runs, now_ms, "expired")


async def fail_runs(tx: HotTx, runs: Sequence[Sequence[Any]], now_ms: int, error_code: str) -> int:
    """Takes messages out of the queue, of runs that are locked (RUN_COLUMNS), at most BATCH_MAX: they have failed. How many."""
    numbers: list[int] = []
    taken, rests = [], []
    for carrier_id, rank_us, first_id, count, *others in runs:
        some = min(count, BATCH_MAX - len(numbers))
        if some == 0:
            break
        first = int(first_id, 16)
        numbers += range(first, first + some)
        taken.append((carrier_id, rank_us, first_id))
        if some < count:
            rests.append((carrier_id, rank_us, ids.raw_of_number(first + some), count - some, *others))
    await fail_taken(tx, taken, rests, numbers, now_ms, error_code)
    return len(numbers)


async def fail_taken(tx: HotTx, taken: list[tuple[Any, ...]], rests: list[tuple[Any, ...]], numbers: Collection[int], now_ms: int,
                     error_code: str) -> None:
    """The messages with these numbers have failed. `taken`: the keys of the runs that they were in; `rests`: what is left of those."""
    await turn_sql.TAKE_RUNS.rows(tx, taken)
    await turn_sql.QUEUE.rows(tx, rests)
    changes = await _locked(tx, {ids.raw_of_number(number) for number in numbers}, now_ms)
    for row in changes.messages.values():
        if row.status == QUEUED:  # a late answer may have settled it meanwhile: then its other try ends here
            move(row, FAILED, now_ms, error_code)
    await store_changes(tx, 0, changes)


async def settle_doubts(db: Database, carrier_id: int, now_ms: int, *, resend: bool) -> int:
    """Segments in doubt: at the end of validity the message has failed (`unknown`); before it, bulk is sent once more where the
    carrier's setting says so; a campaign's to who has opted out meanwhile fails then (`blocked`). Answers how many were dealt with."""
    async with db.hot() as tx:
        since_ms = now_ms - RESEND_AFTER_MS if resend else -1
        doubts = await tx.fetch(_DOUBTS, now_ms, carrier_id, since_ms, BATCH_MAX)
        if not doubts:
            return 0
        ended = {(row[0], row[1]) for row in await turn_sql.END_INFLIGHT.rows(
            tx, sorted((doubt[0], doubt[1], doubt[4], turn_sql.NOBODY) for doubt in doubts))}
        doubts = [doubt for doubt in doubts if (doubt[0], doubt[1]) in ended]  # the others were settled meanwhile, by an answer or a receipt
        changes = await _locked(tx, {doubt[0] for doubt in doubts}, now_ms)
        resent: dict[str, int] = defaultdict(int)
        for message_id, _, parts, prefix, attempt, expires_at_ms, opted_out in doubts:
            row = changes.messages[message_id]
            if row.status != QUEUED:
                continue  # a late answer of another try has settled it
            if expires_at_ms <= now_ms:
                move(row, FAILED, now_ms, "unknown")
            elif opted_out:
                move(row, FAILED, now_ms, "blocked")
            else:
                changes.requeue(_back(row, prefix, attempt + 1, now_ms, expires_at_ms))
                resent[message_id] |= parts
        await turn_sql.RESENT.rows(tx, sorted(resent.items()))
        await store_changes(tx, carrier_id, changes)
    return len(doubts)


async def fail_over(db: Database, routes: Routes, down: frozenset[int], queue: FairQueue, now_ms: int) -> int:
    """What waits for a carrier that has been down for 60 s goes to the next one of its route that is up, where it takes its place as if it
    came just now. Answers how many runs moved."""
    moved = 0
    for carrier_id in sorted(down):
        with queue.places() as places:
            async with db.hot() as tx:
                if queue.is_old():
                    queue.read(await accept_sql.heads(tx, BULK_FROM_US), places)
                moved += await _move(tx, carrier_id, routes, down, places, now_ms)
    return moved


async def _move(tx: HotTx, carrier_id: int, routes: Routes, down: frozenset[int], places: Places, now_ms: int) -> int:
    moved = 0
    for (prefix,) in await tx.fetch("SELECT DISTINCT prefix FROM queue WHERE carrier_id = $1", carrier_id):
        target = _next_carrier(routes, prefix, down)
        if target is None:
            continue  # these wait for the carrier; they must not stand before those that need not
        runs = await tx.fetch(_RUNS_OF + (" FOR UPDATE OF q SKIP LOCKED" if tx.postgresql else ""), carrier_id, prefix, BATCH_MAX, HELD_FROM_US)
        await turn_sql.TAKE_RUNS.rows(tx, [(run[0], run[1], run[2]) for run in runs])
        again = []
        for _, rank_us, first_id, count, send_id, segments, *others, account_id in runs:
            if rank_us >= BULK_FROM_US:  # virtual time is a carrier's own
                rank_us = places.rank_us(account_id, target, count * segments, now_ms)
            again.append((target, rank_us, first_id, count, send_id, segments, *others))
        await turn_sql.QUEUE_AGAIN.rows(tx, again)  # parts of a message may move one after the other
        moved += len(runs)
    return moved


def _next_carrier(routes: Routes, prefix: str, down: frozenset[int]) -> int | None:
    route = routes.carriers_for(prefix)
    return next((carrier for carrier in route.carrier_ids if carrier not in down), None) if route is not None else None


async def take_over(db: Database, worker: int, now_ms: int, of_carrier: int | None = None) -> int:
    """What processes held that have no row any more: at the start, and again for what one claimed in its last moment. `of_carrier`: and what
    this one, `worker`, holds of a carrier whose turn has ended. Claimed but unwritten goes back to the queue; written becomes in doubt, but for
    what the simulator had: that was nowhere but in the process that is gone."""
    taken = 0
    async with db.hot() as tx:
        await tx.fetch(turn_sql.DOUBT_ORPHANS, worker, of_carrier, SIMULATOR_ID, now_ms)
        rows = await tx.fetch(turn_sql.ORPHANS, worker, of_carrier, SIMULATOR_ID)
        mine_now = {(row[0], row[1]) for row in await turn_sql.END_INFLIGHT.rows(
            tx, sorted((row[0], row[1], row[3], row[6]) for row in rows))}
        rows = [row for row in rows if (row[0], row[1]) in mine_now]  # another process may have taken the rest over
        for carrier_id in sorted({row[5] for row in rows}):
            held = [row for row in rows if row[5] == carrier_id]
            changes = await _locked(tx, {row[0] for row in held}, now_ms)
            for message_id, _, prefix, attempt, expires_at_ms, *_ in held:
                if changes.messages[message_id].status == QUEUED:
                    changes.requeue(_back(changes.messages[message_id], prefix, attempt, now_ms, expires_at_ms))
            await store_changes(tx, carrier_id, changes)
            taken += len(changes.messages)
    return taken


async def unreceipted(db: Database, carrier_id: int, among: int) -> list[tuple[str, str, int]]:
    """Segments that a carrier accepted and of which it has not said what became: its id, sender and recipient. Looks at the carrier's
    newest `among` ids, if their order is that of time."""
    async with db.hot() as tx:
        return [(row[0], row[1], row[2]) for row in await tx.fetch(_UNRECEIPTED, carrier_id, among)]


def _back(row: MessageRow, prefix: str, attempt: int, now_ms: int, expires_at_ms: int) -> Requeued:
    return Requeued(rank_ahead(ids.made_at_ms(int(row.id, 16))), row.id, row.send_id, row.segments, prefix, attempt, now_ms, expires_at_ms)


async def _locked(tx: HotTx, message_ids: set[str], now_ms: int) -> Changes:
    rows: list[Any] = await turn_sql.lock_messages(tx, message_ids)
    return Changes.of(now_ms, rows)
