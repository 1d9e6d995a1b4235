"""What became of events, as the operator sees it: an endpoint's events, and every attempt to deliver one."""

from typing import Any, Final

import sqlalchemy as sa
from sqlalchemy.engine import Connection

from heliograph.base import ids
from heliograph.base.clock import rfc3339
from heliograph.base.errors import NotFound
from heliograph.base.forms import shown
from heliograph.webhooks.endpoints import Endpoint
from heliograph.webhooks.events import EVENT_PREFIX
from heliograph.webhooks.tables import DELIVERED, webhook_attempts, webhook_deliveries, webhook_events, webhook_queue

WAITING: Final = "waiting"


def events(tx: Connection, endpoint: Endpoint, *, limit: int, before: str | None = None, failed: bool = False) -> list[dict[str, Any]]:
    """An endpoint's events, newest first; `failed`: only those that are not delivered. Raises NotFound for `before`."""
    waiting, delivery, event = webhook_queue.c, webhook_deliveries.c, webhook_events.c
    queued = sa.select(waiting.event_id, sa.literal(WAITING), waiting.tries, sa.null(), sa.null(), waiting.due_at_ms).where(
        waiting.endpoint_id == endpoint.id, *([waiting.tries > 0] if failed else []))
    done = sa.select(delivery.event_id, delivery.outcome, delivery.tries, delivery.status, delivery.took_ms, delivery.at_ms).where(
        delivery.endpoint_id == endpoint.id, *([delivery.outcome != DELIVERED] if failed else []))
    found: list[Any] = []
    for query, column in ((queued, waiting.event_id), (done, delivery.event_id)):
        older = query if before is None else query.where(column < raw_event(before))
        found += tx.execute(older.order_by(column.desc()).limit(limit))
    newest = sorted(found, key=lambda row: str(row[0]), reverse=True)[:limit]
    told = {row[0]: row for row in tx.execute(
        sa.select(event.id, event.kind, event.created_at_ms).where(event.id.in_([row[0] for row in newest])))}
    return [_event(row, told.get(row[0])) for row in newest]


def _event(row: Any, told: Any) -> dict[str, Any]:
    event_id, outcome, tries, status, took_ms, at_ms = row
    at = rfc3339(at_ms)
    return {
        "id": ids.text_of_raw(EVENT_PREFIX, event_id), "event": told[1] if told is not None else None,
        "created_at": rfc3339(told[2]) if told is not None else None, "outcome": outcome, "tries": tries, "status": status, "took_ms": took_ms,
        "at": None if outcome == WAITING else at, "next_try_at": at if outcome == WAITING else None,
    }  # fmt: skip


def attempts(tx: Connection, endpoint: Endpoint, *, limit: int, event_id: str | None = None) -> list[dict[str, Any]]:
    """Attempts to deliver the newest events, of each the last one first: failures, and beside them successes. Of one event, or of all. Raises
    NotFound for the event's id."""
    tried, delivery = webhook_attempts.c, webhook_deliveries.c
    failures = sa.select(tried.id, tried.event_id, tried["try"], tried.status, tried.reason, tried.took_ms, tried.answer, tried.retry_after).where(
        tried.endpoint_id == endpoint.id).order_by(tried.event_id.desc(), tried.id.desc()).limit(limit)
    columns = (delivery.at_ms, delivery.event_id, delivery.tries, delivery.status, sa.null(), delivery.took_ms, delivery.answer, sa.null())
    successes = sa.select(*columns).where(delivery.endpoint_id == endpoint.id, delivery.outcome == DELIVERED).order_by(
        delivery.event_id.desc()).limit(limit)
    if event_id is not None:
        raw = raw_event(event_id)
        failures, successes = failures.where(tried.event_id == raw), successes.where(delivery.event_id == raw)
    rows = [(ids.made_at_ms(int(row[0], 16)), *row[1:]) for row in tx.execute(failures)] + [tuple(row) for row in tx.execute(successes)]
    return [_attempt(row) for row in sorted(rows, key=lambda row: (row[1], row[0]), reverse=True)[:limit]]


def _attempt(row: tuple[Any, ...]) -> dict[str, Any]:
    at_ms, event_id, number, status, reason, took_ms, answer, retry_after = row
    return {
        "event_id": ids.text_of_raw(EVENT_PREFIX, event_id), "try": number, "at": rfc3339(at_ms), "status": status,
        "reason": None if reason == DELIVERED else reason,  # of a success that was replayed since
        "took_ms": took_ms, "answer": answer, "retry_after": retry_after,
    }  # fmt: skip


def raw_event(event_id: str) -> str:
    """Raises NotFound for what is no event's id."""
    raw = ids.raw_of_text(EVENT_PREFIX, event_id)
    if raw is None:
        raise NotFound(f"There is no event {shown(event_id)}.")
    return raw
