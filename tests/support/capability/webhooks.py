"""Makes endpoints, and reads what is stored of their events, as tests see it."""

import json
from collections.abc import Sequence
from typing import Any

import sqlalchemy as sa
from standardwebhooks.webhooks import Webhook

from heliograph.base import clock
from heliograph.database.database import Database
from heliograph.webhooks import endpoints
from heliograph.webhooks.endpoints import WebhookEndpoint
from heliograph.webhooks.events import Event, emit, load_listeners
from heliograph.webhooks.http.address_guard import AllowedNetworks
from heliograph.webhooks.tables import (
    webhook_attempts,
    webhook_deliveries,
    webhook_events,
    webhook_queue,
)
from tests.support.capability.sending import House
from tests.support.factories import SECRET_KEY
from tests.support.wire.webhook_receiver import Receiver

DEVELOPMENT = AllowedNetworks(loopback=True)
NOWHERE = "http://127.0.0.1:9/hook"


def endpoint(
    db: Database,
    account_id: str,
    url: str = NOWHERE,
    kinds: Sequence[str] = ("all",),
    *,
    sandbox: bool = False,
    include_customers: bool = False,
    age_ms: int = 0,
) -> tuple[WebhookEndpoint, str]:
    """Makes an endpoint, and returns it with its secret. `age_ms` says how long ago it was made."""
    with db.write() as tx:
        return endpoints.add(
            tx,
            account_id,
            url,
            kinds,
            sandbox=sandbox,
            include_customers=include_customers,
            secret_key=SECRET_KEY,
            allow=DEVELOPMENT,
            now_ms=clock.now_ms() - age_ms,
        )


def let_wait(db: Database, each: WebhookEndpoint, count: int) -> None:
    """Lets so many events wait for an endpoint, and stores nothing of the events themselves."""
    waits = {"endpoint_id": each.id, "tries": 1}
    rows = [{**waits, "due_at_ms": at, "event_id": f"{at:032x}"} for at in range(count)]
    with db.write() as tx:
        tx.execute(sa.insert(webhook_queue), rows)


def events(db: Database) -> list[dict[str, Any]]:
    """Returns the bodies of all events, oldest first."""
    with db.read() as tx:
        return [
            json.loads(body)
            for body in tx.execute(
                sa.select(webhook_events.c.body).order_by(webhook_events.c.id)
            ).scalars()
        ]


def waiting(db: Database) -> list[tuple[int, int]]:
    """Returns (due_at_ms, tries) of all that wait, the earliest first."""
    with db.read() as tx:
        return [
            (row[0], row[1])
            for row in tx.execute(
                sa.select(webhook_queue.c.due_at_ms, webhook_queue.c.tries).order_by(
                    webhook_queue.c.due_at_ms, webhook_queue.c.event_id
                )
            )
        ]


def outcomes(db: Database) -> list[tuple[str, int, int | None]]:
    """Returns (outcome, tries, status) of all that do not wait any more."""
    columns = webhook_deliveries.c
    with db.read() as tx:
        return [
            (row[0], row[1], row[2])
            for row in tx.execute(
                sa.select(columns.outcome, columns.tries, columns.status).order_by(
                    columns.event_id, columns.endpoint_id
                )
            )
        ]


def failures(db: Database) -> list[tuple[int, int | None, str]]:
    """Returns (number of the try, status, reason) of all attempts that failed, in order."""
    columns = webhook_attempts.c
    with db.read() as tx:
        return [
            (row[0], row[1], row[2])
            for row in tx.execute(
                sa.select(columns["try"], columns.status, columns.reason).order_by(columns.id)
            )
        ]


async def happened(house: House, count: int, said: str = "") -> None:
    """Makes so many events message.sent of amina, numbered; `said` stands in their data."""
    await happened_to(house.db, house.amina_id, count, said)


async def happened_to(db: Database, account_id: str, count: int, said: str = "") -> None:
    """Makes so many events message.sent of an account."""
    async with db.hot() as tx:
        await emit(
            tx,
            await load_listeners(tx, [account_id]),
            [
                Event(
                    account_id,
                    False,
                    "message.sent",
                    clock.now_ms(),
                    {"number": number, "said": said},
                )
                for number in range(count)
            ],
        )


def checked(receiver: Receiver, secret: str) -> Any:
    """Returns the newest event, verified by code that others wrote."""
    headers = dict(line.split(": ", 1) for line in receiver.heads[-1].splitlines()[1:] if line)
    return Webhook(secret).verify(receiver.bodies[-1], headers)
