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

# One statement, for a carrier's turn waits for each. The bodies are the driver's own array: quoted in a literal, with a quote at every third
# character, they cost more.
_TOLD: Final = """
    WITH told AS (INSERT INTO webhook_events (id, account_id, sandbox, kind, body, created_at_ms)
        SELECT * FROM unnest($1::uuid[], $2::uuid[], $3::bool[], $4::text[], CAST($5 AS text[]), $6::bigint[])),
    missed AS (INSERT INTO webhook_deliveries (endpoint_id, at_ms, event_id, outcome, tries)
        SELECT *, 'missed', 0 FROM unnest($10::uuid[], $11::bigint[], $12::uuid[]))
    INSERT INTO webhook_queue (endpoint_id, due_at_ms, event_id, tries) SELECT *, 0 FROM unnest($7::uuid[], $8::bigint[], $9::uuid[])"""
_EVENTS_SQLITE: Final = "INSERT INTO webhook_events (id, account_id, sandbox, kind, body, created_at_ms) VALUES (?, ?, ?, ?, ?, ?)"
_WAITING_SQLITE: Final = "INSERT INTO webhook_queue (endpoint_id, due_at_ms, event_id, tries) VALUES (?, ?, ?, 0)"
_MISSED_SQLITE: Final = "INSERT INTO webhook_deliveries (endpoint_id, at_ms, event_id, outcome, tries) VALUES (?, ?, ?, 'missed', 0)"

# The same of the account `a`, as one text, which `Heard` reads: for statements that read an account's rows anyway.
ENDPOINTS_EXIST: Final = "(SELECT EXISTS (SELECT 1 FROM webhook_endpoints))"
_EAR: Final = "e.id || ' ' || {sandbox} || ' ' || {enabled} || ' ' || {customer} || ' ' || e.kinds"
_EAR_POSTGRESQL: Final = _EAR.format(sandbox="e.sandbox::int", enabled="(e.disabled_at_ms IS NULL)::int", customer="(a.parent_id IS NOT NULL)::int")
_EAR_SQLITE: Final = _EAR.format(sandbox="e.sandbox", enabled="(e.disabled_at_ms IS NULL)", customer="(a.parent_id IS NOT NULL)")
EARS: Final = f"string_agg({_EAR_POSTGRESQL}, ';')"
EARS_SQLITE: Final = f"group_concat({_EAR_SQLITE}, ';')"
HEARS: Final = "e.account_id IN (a.id, a.parent_id) AND (e.account_id = a.id OR e.include_customers)"

LISTENERS: Final = Statement(_LISTENERS, _LISTENERS_SQLITE)  # account_id → (account_id, is a customer, endpoint_id, sandbox, kinds, is enabled)


async def store(tx: HotTx, events: list[tuple[Any, ...]], waiting: list[tuple[str, int, str]], missed: list[tuple[str, int, str]]) -> None:
    """Of events (id, account_id, sandbox, kind, body, created_at_ms); of those that wait, and of those missed, (endpoint_id, at_ms, event_id)."""
    if not events:
        return
    ids, accounts, modes, kinds, bodies, times = zip(*events, strict=True)
    columns = [list(ids), list(accounts), list(modes), list(kinds), bodies, list(times)]
    if tx.postgresql:
        await tx.over(_TOLD, *columns, *_columns(waiting), *_columns(missed))
        return
    await tx.over(_EVENTS_SQLITE, *columns)
    await tx.over(_WAITING_SQLITE, *_columns(waiting))
    await tx.over(_MISSED_SQLITE, *_columns(missed))


def _columns(rows: list[tuple[str, int, str]]) -> list[list[Any]]:
    return list(map(list, zip(*rows, strict=True))) if rows else [[], [], []]
