"""The hot statements of events, in their two texts side by side."""

from typing import Any, Final

from heliograph.base.hot import HotTx, Statement

# A partner's endpoint may want to hear of its customers too.
_LISTENERS: Final = """
    SELECT a.id, a.parent_id IS NOT NULL, e.id, e.sandbox, e.kinds, e.disabled_at_ms IS NULL
    FROM unnest($1::uuid[]) AS w (id) JOIN accounts a ON a.id = w.id JOIN webhook_endpoints e ON e.account_id = a.id
    UNION ALL
    SELECT a.id, true, e.id, e.sandbox, e.kinds, e.disabled_at_ms IS NULL
    FROM unnest($1::uuid[]) AS w (id) JOIN accounts a ON a.id = w.id JOIN webhook_endpoints e ON e.account_id = a.parent_id
    WHERE e.include_customers"""
_LISTENERS_SQLITE: Final = """
    SELECT a.id, a.parent_id IS NOT NULL, e.id, e.sandbox, e.kinds, e.disabled_at_ms IS NULL
    FROM accounts a JOIN webhook_endpoints e ON e.account_id = a.id OR (e.account_id = a.parent_id AND e.include_customers) WHERE a.id = ?"""

# The bodies are the driver's own array: quoted in a literal, with a quote at every third character, they cost more.
_EVENTS: Final = """
    INSERT INTO webhook_events (id, account_id, sandbox, kind, body, created_at_ms)
    SELECT * FROM unnest($1::uuid[], $2::uuid[], $3::bool[], $4::text[], CAST($5 AS text[]), $6::bigint[])"""
_EVENTS_SQLITE: Final = "INSERT INTO webhook_events (id, account_id, sandbox, kind, body, created_at_ms) VALUES (?, ?, ?, ?, ?, ?)"
_WAITING: Final = """
    INSERT INTO webhook_queue (endpoint_id, due_at_ms, event_id, tries) SELECT *, 0 FROM unnest($1::uuid[], $2::bigint[], $3::uuid[])"""
_WAITING_SQLITE: Final = "INSERT INTO webhook_queue (endpoint_id, due_at_ms, event_id, tries) VALUES (?, ?, ?, 0)"
_MISSED: Final = """
    INSERT INTO webhook_deliveries (endpoint_id, at_ms, event_id, outcome, tries)
    SELECT *, 'missed', 0 FROM unnest($1::uuid[], $2::bigint[], $3::uuid[])"""
_MISSED_SQLITE: Final = "INSERT INTO webhook_deliveries (endpoint_id, at_ms, event_id, outcome, tries) VALUES (?, ?, ?, 'missed', 0)"

LISTENERS: Final = Statement(_LISTENERS, _LISTENERS_SQLITE)  # account_id → (account_id, is a customer, endpoint_id, sandbox, kinds, is enabled)
WAITING: Final = Statement(_WAITING, _WAITING_SQLITE)  # (endpoint_id, due_at_ms, event_id)
MISSED: Final = Statement(_MISSED, _MISSED_SQLITE)  # (endpoint_id, at_ms, event_id)


async def store_events(tx: HotTx, rows: list[tuple[Any, ...]]) -> None:
    """(id, account_id, sandbox, kind, body, created_at_ms)."""
    if rows:
        ids, accounts, modes, kinds, bodies, times = zip(*rows, strict=True)
        await tx.over(_EVENTS if tx.postgresql else _EVENTS_SQLITE, list(ids), list(accounts), list(modes), list(kinds), bodies, list(times))
