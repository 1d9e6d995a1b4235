"""A span of events is delivered again: those that were made from its beginning on, before its end,
and were not delivered.
"""

import pytest
import sqlalchemy as sa

from heliograph.base import clock
from heliograph.base.clock import HOUR_MS
from heliograph.base.errors import InvalidRequest
from heliograph.database.database import Database
from heliograph.webhooks.endpoints import WebhookEndpoint
from heliograph.webhooks.replay import replay_span
from heliograph.webhooks.tables import webhook_deliveries, webhook_events, webhook_queue
from tests.support.capability.webhooks import endpoint, happened_to
from tests.support.factories import awaited, open_account

COUNT = 6


async def an_hour_apart(db: Database, account_id: str) -> list[str]:
    """Makes events, the newest an hour ago, and returns their ids (raw), the newest first."""
    for _ in range(COUNT):
        await happened_to(db, account_id, 1)
        clock.move(by_ms=HOUR_MS)
    await db.close_hot()
    with db.read() as tx:
        event = webhook_events.c
        found = tx.execute(sa.select(event.id, event.created_at_ms).order_by(event.id.desc())).all()
    assert len({row.created_at_ms // HOUR_MS for row in found}) == COUNT
    return [row.id for row in found]


def made_at_ms(db: Database, event_id: str) -> int:
    event = webhook_events.c
    with db.read() as tx:
        at_ms: int = tx.execute(
            sa.select(event.created_at_ms).where(event.id == event_id)
        ).scalar_one()
    return at_ms


def due(db: Database) -> set[str]:
    """Returns the events that are tried now."""
    with db.read() as tx:
        waiting = webhook_queue.c
        now_ms = clock.now_ms()
        return set(
            tx.execute(sa.select(waiting.event_id).where(waiting.due_at_ms <= now_ms)).scalars()
        )


def give_up(db: Database, here: WebhookEndpoint, events: list[str], outcome: str) -> None:
    with db.write() as tx:
        tx.execute(webhook_queue.delete().where(webhook_queue.c.event_id.in_(events)))
        for event_id in events:
            tx.execute(
                webhook_deliveries.insert().values(
                    endpoint_id=here.id,
                    event_id=event_id,
                    outcome=outcome,
                    tries=5,
                    at_ms=clock.now_ms(),
                )
            )


@awaited
async def test_a_span_has_its_beginning_and_not_its_end(at_noon: None, db: Database) -> None:
    amina_id = open_account(db)
    here, _ = endpoint(db, amina_id)
    one, two, three, four, five, six = await an_hour_apart(db, amina_id)
    now_ms = clock.now_ms()
    with db.write() as tx:  # what is left waits for a later try
        tx.execute(webhook_queue.update().values(due_at_ms=now_ms + HOUR_MS))
    give_up(db, here, [two, five], "exhausted")
    give_up(db, here, [four], "delivered")
    since_ms, until_ms = made_at_ms(db, five), made_at_ms(db, two)
    with db.write() as tx:
        assert replay_span(tx, here, since_ms, until_ms, now_ms=now_ms) == 2
    assert due(db) == {three, five}
    with db.write() as tx:
        assert replay_span(tx, here, since_ms, until_ms, now_ms=now_ms) == 0
        assert replay_span(tx, here, since_ms, until_ms + 1, now_ms=now_ms) == 1
    assert due(db) == {two, three, five}
    with db.write() as tx:
        assert replay_span(tx, here, made_at_ms(db, six), now_ms=now_ms) == 2
    assert due(db) == {one, two, three, five, six}


@pytest.mark.judged_in_python
@awaited
async def test_a_span_that_ends_before_it_begins_is_refused(at_noon: None, db: Database) -> None:
    here, _ = endpoint(db, open_account(db))
    now_ms = clock.now_ms()
    for until_ms in (now_ms - HOUR_MS, now_ms - 2 * HOUR_MS):
        with db.write() as tx, pytest.raises(InvalidRequest) as refused:
            replay_span(tx, here, now_ms - HOUR_MS, until_ms, now_ms=now_ms)
        assert [error.field for error in refused.value.fields] == ["until"]
