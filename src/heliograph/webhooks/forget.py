"""The rows of an endpoint that has gone are deleted, a few at a time: nobody who sends waits for it."""

from typing import Final

from heliograph.base.hot import HotTx
from heliograph.base.pruning import ROWS_AT_ONCE

GONE_MAX: Final = 1_000

# Removed endpoints, and those whose `heliograph listen` was killed, or has ended while somebody stored an event for it: that one's row of the
# queue, found from endpoint to endpoint by its key, would stay for ever.
_GONE: Final = """
    WITH RECURSIVE waiting (id) AS (
        SELECT (SELECT endpoint_id FROM webhook_queue ORDER BY endpoint_id LIMIT 1)
        UNION ALL
        SELECT (SELECT q.endpoint_id FROM webhook_queue q WHERE q.endpoint_id > w.id ORDER BY q.endpoint_id LIMIT 1) FROM waiting w
        WHERE w.id IS NOT NULL
    )
    SELECT id FROM webhook_endpoints WHERE listens_until_ms < $1
    UNION SELECT w.id FROM waiting w WHERE w.id IS NOT NULL AND NOT EXISTS (SELECT 1 FROM webhook_endpoints e WHERE e.id = w.id)
    UNION SELECT h.endpoint_id FROM webhook_holders h WHERE NOT EXISTS (SELECT 1 FROM webhook_endpoints e WHERE e.id = h.endpoint_id)
    LIMIT $2"""
_TABLES: Final = ("webhook_holders", "webhook_queue", "webhook_deliveries", "webhook_attempts")
_SOME: Final = """
    DELETE FROM {table} WHERE ctid = ANY(ARRAY(SELECT ctid FROM {table} WHERE endpoint_id = $1 LIMIT $2)) RETURNING 1"""
_SOME_SQLITE: Final = """
    DELETE FROM {table} WHERE rowid IN (SELECT rowid FROM {table} WHERE endpoint_id = $1 LIMIT $2) RETURNING 1"""
_ENDPOINT: Final = "DELETE FROM webhook_endpoints WHERE id = $1"


async def gone(tx: HotTx, now_ms: int) -> list[str]:
    """Raw ids of endpoints whose rows are to go, GONE_MAX at most."""
    return [row[0] for row in await tx.fetch(_GONE, now_ms, GONE_MAX)]


async def forget_some(tx: HotTx, endpoint_id: str) -> int:
    """Deletes what became of its events, ROWS_AT_ONCE rows at most; how many. 0: nothing was left of it but itself, which is deleted now."""
    for table in _TABLES:
        rows = await tx.fetch((_SOME if tx.postgresql else _SOME_SQLITE).format(table=table), endpoint_id, ROWS_AT_ONCE)
        if rows:
            return len(rows)
    await tx.fetch(_ENDPOINT, endpoint_id)
    return 0
