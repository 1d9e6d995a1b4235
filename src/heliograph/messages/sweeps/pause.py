"""Holds the waiting messages of a group while it is paused, and fails them when it is canceled. It
also fails an account's waiting messages when its operator cancels them.

Held runs stay in the queue, behind everything: their rank is their own, in a range that no
carrier's turn looks at. So a message has one place, validity ends there as everywhere, and what is
let go stands where it stood.
"""

from typing import Final

from heliograph.database.database import Database
from heliograph.database.hot import HotTx
from heliograph.database.statements import GivenT, Id, Int, Row, Statement
from heliograph.messages.queue.rank import HELD_FROM_US, RESTORED_FROM_US
from heliograph.messages.queue.sql import QUEUE_AGAIN, TAKE_RUNS, QueuedRun, queue_columns
from heliograph.messages.sweeps.sweep import BATCH_MAX, FailedMessages, fail_runs

RUNS_AT_ONCE: Final = 2_000  # moved in one transaction: about 50 ms


class OfGroup(Row, frozen=True):
    group_id: Int
    most: Int


class QueuedOfAccount(Row, frozen=True):
    account_id: Id
    most: Int


# The queue first: to SQLite, CROSS JOIN says so. It would look at all of it for each send of the
# group.
_QUEUED: Final = (
    f"SELECT {queue_columns('q')} FROM queue q CROSS JOIN sends s WHERE s.id = q.send_id"
)
_OF_GROUP: Final = f"{_QUEUED} AND s.group_id = :group_id"


def _lock_runs(given: type[GivenT], sql: str) -> Statement[GivenT, QueuedRun]:
    """Selects and locks runs that nobody else is taking now."""
    return Statement(
        given,
        QueuedRun,
        postgresql=f"{sql} LIMIT :most FOR UPDATE OF q SKIP LOCKED",
        sqlite=f"{sql} LIMIT :most",
    )


_TO_HOLD: Final = _lock_runs(OfGroup, f"{_OF_GROUP} AND q.rank_us < {HELD_FROM_US}")
_TO_RELEASE: Final = _lock_runs(
    OfGroup, f"{_OF_GROUP} AND q.rank_us >= {HELD_FROM_US} AND q.rank_us < {RESTORED_FROM_US}"
)
_TO_FAIL: Final = _lock_runs(OfGroup, _OF_GROUP)
_OF_ACCOUNT: Final = _lock_runs(QueuedOfAccount, f"{_QUEUED} AND s.account_id = :account_id")


async def hold(db: Database, group_id: int) -> int:
    """Keeps runs of a group from every carrier, at most RUNS_AT_ONCE, and returns how many. What a
    carrier was given already goes on.
    """
    return await _move(db, group_id, _TO_HOLD, HELD_FROM_US)


async def release(db: Database, group_id: int) -> int:
    """Puts held runs of a group back, each to its former place in the queue."""
    return await _move(db, group_id, _TO_RELEASE, -HELD_FROM_US)


async def _move(
    db: Database, group_id: int, which: Statement[OfGroup, QueuedRun], by_us: int
) -> int:
    async with db.hot() as tx:
        runs = await which.rows(tx, OfGroup(group_id, RUNS_AT_ONCE))
        await TAKE_RUNS.rows(tx, [run.key for run in runs])
        # parts of a message may move one after the other
        await QUEUE_AGAIN.rows(tx, [run.moved(by_us) for run in runs])
    return len(runs)


async def fail_canceled(db: Database, group_id: int, now_ms: int) -> int:
    """Fails messages of a canceled group that no carrier has: they are `canceled` and refunded.
    Returns how many.
    """
    async with db.hot() as tx:
        runs = await _TO_FAIL.rows(tx, OfGroup(group_id, BATCH_MAX))
        return (await fail_runs(tx, runs, now_ms, "canceled")).messages


async def fail_queued(db: Database, account_id: str, now_ms: int) -> int:
    """Fails messages of an account (raw id), of both modes, that no carrier has: they are
    `canceled` and refunded. Returns how many; 0 means that there are no more.
    """
    async with db.hot() as tx:
        return (await fail_queued_within(tx, account_id, now_ms)).messages


async def fail_queued_within(tx: HotTx, account_id: str, now_ms: int) -> FailedMessages:
    """Does in the caller's transaction what `fail_queued` does."""
    runs = await _OF_ACCOUNT.rows(tx, QueuedOfAccount(account_id, BATCH_MAX))
    return await fail_runs(tx, runs, now_ms, "canceled")
