"""Shows operators what became of events: an endpoint's events, and every attempt to deliver one."""

from collections.abc import Sequence
from typing import Any, NamedTuple

import sqlalchemy as sa
from sqlalchemy.engine import Connection

from heliograph.base import ids
from heliograph.base.addresses import without_query
from heliograph.base.clock import rfc3339
from heliograph.base.errors import NotFound
from heliograph.base.forms import quote_value
from heliograph.database.reads import records_of
from heliograph.webhooks.endpoints import WebhookEndpoint
from heliograph.webhooks.events import EVENT_PREFIX
from heliograph.webhooks.states import DELIVERED, WAITING
from heliograph.webhooks.tables import (
    webhook_attempts,
    webhook_deliveries,
    webhook_endpoints,
    webhook_events,
    webhook_queue,
)


def events(
    tx: Connection,
    endpoint: WebhookEndpoint,
    *,
    limit: int,
    before: str | None = None,
    failed: bool = False,
) -> list[dict[str, Any]]:
    """Returns an endpoint's events, newest first. `failed` returns only those that are not
    delivered. Raises NotFound for `before`.
    """
    waiting, delivery, event = webhook_queue.c, webhook_deliveries.c, webhook_events.c
    queued = sa.select(
        waiting.event_id,
        sa.literal(WAITING).label("outcome"),
        waiting.tries,
        sa.null().label("status"),
        sa.null().label("took_ms"),
        waiting.due_at_ms.label("at_ms"),
    ).where(waiting.endpoint_id == endpoint.id, *([waiting.tries > 0] if failed else []))
    done = sa.select(
        delivery.event_id,
        delivery.outcome,
        delivery.tries,
        delivery.status,
        delivery.took_ms,
        delivery.at_ms,
    ).where(
        delivery.endpoint_id == endpoint.id, *([delivery.outcome != DELIVERED] if failed else [])
    )
    found: list[Any] = []
    for query, column in ((queued, waiting.event_id), (done, delivery.event_id)):
        older = query if before is None else query.where(column < raw_event(before))
        found += tx.execute(older.order_by(column.desc()).limit(limit))
    newest = sorted(found, key=lambda row: str(row.event_id), reverse=True)[:limit]
    by_event = {
        row.id: row
        for row in tx.execute(
            sa.select(event.id, event.kind, event.created_at_ms).where(
                event.id.in_([row.event_id for row in newest])
            )
        )
    }
    return [_event(row, by_event.get(row.event_id)) for row in newest]


def _event(row: Any, by_event: Any) -> dict[str, Any]:
    at = rfc3339(row.at_ms)
    return {
        "id": ids.text_of_raw(EVENT_PREFIX, row.event_id),
        "event": by_event.kind if by_event is not None else None,
        "created_at": rfc3339(by_event.created_at_ms) if by_event is not None else None,
        "outcome": row.outcome,
        "tries": row.tries,
        "status": row.status,
        "took_ms": row.took_ms,
        "at": None if row.outcome == WAITING else at,
        "next_try_at": at if row.outcome == WAITING else None,
    }


class EventRequest(NamedTuple):
    """Holds what is posted of an event: its body, as it is sent."""

    kind: str
    made_at_ms: int
    body: str


def request(tx: Connection, endpoint: WebhookEndpoint, event_id: str) -> EventRequest:
    """Returns what an endpoint is sent of an event. Raises NotFound, also if the event is not for
    this endpoint.
    """
    event, raw = webhook_events.c, raw_event(event_id)
    is_for_it = sa.or_(
        *(
            sa.exists().where(rows.c.endpoint_id == endpoint.id, rows.c.event_id == raw)
            for rows in (webhook_queue, webhook_deliveries)
        )
    )
    row = tx.execute(
        sa.select(event.kind, event.created_at_ms.label("made_at_ms"), event.body).where(
            event.id == raw, is_for_it
        )
    ).one_or_none()
    if row is None:
        raise _no_event(event_id)
    return EventRequest(**row._asdict())


def has_answered(tx: Connection, account_id: str) -> bool:
    """Returns whether an endpoint of the account has taken an event, as far as that is kept."""
    delivery, endpoint = webhook_deliveries.c, webhook_endpoints.c
    own = sa.select(endpoint.id).where(endpoint.account_id == account_id)
    taken = sa.select(delivery.event_id).where(
        delivery.endpoint_id.in_(own), delivery.outcome == DELIVERED
    )
    return tx.execute(taken.limit(1)).first() is not None


class EventDelivery(NamedTuple):
    """Reports what became of one event at one endpoint. `endpoint_id` is raw. `at_ms` is when it
    ended; while it waits, when it is tried next.
    """

    kind: str
    endpoint_id: str
    url: str
    outcome: str
    tries: int
    status: int | None
    at_ms: int

    @property
    def address(self) -> str:
        """Returns the URL as operators see it."""
        return without_query(self.url)


def deliveries_of(tx: Connection, account_id: str, event_ids: Sequence[str]) -> list[EventDelivery]:
    """Returns what became of these events, which have raw ids, at the account's own endpoints, in
    the order of the events.
    """
    if not event_ids:
        return []
    waiting, delivery = webhook_queue.c, webhook_deliveries.c
    endpoint, event = webhook_endpoints.c, webhook_events.c
    own = sa.select(endpoint.id).where(endpoint.account_id == account_id)
    states = sa.union_all(
        sa.select(
            waiting.endpoint_id,
            waiting.event_id,
            sa.literal(WAITING).label("outcome"),
            waiting.tries,
            sa.cast(sa.null(), sa.SmallInteger).label("status"),
            waiting.due_at_ms.label("at_ms"),
        ).where(waiting.endpoint_id.in_(own), waiting.event_id.in_(event_ids)),
        sa.select(
            delivery.endpoint_id,
            delivery.event_id,
            delivery.outcome,
            delivery.tries,
            delivery.status,
            delivery.at_ms,
        ).where(delivery.endpoint_id.in_(own), delivery.event_id.in_(event_ids)),
    ).subquery()
    rows = tx.execute(
        sa.select(
            event.id.label("event_id"),
            event.kind,
            endpoint.id.label("endpoint_id"),
            endpoint.url,
            states.c.outcome,
            states.c.tries,
            states.c.status,
            states.c.at_ms,
        )
        .join_from(states, webhook_events, event.id == states.c.event_id)
        .join(webhook_endpoints, endpoint.id == states.c.endpoint_id)
    )
    places = {event_id: place for place, event_id in enumerate(event_ids)}
    ordered = sorted(rows, key=lambda row: (places[row.event_id], row.url))
    return [
        EventDelivery(
            row.kind,
            row.endpoint_id,
            row.url,
            outcome=row.outcome,
            tries=row.tries,
            status=row.status,
            at_ms=row.at_ms,
        )
        for row in ordered
    ]


def attempts(
    tx: Connection, endpoint: WebhookEndpoint, *, limit: int, event_id: str | None = None
) -> list[dict[str, Any]]:
    """Returns attempts to deliver the newest events, of each the last one first: failures, and
    beside them successes. It returns those of one event, or of all. Raises NotFound for the
    event's id.
    """
    tried, delivery = webhook_attempts.c, webhook_deliveries.c
    failures = (
        sa.select(
            tried.id,
            tried.event_id,
            tried["try"].label("number"),
            tried.status,
            tried.reason,
            tried.took_ms,
            tried.answer,
            tried.retry_after,
        )
        .where(tried.endpoint_id == endpoint.id)
        .order_by(tried.event_id.desc(), tried.id.desc())
        .limit(limit)
    )
    columns = (
        delivery.at_ms,
        delivery.event_id,
        delivery.tries.label("number"),
        delivery.status,
        sa.null().label("reason"),
        delivery.took_ms,
        delivery.answer,
        sa.null().label("retry_after"),
    )
    successes = (
        sa.select(*columns)
        .where(delivery.endpoint_id == endpoint.id, delivery.outcome == DELIVERED)
        .order_by(delivery.event_id.desc())
        .limit(limit)
    )
    if event_id is not None:
        raw = raw_event(event_id)
        failures, successes = (
            failures.where(tried.event_id == raw),
            successes.where(delivery.event_id == raw),
        )
    found = [
        _AttemptRow(at_ms=ids.made_at_ms(int(values.pop("id"), 16)), **values)
        for values in (row._asdict() for row in tx.execute(failures))
    ]
    found += records_of(_AttemptRow, tx.execute(successes))
    return [
        _attempt(each)
        for each in sorted(found, key=lambda each: (each.event_id, each.at_ms), reverse=True)[
            :limit
        ]
    ]


class _AttemptRow(NamedTuple):
    at_ms: int
    event_id: str
    number: int
    status: int | None
    reason: str | None
    took_ms: int | None
    answer: str | None
    retry_after: str | None


def _attempt(each: _AttemptRow) -> dict[str, Any]:
    return {
        "event_id": ids.text_of_raw(EVENT_PREFIX, each.event_id),
        "try": each.number,
        "at": rfc3339(each.at_ms),
        "status": each.status,
        # of a success that was replayed since
        "reason": None if each.reason == DELIVERED else each.reason,
        "took_ms": each.took_ms,
        "answer": each.answer,
        "retry_after": each.retry_after,
    }


def raw_event(event_id: str) -> str:
    """Returns the raw form of an event's id. Raises NotFound for what is not an event's id."""
    raw = ids.raw_of_text(EVENT_PREFIX, event_id)
    if raw is None:
        raise _no_event(event_id)
    return raw


def _no_event(event_id: str) -> NotFound:
    return NotFound(f"There is no event {quote_value(event_id)}.")
