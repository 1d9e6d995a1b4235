"""Makes what the pages of webhooks show: events, and what became of them."""

import sqlalchemy as sa

from heliograph.base import clock
from heliograph.database.database import Database
from heliograph.webhooks import endpoints
from heliograph.webhooks.endpoints import WebhookEndpoint
from heliograph.webhooks.tables import webhook_deliveries, webhook_queue
from tests.support.capability.webhooks import happened_to


def path_of(home: str, found: WebhookEndpoint) -> str:
    return f"{home}/webhooks/{endpoints.text_id(found.id)}"


def exhaust(db: Database) -> None:
    """Gives up what waits, as after five tries that failed."""
    with db.write() as tx:
        for row in tx.execute(sa.select(webhook_queue)).all():
            tx.execute(
                webhook_deliveries.insert().values(
                    endpoint_id=row.endpoint_id,
                    event_id=row.event_id,
                    outcome="exhausted",
                    tries=9,
                    status=500,
                    took_ms=12,
                    answer="no",
                    at_ms=clock.now_ms(),
                )
            )
        tx.execute(webhook_queue.delete())


async def happens(db: Database, account_id: str, count: int) -> None:
    """Makes so many events, and leaves nothing open."""
    await happened_to(db, account_id, count, "<script>")
    await db.close_hot()
