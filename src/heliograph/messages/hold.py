"""What waits of a group while it is paused, and when it is canceled; and what waits of an account, when its operator cancels that.

Held runs stay in the queue, behind everything: their rank is their own, in a range that no carrier's turn looks at. So a message has one place,
validity ends there as everywhere, and who is let go stands where it stood.
"""

from typing import Final

from heliograph.base.db import Database
from heliograph.messages import turn_sql
from heliograph.messages.fair import HELD_FROM_US, RESTORED_FROM_US
from heliograph.messages.sweep import BATCH_MAX, fail_runs

RUNS_AT_ONCE: Final = 2_000  # moved in one transaction: about 50 ms

_RUN: Final = "carrier_id, q.rank_us, q.first_id, q.count, q.send_id, q.segments, q.prefix, q.attempt, q.not_before_ms, q.expires_at_ms"
# The queue first: to SQLite, CROSS JOIN says so. It would look at all of it for each send of the group.
_QUEUED: Final = "SELECT q.{columns} FROM queue q CROSS JOIN sends s WHERE s.id = q.send_id AND s.group_id = $1"
_TO_HOLD: Final = f"{_QUEUED.format(columns=_RUN)} AND q.rank_us < {HELD_FROM_US} LIMIT {RUNS_AT_ONCE}"
_TO_RELEASE: Final = (f"{_QUEUED.format(columns=_RUN)} AND q.rank_us >= {HELD_FROM_US} AND q.rank_us < {RESTORED_FROM_US}"
                      f" LIMIT {RUNS_AT_ONCE}")
_TO_FAIL: Final = _QUEUED.format(columns=_RUN) + " LIMIT $2"
_OF_ACCOUNT: Final = f"SELECT q.{_RUN} FROM queue q CROSS JOIN sends s WHERE s.id = q.send_id AND s.account_id = $1 LIMIT $2"  # noqa: S608  names of ours
_LOCK: Final = " FOR UPDATE OF q SKIP LOCKED"


async def hold(db: Database, group_id: int) -> int:
    """Keeps runs of a group from every carrier, at most RUNS_AT_ONCE; how many. What a carrier was given already goes on."""
    return await _move(db, group_id, _TO_HOLD, HELD_FROM_US)


async def release(db: Database, group_id: int) -> int:
    """Lets them go again, each to where it stood."""
    return await _move(db, group_id, _TO_RELEASE, -HELD_FROM_US)


async def _move(db: Database, group_id: int, which: str, by_us: int) -> int:
    async with db.hot() as tx:
        runs = await tx.fetch(which + (_LOCK if tx.postgresql else ""), group_id)
        await turn_sql.TAKE_RUNS.rows(tx, [tuple(run[:3]) for run in runs])
        await turn_sql.QUEUE_AGAIN.rows(tx, [(run[0], run[1] + by_us, *run[2:]) for run in runs])  # parts of a message may move one after the other
    return len(runs)


async def fail_canceled(db: Database, group_id: int, now_ms: int) -> int:
    """Messages of a canceled group that no carrier has: failed, `canceled`, refunded. Answers how many."""
    async with db.hot() as tx:
        runs = await tx.fetch(_TO_FAIL + (_LOCK if tx.postgresql else ""), group_id, BATCH_MAX)
        return await fail_runs(tx, runs, now_ms, "canceled")


async def fail_queued(db: Database, account_id: str, now_ms: int) -> int:
    """Messages of an account (raw id), of both modes, that no carrier has: failed, `canceled`, refunded. Answers how many; 0: there are no more."""
    async with db.hot() as tx:
        runs = await tx.fetch(_OF_ACCOUNT + (_LOCK if tx.postgresql else ""), account_id, BATCH_MAX)
        return await fail_runs(tx, runs, now_ms, "canceled")
