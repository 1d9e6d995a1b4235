"""Declares the statements of delivering, in both dialects. They lock in the order holders, queue,
deliveries, attempts, endpoints.
"""

from typing import Final

from heliograph.database.hot import HotTx
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
from heliograph.webhooks.states import DISABLED, ENDPOINT


class Target(Row, frozen=True):
    """Holds an endpoint as it is configured now. Both secrets are encrypted."""

    id: Id
    account_id: Id
    url: Text
    secret: Text
    former_secret: Text | None
    former_until_ms: BigInt | None
    disabled_at_ms: BigInt | None
    failing_since_ms: BigInt | None


class _DueQuery(Row, frozen=True):
    """Asks for what is due now. `worker` is the number of the process that asks."""

    now_ms: BigInt
    worker: BigInt


class _DueQueryOfOne(Row, frozen=True):
    now_ms: BigInt
    worker: BigInt
    endpoint_id: Id


# From endpoint to endpoint by the queue's key, so that an endpoint's backlog costs no more than one
# row of it. Those that another living process holds are its own.
_DUE: Final = f"""
    WITH RECURSIVE waiting (id) AS (
        SELECT (SELECT endpoint_id FROM webhook_queue ORDER BY endpoint_id LIMIT 1)
        UNION ALL
        SELECT (SELECT q.endpoint_id FROM webhook_queue q WHERE q.endpoint_id > w.id
            ORDER BY q.endpoint_id LIMIT 1) FROM waiting w
        WHERE w.id IS NOT NULL
    )
    SELECT {", ".join(f"e.{name}" for name in Target.__struct_fields__)}
    FROM waiting w JOIN webhook_endpoints e ON e.id = w.id LEFT
        JOIN webhook_holders h ON h.endpoint_id = e.id
    WHERE (e.disabled_at_ms IS NOT NULL
           OR (SELECT q.due_at_ms FROM webhook_queue q WHERE q.endpoint_id = e.id
               ORDER BY q.due_at_ms LIMIT 1) <= :now_ms)
        AND (h.worker IS NULL OR h.worker = :worker
            OR NOT EXISTS (SELECT 1 FROM workers k WHERE k.epoch = h.worker))"""
# Those of `heliograph listen` are its own. A removed endpoint passes for one of them, but is
# disabled: whoever posts to it has to hear of that.
_DUE_ORDINARY: Final = portable(
    _DueQuery, Target, f"{_DUE} AND (e.listens_until_ms IS NULL OR e.disabled_at_ms IS NOT NULL)"
)
_DUE_LISTENING: Final = portable(_DueQueryOfOne, Target, f"{_DUE} AND e.id = :endpoint_id")


class Holder(Row, frozen=True):
    """Says which process, by its number, delivers to an endpoint."""

    endpoint_id: Id
    worker: BigInt


class TakenEndpoint(Row, frozen=True):
    endpoint_id: Id


_IF_FREE: Final = """
    ON CONFLICT (endpoint_id) DO UPDATE SET worker = excluded.worker
        WHERE webhook_holders.worker = excluded.worker
            OR NOT EXISTS (SELECT 1 FROM workers k WHERE k.epoch = webhook_holders.worker)
    RETURNING endpoint_id"""
# Answers those that are ours from now on.
TAKE: Final = BatchStatement(
    Holder,
    TakenEndpoint,
    postgresql=f"""
        INSERT INTO webhook_holders (endpoint_id, worker) SELECT g.endpoint_id, g.worker
            FROM :given AS g
        WHERE EXISTS (SELECT 1 FROM workers w WHERE w.epoch = g.worker) {_IF_FREE}""",
    sqlite=f"""
        INSERT INTO webhook_holders (endpoint_id, worker)
        SELECT :endpoint_id, :worker WHERE EXISTS (SELECT 1 FROM workers
            WHERE epoch = :worker) {_IF_FREE}""",
)
LET_GO: Final = BatchStatement(
    Holder,
    Nothing,
    postgresql="""
        DELETE FROM webhook_holders h USING :given AS g WHERE h.endpoint_id = g.endpoint_id
            AND h.worker = g.worker""",
    sqlite="DELETE FROM webhook_holders WHERE endpoint_id = :endpoint_id AND worker = :worker",
)


class QueueRead(Row, frozen=True):
    """Asks for at most `most` rows of an endpoint's queue, beginning with what is due first."""

    endpoint_id: Id
    now_ms: BigInt
    most: Int


class QueueKey(Row, frozen=True):
    """Identifies a row of the queue."""

    endpoint_id: Id
    due_at_ms: BigInt
    event_id: Id


class WaitingEvents(Row, frozen=True):
    """Holds a row of the queue: an event that waits for an endpoint. `tries` is the number of
    failed attempts.
    """

    endpoint_id: Id
    due_at_ms: BigInt
    event_id: Id
    tries: SmallInt

    @property
    def key(self) -> QueueKey:
        return QueueKey(self.endpoint_id, self.due_at_ms, self.event_id)


class WaitingEvent(Row, frozen=True):
    """Holds a row of the queue with its event. `kind` and `body` are None if the event was pruned
    meanwhile.
    """

    waiting: WaitingEvents
    kind: Text | None
    body: Text | None


# From each queue so much: the keys in order, then the event of each. OFFSET 0 keeps PostgreSQL from
# joining the tables in another way, which it would choose by what it believes a queue to hold.
NEXT: Final = BatchStatement(
    QueueRead,
    WaitingEvent,
    postgresql="""
        SELECT r.endpoint_id, n.due_at_ms, n.event_id, n.tries, v.kind, v.body
        FROM unnest(:endpoint_id, :now_ms, :most) WITH ORDINALITY AS r (endpoint_id, now_ms, most,
            place)
        CROSS JOIN LATERAL (
            SELECT q.due_at_ms, q.event_id, q.tries FROM webhook_queue q
                WHERE q.endpoint_id = r.endpoint_id AND q.due_at_ms <= r.now_ms
            ORDER BY q.due_at_ms, q.event_id LIMIT r.most) n
        LEFT JOIN LATERAL (SELECT e.kind, e.body FROM webhook_events e
            WHERE e.id = n.event_id OFFSET 0) v ON true
        ORDER BY r.place, n.due_at_ms, n.event_id""",
    sqlite="""
        SELECT q.endpoint_id, q.due_at_ms, q.event_id, q.tries, v.kind, v.body
        FROM webhook_queue q LEFT JOIN webhook_events v ON v.id = q.event_id
        WHERE q.endpoint_id = :endpoint_id AND q.due_at_ms <= :now_ms
            ORDER BY q.due_at_ms, q.event_id LIMIT :most""",
)


class DoneEvent(Row, frozen=True):
    endpoint_id: Id
    event_id: Id


# Answers those that were still waiting.
DONE: Final = BatchStatement(
    QueueKey,
    DoneEvent,
    postgresql="""
        DELETE FROM webhook_queue q USING :given AS g
        WHERE q.endpoint_id = g.endpoint_id AND q.due_at_ms = g.due_at_ms
            AND q.event_id = g.event_id RETURNING q.endpoint_id, q.event_id""",
    sqlite="""
        DELETE FROM webhook_queue WHERE endpoint_id = :endpoint_id AND due_at_ms = :due_at_ms
            AND event_id = :event_id
        RETURNING endpoint_id, event_id""",
)
AGAIN: Final = Insert("webhook_queue", WaitingEvents, "ON CONFLICT DO NOTHING")


class DeliveryRow(Row, frozen=True):
    """Holds a row of the deliveries: what became of an event in the end. `status`, `took_ms` and
    `answer` are those of the last attempt, if there was one.
    """

    endpoint_id: Id
    event_id: Id
    outcome: Text
    tries: SmallInt
    status: SmallInt | None
    took_ms: Int | None
    answer: Text | None
    at_ms: BigInt


# No outcome follows another one (`DELIVERY` in webhooks/states.py): a delivery first waits again,
# and then a replay has deleted its row here. So a row that there is stays as it is.
STORE_ENDED: Final = Insert("webhook_deliveries", DeliveryRow, "ON CONFLICT DO NOTHING")


class Attempt(Row, frozen=True, rename={"number": "try"}):
    """Describes a failed attempt. `number` counts the attempts of its event, from 1; `try` is a
    word of Python's.
    """

    id: Id
    endpoint_id: Id
    event_id: Id
    number: SmallInt
    status: SmallInt | None
    reason: Text
    took_ms: Int
    answer: Text | None
    retry_after: Text | None


ATTEMPTS: Final = Insert("webhook_attempts", Attempt)


class _ToMiss(Row, frozen=True):
    endpoint_id: Id
    most: Int


class MissedEvent(Row, frozen=True):
    event_id: Id
    tries: SmallInt


_MISS: Final = portable(
    _ToMiss,
    MissedEvent,
    """
    DELETE FROM webhook_queue WHERE (endpoint_id, due_at_ms, event_id) IN (
        SELECT endpoint_id, due_at_ms, event_id FROM webhook_queue WHERE endpoint_id = :endpoint_id
            ORDER BY due_at_ms, event_id LIMIT :most)
    RETURNING event_id, tries""",
)


class FailingSince(Row, frozen=True):
    """Says since when an endpoint has met nothing but failures, or None if it does not fail."""

    id: Id
    since_ms: BigInt | None


FAILING: Final = BatchStatement(
    FailingSince,
    Nothing,
    postgresql="""
        UPDATE webhook_endpoints e SET failing_since_ms = g.since_ms FROM :given AS g
            WHERE e.id = g.id""",
    sqlite="UPDATE webhook_endpoints SET failing_since_ms = :since_ms WHERE id = :id",
)


class _ToDisable(Row, frozen=True):
    id: Id
    now_ms: BigInt
    reason: Text


class Disabled(Row, frozen=True):
    account_id: Id
    url: Text


_DISABLE: Final = portable(
    _ToDisable,
    Disabled,
    f"""
    UPDATE webhook_endpoints SET disabled_at_ms = :now_ms, disabled_reason = :reason,
        failing_since_ms = NULL
    WHERE id = :id AND {ENDPOINT.may_become(DISABLED)} RETURNING account_id, url""",
)


async def find_due(tx: HotTx, now_ms: int, worker: int, only: str | None) -> list[Target]:
    """Returns endpoints with something due, or disabled and with something waiting, that this
    process holds or may hold; or `only` one, of `heliograph listen`.
    """
    if only is None:
        return await _DUE_ORDINARY.rows(tx, _DueQuery(now_ms, worker))
    return await _DUE_LISTENING.rows(tx, _DueQueryOfOne(now_ms, worker, only))


async def miss(tx: HotTx, endpoint_id: str, most: int) -> list[MissedEvent]:
    """Takes at most `most` events of a disabled endpoint out of the queue."""
    return await _MISS.rows(tx, _ToMiss(endpoint_id, most))


async def disable(tx: HotTx, endpoint_id: str, now_ms: int, reason: str) -> list[Disabled]:
    """Returns the endpoint, or nothing if it was disabled already."""
    return await _DISABLE.rows(tx, _ToDisable(endpoint_id, now_ms, reason))
