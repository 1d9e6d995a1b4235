"""The statements of delivering, in their two texts side by side. Order of locks: holders, queue, deliveries, attempts, endpoints."""

from typing import Any, Final

from heliograph.base.hot import HotTx, Statement

# From endpoint to endpoint by the queue's key, so that an endpoint's backlog costs no more than one row of it. Those that another living process
# holds are its own.
_DUE: Final = """
    WITH RECURSIVE waiting (id) AS (
        SELECT (SELECT endpoint_id FROM webhook_queue ORDER BY endpoint_id LIMIT 1)
        UNION ALL
        SELECT (SELECT q.endpoint_id FROM webhook_queue q WHERE q.endpoint_id > w.id ORDER BY q.endpoint_id LIMIT 1) FROM waiting w
        WHERE w.id IS NOT NULL
    )
    SELECT e.id, e.account_id, e.url, e.secret, e.former_secret, e.former_until_ms, e.disabled_at_ms, e.failing_since_ms
    FROM waiting w JOIN webhook_endpoints e ON e.id = w.id LEFT JOIN webhook_holders h ON h.endpoint_id = e.id
    WHERE (e.disabled_at_ms IS NOT NULL
           OR (SELECT q.due_at_ms FROM webhook_queue q WHERE q.endpoint_id = e.id ORDER BY q.due_at_ms LIMIT 1) <= $1)
        AND (h.worker IS NULL OR h.worker = $2 OR NOT EXISTS (SELECT 1 FROM workers k WHERE k.epoch = h.worker))
        AND {whose}"""
# Those of `heliograph listen` are its own. A removed endpoint passes for one of them, but is disabled: whoever posts to it has to hear of that.
_DUE_ORDINARY: Final = _DUE.format(whose="(e.listens_until_ms IS NULL OR e.disabled_at_ms IS NOT NULL)")
_DUE_LISTENING: Final = _DUE.format(whose="e.id = $3")

_HELD: Final = """
    ON CONFLICT (endpoint_id) DO UPDATE SET worker = excluded.worker
        WHERE webhook_holders.worker = excluded.worker OR NOT EXISTS (SELECT 1 FROM workers k WHERE k.epoch = webhook_holders.worker)
    RETURNING endpoint_id"""
_HOLD: Final = f"""
    INSERT INTO webhook_holders (endpoint_id, worker) SELECT h.endpoint_id, h.worker FROM unnest($1::uuid[], $2::bigint[]) AS h (endpoint_id, worker)
    WHERE EXISTS (SELECT 1 FROM workers w WHERE w.epoch = h.worker) {_HELD}"""
_HOLD_SQLITE: Final = f"""
    INSERT INTO webhook_holders (endpoint_id, worker) SELECT ?1, ?2 WHERE EXISTS (SELECT 1 FROM workers WHERE epoch = ?2) {_HELD}"""
_LET_GO: Final = """
    DELETE FROM webhook_holders h USING unnest($1::uuid[], $2::bigint[]) AS g (endpoint_id, worker)
    WHERE h.endpoint_id = g.endpoint_id AND h.worker = g.worker"""
_LET_GO_SQLITE: Final = "DELETE FROM webhook_holders WHERE endpoint_id = ? AND worker = ?"

# From each queue so much: the keys in order, then the event of each. OFFSET 0 keeps PostgreSQL from joining the tables in another way, which it
# would choose by what it believes a queue to hold.
_NEXT: Final = """
    SELECT r.endpoint_id, n.due_at_ms, n.event_id, n.tries, v.kind, v.body
    FROM unnest($1::uuid[], $2::bigint[], $3::int[]) WITH ORDINALITY AS r (endpoint_id, now_ms, most, place)
    CROSS JOIN LATERAL (SELECT q.due_at_ms, q.event_id, q.tries FROM webhook_queue q WHERE q.endpoint_id = r.endpoint_id AND q.due_at_ms <= r.now_ms
                        ORDER BY q.due_at_ms, q.event_id LIMIT r.most) n
    LEFT JOIN LATERAL (SELECT e.kind, e.body FROM webhook_events e WHERE e.id = n.event_id OFFSET 0) v ON true
    ORDER BY r.place, n.due_at_ms, n.event_id"""
_NEXT_SQLITE: Final = """
    SELECT q.endpoint_id, q.due_at_ms, q.event_id, q.tries, v.kind, v.body FROM webhook_queue q LEFT JOIN webhook_events v ON v.id = q.event_id
    WHERE q.endpoint_id = ?1 AND q.due_at_ms <= ?2 ORDER BY q.due_at_ms, q.event_id LIMIT ?3"""

_DONE: Final = """
    DELETE FROM webhook_queue q USING unnest($1::uuid[], $2::bigint[], $3::uuid[]) AS d (endpoint_id, due_at_ms, event_id)
    WHERE q.endpoint_id = d.endpoint_id AND q.due_at_ms = d.due_at_ms AND q.event_id = d.event_id RETURNING q.endpoint_id, q.event_id"""
_DONE_SQLITE: Final = "DELETE FROM webhook_queue WHERE endpoint_id = ? AND due_at_ms = ? AND event_id = ? RETURNING endpoint_id, event_id"
_AGAIN: Final = """
    INSERT INTO webhook_queue (endpoint_id, due_at_ms, event_id, tries)
    SELECT * FROM unnest($1::uuid[], $2::bigint[], $3::uuid[], $4::smallint[]) ON CONFLICT DO NOTHING"""
_AGAIN_SQLITE: Final = "INSERT INTO webhook_queue (endpoint_id, due_at_ms, event_id, tries) VALUES (?, ?, ?, ?) ON CONFLICT DO NOTHING"

# A replayed event has an outcome already: the new one takes its place, and its tries add up.
_OUTCOME_COLUMNS: Final = "endpoint_id, event_id, outcome, tries, status, took_ms, answer, at_ms"
_REPLACED: Final = """
    ON CONFLICT (endpoint_id, event_id) DO UPDATE SET outcome = excluded.outcome, tries = webhook_deliveries.tries + excluded.tries,
        status = excluded.status, took_ms = excluded.took_ms, answer = excluded.answer, at_ms = excluded.at_ms"""
_OUTCOMES: Final = f"""
    INSERT INTO webhook_deliveries ({_OUTCOME_COLUMNS})
    SELECT * FROM unnest($1::uuid[], $2::uuid[], $3::text[], $4::smallint[], $5::smallint[], $6::int[], $7::text[], $8::bigint[]) {_REPLACED}"""
_OUTCOMES_SQLITE: Final = f"INSERT INTO webhook_deliveries ({_OUTCOME_COLUMNS}) VALUES (?, ?, ?, ?, ?, ?, ?, ?) {_REPLACED}"
_ATTEMPT_COLUMNS: Final = "id, endpoint_id, event_id, try, status, reason, took_ms, answer, retry_after"
_ATTEMPTS: Final = f"""
    INSERT INTO webhook_attempts ({_ATTEMPT_COLUMNS})
    SELECT * FROM unnest($1::uuid[], $2::uuid[], $3::uuid[], $4::smallint[], $5::smallint[], $6::text[], $7::int[], $8::text[], $9::text[])"""
_ATTEMPTS_SQLITE: Final = f"INSERT INTO webhook_attempts ({_ATTEMPT_COLUMNS}) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)"

_MISS: Final = """
    DELETE FROM webhook_queue WHERE (endpoint_id, due_at_ms, event_id) IN (
        SELECT endpoint_id, due_at_ms, event_id FROM webhook_queue WHERE endpoint_id = $1 ORDER BY due_at_ms, event_id LIMIT $2)
    RETURNING event_id, tries"""

_FAILING: Final = """
    UPDATE webhook_endpoints e SET failing_since_ms = f.since_ms FROM unnest($1::uuid[], $2::bigint[]) AS f (id, since_ms) WHERE e.id = f.id"""
_FAILING_SQLITE: Final = "UPDATE webhook_endpoints SET failing_since_ms = ?2 WHERE id = ?1"
_DISABLE: Final = """
    UPDATE webhook_endpoints SET disabled_at_ms = $2, disabled_reason = $3, failing_since_ms = NULL WHERE id = $1 AND disabled_at_ms IS NULL
    RETURNING account_id, url"""

HOLD: Final = Statement(_HOLD, _HOLD_SQLITE)  # (endpoint_id, worker) → (endpoint_id,) of those that are ours from now on
LET_GO: Final = Statement(_LET_GO, _LET_GO_SQLITE)  # (endpoint_id, worker)
NEXT: Final = Statement(_NEXT, _NEXT_SQLITE)  # (endpoint_id, now_ms, most) → (endpoint_id, due_at_ms, event_id, tries, kind, body), earliest first
DONE: Final = Statement(_DONE, _DONE_SQLITE)  # (endpoint_id, due_at_ms, event_id) → (endpoint_id, event_id) of those that were still waiting
AGAIN: Final = Statement(_AGAIN, _AGAIN_SQLITE)  # (endpoint_id, due_at_ms, event_id, tries)
OUTCOMES: Final = Statement(_OUTCOMES, _OUTCOMES_SQLITE)  # (endpoint_id, event_id, outcome, tries, status, took_ms, answer, at_ms)
ATTEMPTS: Final = Statement(_ATTEMPTS, _ATTEMPTS_SQLITE)  # (id, endpoint_id, event_id, try, status, reason, took_ms, answer, retry_after)
FAILING: Final = Statement(_FAILING, _FAILING_SQLITE)  # (endpoint_id, since_ms or null)


async def due(tx: HotTx, now_ms: int, worker: int, only: str | None) -> list[Any]:
    """Endpoints with something due, or disabled and with something waiting, that this process holds or may hold; or `only` one, of `heliograph
    listen`: id, account, url, secrets, until when the former one holds, when it was disabled, since when it fails."""
    if only is None:
        return await tx.fetch(_DUE_ORDINARY, now_ms, worker)
    return await tx.fetch(_DUE_LISTENING, now_ms, worker, only)


async def miss(tx: HotTx, endpoint_id: str, most: int) -> list[Any]:
    """Takes so many out of the queue, of an endpoint that is disabled: (event_id, tries)."""
    return await tx.fetch(_MISS, endpoint_id, most)


async def disable(tx: HotTx, endpoint_id: str, now_ms: int, reason: str) -> list[Any]:
    """(account_id, url), unless it was disabled already."""
    return await tx.fetch(_DISABLE, endpoint_id, now_ms, reason)
