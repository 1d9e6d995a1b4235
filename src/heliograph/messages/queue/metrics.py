"""Counts messages in the queue and in doubt for `/metrics`, every few seconds, in the process that
does the common work.
"""

from typing import Final, NamedTuple

from heliograph.base import ids
from heliograph.database.database import Database
from heliograph.database.statements import BigInt, Int, Row, SmallInt, Text, portable
from heliograph.messages.queue.rank import BULK_FROM_US, HELD_FROM_US
from heliograph.messages.states import IN_DOUBT, SEGMENT

# segments in doubt: counting so many takes 0.1 s, and nobody needs to know how many more there are
COUNTED_MAX: Final = 100_000


class _QueueParts(Row, frozen=True):
    bulk_from_us: BigInt
    held_from_us: BigInt


class _CarrierQueue(Row, frozen=True):
    """Counts what waits for one carrier, bulk or what stands ahead of it. `oldest_id` has dashes
    on PostgreSQL.
    """

    carrier_id: SmallInt
    ahead: SmallInt
    messages: BigInt
    oldest_id: Text


class _Most(Row, frozen=True):
    most: Int


class _InDoubt(Row, frozen=True):
    carrier_id: SmallInt
    messages: BigInt


# What is held has its own rank, and waits for no carrier: paused campaigns, and what a restored
# copy had queued.
_WAITING: Final = portable(
    _QueueParts,
    _CarrierQueue,
    """
    SELECT carrier_id, CAST(CASE WHEN rank_us < :bulk_from_us THEN 1 ELSE 0 END AS smallint)
            AS ahead,
        CAST(sum(count) AS bigint) AS messages, min(CAST(first_id AS text)) AS oldest_id
    FROM queue WHERE rank_us < :held_from_us GROUP BY 1, 2""",
)
_IN_DOUBT: Final = portable(
    _Most,
    _InDoubt,
    f"""
    SELECT carrier_id, count(DISTINCT message_id) AS messages
    FROM (SELECT carrier_id, message_id FROM inflight WHERE {SEGMENT.is_in(IN_DOUBT)} LIMIT :most
        ) doubts
        GROUP BY carrier_id""",
)


class QueueLength(NamedTuple):
    """Counts messages that wait."""

    messages: int = 0
    oldest_s: float = 0.0  # since the oldest of them was accepted


class WaitingMessages(NamedTuple):
    """Counts the messages that wait for one carrier: bulk, and what stands ahead of it, which is
    one-time passwords and what is tried again.
    """

    ahead: QueueLength = QueueLength()
    bulk: QueueLength = QueueLength()

    @property
    def messages(self) -> int:
        return self.ahead.messages + self.bulk.messages

    @property
    def oldest_s(self) -> float:
        return max(self.ahead.oldest_s, self.bulk.oldest_s)


async def count_waiting(db: Database, now_ms: int) -> dict[int, WaitingMessages]:
    """Returns, by carrier, what waits for it; a carrier that nothing waits for is not there."""
    async with db.hot() as tx:
        queued = await _WAITING.rows(tx, _QueueParts(BULK_FROM_US, HELD_FROM_US))
    found: dict[int, WaitingMessages] = {}
    for of in queued:
        length = QueueLength(
            of.messages,
            max(0, now_ms - ids.made_at_ms(int(of.oldest_id.replace("-", ""), 16))) / 1_000,
        )
        known = found.get(of.carrier_id, WaitingMessages())
        found[of.carrier_id] = (
            known._replace(ahead=length) if of.ahead else known._replace(bulk=length)
        )
    return found


async def count_in_doubt(db: Database) -> dict[int, int]:
    """Returns, by carrier, how many messages are in doubt with it. Of more than
    COUNTED_MAX segments, so many are looked at.
    """
    async with db.hot() as tx:
        return {of.carrier_id: of.messages for of in await _IN_DOUBT.rows(tx, _Most(COUNTED_MAX))}
