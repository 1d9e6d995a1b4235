"""Changes what is stored of webhook events, for audits that must find it."""

import json
from collections.abc import Callable
from typing import Any

import sqlalchemy as sa
from sqlalchemy.engine import Connection

from heliograph.base import ids
from heliograph.webhooks.tables import webhook_events, webhook_queue


class EventFaults:
    """Makes faults of one event: the one that `query` finds."""

    def __init__(self, query: sa.Select[Any]) -> None:
        self._query = query

    def event(self, tx: Connection) -> dict[str, Any]:
        return dict(tx.execute(self._query).one()._mapping)

    def deleted(self, tx: Connection) -> None:
        self.forgotten(tx)
        tx.execute(webhook_events.delete().where(webhook_events.c.id == self.event(tx)["id"]))

    def forgotten(self, tx: Connection) -> None:
        """The event waits for no endpoint any more."""
        event_id = self.event(tx)["id"]
        tx.execute(webhook_queue.delete().where(webhook_queue.c.event_id == event_id))

    def added(self, tx: Connection, **other: object) -> None:
        """Adds one more like it, with a row of its own in the queue."""
        event = self.event(tx) | {"id": ids.raw_of_number(ids.new_number())} | other
        waits = tx.execute(sa.select(webhook_queue)).first()
        assert waits is not None
        tx.execute(webhook_events.insert().values(event))
        tx.execute(webhook_queue.insert().values(waits._asdict() | {"event_id": event["id"]}))

    def changed(self, **columns: object) -> Callable[[Connection], None]:
        def change(tx: Connection) -> None:
            is_it = webhook_events.c.id == self.event(tx)["id"]
            tx.execute(webhook_events.update().where(is_it).values(columns))

        return change

    def shown(self, **fields: object) -> Callable[[Connection], None]:
        """Has its body say something else."""

        def change(tx: Connection) -> None:
            body = json.loads(self.event(tx)["body"])
            body["data"] |= fields
            self.changed(body=json.dumps(body))(tx)

        return change
