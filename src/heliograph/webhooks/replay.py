"""Delivers again what was not delivered, or what the receiver lost. An event goes back to the
queue, with the same id and a schedule of its own.
"""

from collections.abc import Sequence
from typing import Any, Final

import sqlalchemy as sa
from sqlalchemy.engine import Connection

from heliograph.base import ids
from heliograph.base.errors import NotFound
from heliograph.base.forms import quote_value
from heliograph.base.ids import LATER_MS
from heliograph.base.paging import CLOCK_SLACK_MS, first_id_of
from heliograph.base.short_texts import invalid_field
from heliograph.webhooks.endpoints import WebhookEndpoint
from heliograph.webhooks.events import EVENT_PREFIX
from heliograph.webhooks.states import DELIVERED, DELIVERY, WAITING
from heliograph.webhooks.tables import (
    KEPT_MS,
    webhook_attempts,
    webhook_deliveries,
    webhook_events,
    webhook_queue,
)

REPLAYED_AT_ONCE: Final = 10_000  # events that one transaction puts back


def replay_one(tx: Connection, endpoint: WebhookEndpoint, event_id: str, *, now_ms: int) -> None:
    """Delivers one event again, whatever became of it. An event that waits for its next try is
    tried now. Raises NotFound, and InvalidRequest for a disabled endpoint.
    """
    _must_be_enabled(endpoint)
    raw, delivery, waiting = (
        ids.raw_of_text(EVENT_PREFIX, event_id),
        webhook_deliveries.c,
        webhook_queue.c,
    )
    if (
        raw is None
        or tx.execute(
            sa.select(webhook_events.c.id).where(webhook_events.c.id == raw)
        ).one_or_none()
        is None
    ):
        raise _unknown(event_id)
    earlier = tx.execute(
        webhook_deliveries.delete()
        .where(
            delivery.endpoint_id == endpoint.id,
            delivery.event_id == raw,
            sa.text(DELIVERY.may_become(WAITING)),
        )
        .returning(
            delivery.outcome,
            delivery.tries,
            delivery.status,
            delivery.took_ms,
            delivery.answer,
            delivery.at_ms,
        )
    ).first()
    if earlier is not None and earlier.outcome == DELIVERED:
        _keep_attempt(tx, endpoint, raw, earlier)
    row = tx.execute(
        webhook_queue.delete()
        .where(waiting.endpoint_id == endpoint.id, waiting.event_id == raw)
        .returning(waiting.tries)
    ).first()
    if earlier is None and row is None:
        raise _unknown(event_id)
    tx.execute(
        webhook_queue.insert().values(
            endpoint_id=endpoint.id,
            due_at_ms=now_ms,
            event_id=raw,
            tries=row.tries if row is not None else 0,
        )
    )


def _keep_attempt(tx: Connection, endpoint: WebhookEndpoint, event_id: str, was: Any) -> None:
    """Stores the successful attempt as a row of its own. So far, only the delivery's row told of
    it.
    """
    tx.execute(
        webhook_attempts.insert().values(
            id=ids.raw_of_number(ids.new_number(was.at_ms)),
            endpoint_id=endpoint.id,
            event_id=event_id,
            status=was.status,
            reason=DELIVERED,
            took_ms=was.took_ms,
            answer=was.answer,
            **{"try": was.tries},
        )
    )


def replay_span(
    tx: Connection,
    endpoint: WebhookEndpoint,
    since_ms: int,
    until_ms: int | None = None,
    *,
    now_ms: int,
) -> int:
    """Replays events made since then, and before `until_ms`, that were not delivered, oldest first,
    REPLAYED_AT_ONCE at most, and returns how many. Those that wait for a later try have it now.
    Raises InvalidRequest.
    """
    _must_be_enabled(endpoint)
    if since_ms < now_ms - KEPT_MS:
        raise invalid_field("since", "must be within the last 30 days: events are kept no longer")
    if since_ms > now_ms:
        raise invalid_field("since", "must not be in the future")
    if until_ms is not None and until_ms <= since_ms:
        raise invalid_field("until", "must be later than the beginning")
    delivery = webhook_deliveries.c
    oldest = (
        sa.select(delivery.event_id)
        .where(
            delivery.endpoint_id == endpoint.id,
            delivery.outcome != DELIVERED,
            *_made_within(delivery.event_id, since_ms, until_ms),
        )
        .order_by(delivery.event_id)
        .limit(REPLAYED_AT_ONCE)
        .with_for_update()
    )
    # Only the rows that are deleted here go back to the queue: an outcome that is recorded
    # meanwhile stays, wherever it stands among these.
    missing = (
        tx.execute(
            webhook_deliveries.delete()
            .where(
                delivery.endpoint_id == endpoint.id,
                delivery.event_id.in_(oldest),
                sa.text(DELIVERY.may_become(WAITING)),
            )
            .returning(delivery.event_id)
        )
        .scalars()
        .all()
    )
    if missing:
        tx.execute(
            webhook_queue.insert(),
            [
                {"endpoint_id": endpoint.id, "due_at_ms": now_ms, "event_id": event_id, "tries": 0}
                for event_id in sorted(missing)
            ],
        )
    is_made_then = _made_within(webhook_queue.c.event_id, since_ms, until_ms)
    most = REPLAYED_AT_ONCE - len(missing)
    return len(missing) + _retry_early(tx, endpoint, is_made_then, now_ms=now_ms, most=most)


def _made_within(
    event_id: sa.Column[str], since_ms: int, until_ms: int | None
) -> list[sa.ColumnElement[bool]]:
    """Returns what says that the event of this column was made in the span. The range of ids, which
    is roughly the span, leaves out most events without a look at them.
    """
    event = webhook_events.c
    is_event = [event.id == event_id, event.created_at_ms >= since_ms]
    bounds: list[sa.ColumnElement[bool]] = [event_id >= first_id_of(since_ms - LATER_MS)]
    if until_ms is not None:
        is_event.append(event.created_at_ms < until_ms)
        bounds.append(event_id < first_id_of(until_ms + CLOCK_SLACK_MS))
    return [*bounds, sa.exists().where(*is_event)]


def _retry_early(
    tx: Connection,
    endpoint: WebhookEndpoint,
    is_made_then: Sequence[sa.ColumnElement[bool]],
    *,
    now_ms: int,
    most: int,
) -> int:
    """Lets events that were made then, and wait for a later try, be tried now, and returns how
    many. What is due already may be under way, and stays as it is.
    """
    waiting = webhook_queue.c
    later = (
        sa.select(waiting.due_at_ms, waiting.event_id)
        .where(waiting.endpoint_id == endpoint.id, waiting.due_at_ms > now_ms, *is_made_then)
        .order_by(waiting.event_id)
        .limit(most)
    )
    hurried = tx.execute(
        webhook_queue.update()
        .where(
            waiting.endpoint_id == endpoint.id,
            sa.tuple_(waiting.due_at_ms, waiting.event_id).in_(later),
        )
        .values(due_at_ms=now_ms)
    )
    return hurried.rowcount


def _must_be_enabled(endpoint: WebhookEndpoint) -> None:
    if endpoint.disabled_at_ms is not None:
        raise invalid_field("endpoint", "is disabled; enable it first")


def _unknown(event_id: str) -> NotFound:
    return NotFound(
        f"There is no event {quote_value(event_id)} for this endpoint; events are kept for 30 days."
    )
