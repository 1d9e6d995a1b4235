"""What stands in the queue and on the wire, counted for `/metrics`: every few seconds, by the one process that looks after everything."""

from typing import Final, NamedTuple

from heliograph.base import ids
from heliograph.base.db import Database
from heliograph.messages.fair import HELD_FROM_US

COUNTED_MAX: Final = 100_000  # segments in doubt: counting so many takes 0.1 s, and nobody needs to know how many more there are

# What is held has its own rank, and waits for no carrier: paused campaigns, and what a restored copy had queued.
_WAITING: Final = "SELECT carrier_id, sum(count), min(CAST(first_id AS text)) FROM queue WHERE rank_us < $1 GROUP BY carrier_id"
_IN_DOUBT: Final = """
    SELECT carrier_id, count(DISTINCT message_id)
    FROM (SELECT carrier_id, message_id FROM inflight WHERE state = 'in_doubt' LIMIT $1) doubts GROUP BY carrier_id"""


class Waiting(NamedTuple):
    """What waits for a carrier."""

    messages: int = 0
    oldest_s: float = 0.0  # since the oldest of them was accepted


async def count_waiting(db: Database, now_ms: int) -> dict[int, Waiting]:
    """Returns, by carrier, what waits for it; a carrier that nothing waits for is not there."""
    async with db.hot() as tx:
        rows = await tx.fetch(_WAITING, HELD_FROM_US)
    return {row[0]: Waiting(int(row[1]), max(0, now_ms - ids.made_at_ms(int(row[2].replace("-", ""), 16))) / 1_000) for row in rows}


async def count_in_doubt(db: Database) -> dict[int, int]:
    """Returns, by carrier, how many messages are in doubt with it. Of more than COUNTED_MAX segments, so many are looked at."""
    async with db.hot() as tx:
        rows = await tx.fetch(_IN_DOUBT, COUNTED_MAX)
    return {row[0]: row[1] for row in rows}
