"""The rows of an endpoint that has gone are deleted, a few at a time: nobody who sends
waits for it.
"""

from typing import Final

from heliograph.database.hot import HotTx
from heliograph.database.pruning import ROWS_AT_ONCE
from heliograph.database.statements import BigInt, Id, Int, Nothing, Row, Statement, portable

GONE_MAX: Final = 1_000


class _GoneBy(Row, frozen=True):
    now_ms: BigInt
    most: Int


class _EndpointId(Row, frozen=True):
    id: Id


class _SomeOfEndpoint(Row, frozen=True):
    endpoint_id: Id
    most: Int


class _Deleted(Row, frozen=True):
    endpoint_id: Id


# Removed endpoints, and those whose `heliograph listen` was killed, or has ended while somebody
# stored an event for it: that one's row of the queue, found from endpoint to endpoint by its key,
# would stay for ever.
_GONE: Final = portable(
    _GoneBy,
    _EndpointId,
    """
    WITH RECURSIVE waiting (id) AS (
        SELECT (SELECT endpoint_id FROM webhook_queue ORDER BY endpoint_id LIMIT 1)
        UNION ALL
        SELECT (SELECT q.endpoint_id FROM webhook_queue q WHERE q.endpoint_id > w.id
            ORDER BY q.endpoint_id LIMIT 1) FROM waiting w
        WHERE w.id IS NOT NULL
    )
    SELECT id FROM webhook_endpoints WHERE listens_until_ms < :now_ms
    UNION SELECT w.id FROM waiting w WHERE w.id IS NOT NULL
        AND NOT EXISTS (SELECT 1 FROM webhook_endpoints e WHERE e.id = w.id)
    UNION SELECT h.endpoint_id FROM webhook_holders h
        WHERE NOT EXISTS (SELECT 1 FROM webhook_endpoints e WHERE e.id = h.endpoint_id)
    LIMIT :most""",
)
_SOME: Final = """
    DELETE FROM {table} WHERE ctid = ANY(ARRAY(SELECT ctid FROM {table}
        WHERE endpoint_id = :endpoint_id LIMIT :most)) RETURNING endpoint_id"""
_SOME_SQLITE: Final = """
    DELETE FROM {table} WHERE rowid IN (SELECT rowid FROM {table} WHERE endpoint_id = :endpoint_id
        LIMIT :most) RETURNING endpoint_id"""


def _some_of(table: str) -> Statement[_SomeOfEndpoint, _Deleted]:
    """Deletes some of an endpoint's rows."""
    return Statement(
        _SomeOfEndpoint,
        _Deleted,
        postgresql=_SOME.format(table=table),
        sqlite=_SOME_SQLITE.format(table=table),
    )


_HOLDERS: Final = _some_of("webhook_holders")
_QUEUE: Final = _some_of("webhook_queue")
_DELIVERIES: Final = _some_of("webhook_deliveries")
_ATTEMPTS: Final = _some_of("webhook_attempts")
_ENDPOINT: Final = portable(_EndpointId, Nothing, "DELETE FROM webhook_endpoints WHERE id = :id")


async def find_gone(tx: HotTx, now_ms: int) -> list[str]:
    """Returns raw ids of endpoints whose rows are to go, GONE_MAX at most."""
    return [endpoint.id for endpoint in await _GONE.rows(tx, _GoneBy(now_ms, GONE_MAX))]


async def forget_some(tx: HotTx, endpoint_id: str) -> int:
    """Deletes what became of an endpoint's events, ROWS_AT_ONCE rows at most, and returns how many.
    If nothing was left but the endpoint itself, it deletes that and returns 0.
    """
    for some in (_HOLDERS, _QUEUE, _DELIVERIES, _ATTEMPTS):
        rows = await some.rows(tx, _SomeOfEndpoint(endpoint_id, ROWS_AT_ONCE))
        if rows:
            return len(rows)
    await _ENDPOINT.rows(tx, _EndpointId(endpoint_id))
    return 0
