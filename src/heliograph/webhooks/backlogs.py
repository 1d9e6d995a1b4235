"""Says how many events wait for an endpoint, and for which one most of them wait."""

from collections.abc import Collection
from typing import Final

import sqlalchemy as sa
from sqlalchemy.engine import Connection

from heliograph.webhooks import endpoints
from heliograph.webhooks.endpoints import WebhookEndpoint
from heliograph.webhooks.tables import webhook_endpoints, webhook_queue

# of each of the hundred endpoints that an account may have: 10,000 rows at most
WAITING_COUNTED_MAX: Final = 100
LOOKED_AT_MAX: Final = 50_000  # the page Now asks every three seconds
_CANDIDATES: Final = 10  # those of `heliograph listen` and removed ones may be among them


def waiting(tx: Connection, endpoint_ids: Collection[str]) -> dict[str, int]:
    """Returns how many events wait for each of these endpoints, by raw id, up to
    WAITING_COUNTED_MAX.
    """
    if not endpoint_ids:
        return {}
    endpoint, queue = webhook_endpoints.c, webhook_queue.c
    some = (
        sa.select(queue.event_id)
        .where(queue.endpoint_id == endpoint.id)
        .limit(WAITING_COUNTED_MAX)
        .correlate(webhook_endpoints)
        .subquery()
    )
    counted = sa.select(sa.func.count()).select_from(some).scalar_subquery()
    query = sa.select(endpoint.id, counted.label("waiting")).where(endpoint.id.in_(endpoint_ids))
    return {row.id: row.waiting for row in tx.execute(query)}


def most_waited_for(tx: Connection) -> WebhookEndpoint | None:
    """Returns the endpoint that has the most of up to LOOKED_AT_MAX events that wait, or None while
    none waits for an endpoint that is shown.
    """
    some = sa.select(webhook_queue.c.endpoint_id).limit(LOOKED_AT_MAX).subquery()
    most = (
        sa.select(some.c.endpoint_id, sa.func.count().label("waiting"))
        .group_by(some.c.endpoint_id)
        .order_by(sa.func.count().desc(), some.c.endpoint_id)
        .limit(_CANDIDATES)
        .subquery()
    )
    endpoint = webhook_endpoints.c
    query = (
        sa.select(endpoint.id)
        .join(most, most.c.endpoint_id == endpoint.id)
        .where(endpoint.listens_until_ms.is_(None))
        .order_by(most.c.waiting.desc(), endpoint.id)
        .limit(1)
    )
    found = tx.execute(query).scalar()
    return None if found is None else endpoints.endpoint_of(tx, endpoints.text_id(found))
