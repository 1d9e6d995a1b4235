"""Holds the queue's columns in their one place, with the statements that put runs into it and take
them out, in both dialects.

A run is messages of one send that follow each other: the first one's id and how many there are
(`tables.py`).
"""

from typing import Final

from msgspec.structs import replace

from heliograph.base import ids
from heliograph.database.statements import (
    BatchStatement,
    BigInt,
    Id,
    Insert,
    Int,
    Nothing,
    Row,
    SmallInt,
    Text,
    portable,
)
from heliograph.messages.queue.rank import HELD_FROM_US


class RunKey(Row, frozen=True):
    """Holds the primary key of a run."""

    carrier_id: SmallInt
    rank_us: BigInt
    first_id: Id


class QueuedRun(Row, frozen=True, rename={"messages": "count"}):
    """Holds a row of the queue. `segments` is the number of segments of each message. Times are
    Unix milliseconds.
    """

    carrier_id: SmallInt
    rank_us: BigInt
    first_id: Id
    messages: Int
    send_id: Id
    segments: SmallInt
    prefix: Text
    attempt: SmallInt
    not_before_ms: BigInt
    expires_at_ms: BigInt

    @property
    def key(self) -> RunKey:
        """Returns the primary key of the run's row."""
        return RunKey(self.carrier_id, self.rank_us, self.first_id)

    def moved(self, by_us: int) -> "QueuedRun":
        """Returns the same run at another rank."""
        return replace(self, rank_us=self.rank_us + by_us)

    def without_first(self, messages: int, rank_us: int) -> "QueuedRun":
        """Returns what is left when so many of its first messages are taken, at another rank."""
        first_id = ids.raw_of_number(int(self.first_id, 16) + messages)
        return replace(self, rank_us=rank_us, first_id=first_id, messages=self.messages - messages)


def queue_columns(alias: str) -> str:
    """Returns the columns of a QueuedRun, for a SELECT from the queue under this alias."""
    return ", ".join(
        f"{alias}.{column} AS {name}"
        for name, column in zip(
            QueuedRun.__struct_fields__, QueuedRun.__struct_encode_fields__, strict=True
        )
    )


QUEUE: Final = Insert("queue", QueuedRun)

# A message comes back at the same place with each of its parts; whoever claims it takes all that
# are missing. No part may go out with the number of an earlier try of its own: that one's late
# answer would end it.
QUEUE_AGAIN: Final = Insert(
    "queue",
    QueuedRun,
    """
    ON CONFLICT (carrier_id, rank_us, first_id) DO UPDATE SET attempt = CASE
        WHEN queue.attempt > excluded.attempt THEN queue.attempt ELSE excluded.attempt END""",
)

TAKE_RUNS: Final = BatchStatement(
    RunKey,
    Nothing,
    postgresql="""
        DELETE FROM queue q USING :given AS g
        WHERE q.carrier_id = g.carrier_id AND q.rank_us = g.rank_us AND q.first_id = g.first_id""",
    sqlite="""
        DELETE FROM queue WHERE carrier_id = :carrier_id AND rank_us = :rank_us
            AND first_id = :first_id""",
)


class NextRuns(Row, frozen=True):
    """Asks for at most `most` runs that are due. `worker` is the number of the process that
    asks.
    """

    carrier_id: SmallInt
    now_ms: BigInt
    most: Int
    worker: BigInt


# Nothing for a process whose row is gone: it was stopped for so long that others do its work, and
# may not know yet.
NEXT_RUNS: Final = portable(
    NextRuns,
    QueuedRun,
    f"""
    SELECT {queue_columns("q")} FROM queue q
    WHERE q.carrier_id = :carrier_id AND q.rank_us < {HELD_FROM_US} AND q.not_before_ms <= :now_ms
        AND q.expires_at_ms > :now_ms
        AND EXISTS (SELECT 1 FROM workers WHERE epoch = :worker)
    ORDER BY q.rank_us, q.first_id LIMIT :most""",
    lock="FOR UPDATE SKIP LOCKED",
)
