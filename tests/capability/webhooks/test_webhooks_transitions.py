"""The database changes the state of a delivery or of an endpoint as the tables of transitions say,
and ignores whatever else it is told.
"""

from itertools import product

import pytest
import sqlalchemy as sa

from heliograph.base import clock, ids
from heliograph.database.database import Database
from heliograph.webhooks import deliver_sql, endpoints, replay
from heliograph.webhooks.deliver_sql import STORE_ENDED, DeliveryRow, WaitingEvents
from heliograph.webhooks.endpoints import WebhookEndpoint
from heliograph.webhooks.record_attempts import TRIES_MAX, AttemptResult, Recorder
from heliograph.webhooks.states import (
    DELIVERED,
    DELIVERY,
    DISABLED,
    ENABLED,
    ENDPOINT,
    FAILING,
    MISSED,
    OPERATOR,
    WAITING,
)
from heliograph.webhooks.tables import (
    webhook_deliveries,
    webhook_endpoints,
    webhook_events,
    webhook_queue,
)
from tests.support.capability.webhooks import endpoint
from tests.support.factories import awaited, open_account

DUE_MS = 7
PAIRS = list(product(DELIVERY.states, DELIVERY.states))


@pytest.mark.parametrize(("was", "to"), PAIRS)
@awaited
async def test_a_delivery_comes_to_the_states_that_its_table_allows_and_to_no_other(
    db: Database, was: str, to: str
) -> None:
    here, _ = endpoint(db, open_account(db))
    event_id = _stored(db, here, was)
    if to == WAITING:
        with db.write() as tx:
            replay.replay_one(tx, here, ids.text_of_raw("evt", event_id), now_ms=clock.now_ms())
    elif to == MISSED:
        async with db.hot() as hot:
            missed = await deliver_sql.miss(hot, here.id, 10)
            await STORE_ENDED.rows(
                hot,
                [
                    DeliveryRow(
                        endpoint_id=here.id,
                        event_id=each.event_id,
                        outcome=MISSED,
                        tries=each.tries,
                        status=None,
                        took_ms=None,
                        answer=None,
                        at_ms=8,
                    )
                    for each in missed
                ],
            )
    else:
        waiting = WaitingEvents(here.id, DUE_MS, event_id, TRIES_MAX - 1)
        reason = None if to == DELIVERED else "timeout"
        recorder = Recorder(db)
        recorder.failing_since[here.id] = None
        async with db.hot() as hot:
            await recorder._store(
                hot,
                [
                    AttemptResult(
                        waiting=waiting,
                        at_ms=8,
                        took_ms=1,
                        status=None,
                        reason=reason,
                        answer=None,
                        retry_after=None,
                    )
                ],
            )
    await db.close_hot()
    assert _state_of(db) == (to if DELIVERY.allows(was, to) else was)


@pytest.mark.parametrize("was", [state for state in DELIVERY.states if state != WAITING])
@awaited
async def test_an_outcome_stays_until_the_delivery_waits_again(db: Database, was: str) -> None:
    here, _ = endpoint(db, open_account(db))
    event_id = _stored(db, here, was)
    query = sa.select(webhook_deliveries)
    with db.read() as tx:
        before = tx.execute(query).one()
    for to in DELIVERY.states:
        if to != WAITING:
            assert not DELIVERY.allows(was, to)
            async with db.hot() as hot:
                row = DeliveryRow(
                    endpoint_id=here.id,
                    event_id=event_id,
                    outcome=to,
                    tries=2,
                    status=500,
                    took_ms=30,
                    answer="again",
                    at_ms=before.at_ms + 1,
                )
                await STORE_ENDED.rows(hot, [row])
    await db.close_hot()
    with db.read() as tx:
        assert tx.execute(query).one() == before


def _stored(db: Database, here: WebhookEndpoint, state: str) -> str:
    """Stores an event that is in this state for the endpoint, and returns its raw id."""
    now_ms = clock.now_ms()
    event_id = ids.raw_of_number(ids.new_number(now_ms))
    which = {"endpoint_id": here.id, "event_id": event_id}
    with db.write() as tx:
        tx.execute(
            webhook_events.insert().values(
                id=event_id,
                account_id=here.account_id,
                sandbox=False,
                kind="message.sent",
                body="{}",
                created_at_ms=now_ms,
            )
        )
        if state == WAITING:
            tx.execute(
                webhook_queue.insert().values(**which, due_at_ms=DUE_MS, tries=TRIES_MAX - 1)
            )
        else:
            tx.execute(
                webhook_deliveries.insert().values(
                    **which, outcome=state, tries=1, took_ms=1, at_ms=now_ms
                )
            )
    return event_id


def _state_of(db: Database) -> str:
    """Returns the state of the only delivery."""
    with db.read() as tx:
        states = [WAITING for _ in tx.execute(sa.select(webhook_queue.c.event_id))]
        states += tx.execute(sa.select(webhook_deliveries.c.outcome)).scalars().all()
    [state] = states
    return state


@pytest.mark.parametrize("was", ENDPOINT.states)
@awaited
async def test_an_endpoint_is_disabled_once_and_keeps_the_reason(db: Database, was: str) -> None:
    """It is disabled by an operator, with all of its account, or by its own failures: whoever comes
    second changes nothing.
    """
    assert not ENDPOINT.allows(DISABLED, DISABLED)
    amina_id = open_account(db)
    ways = [endpoint(db, amina_id)[0].id for _ in range(3)]
    with db.write() as tx:
        if was == DISABLED:
            tx.execute(
                sa.update(webhook_endpoints).values(disabled_at_ms=7, disabled_reason=FAILING)
            )
        endpoints.disable(tx, endpoints.text_id(ways[0]), now_ms=8)
    async with db.hot() as hot:
        found = await deliver_sql.disable(hot, ways[1], 8, OPERATOR)
    assert bool(found) == ENDPOINT.allows(was, DISABLED)
    await db.close_hot()
    with db.write() as tx:
        endpoints.disable_all(tx, amina_id, now_ms=8)
        stored = {
            (each.disabled_at_ms, each.disabled_reason)
            for each in endpoints.all_endpoints(tx, amina_id, limit=10)
        }
    assert stored == ({(7, FAILING)} if was == DISABLED else {(8, OPERATOR)})


@pytest.mark.parametrize("was", ENDPOINT.states)
def test_an_endpoint_is_enabled_from_every_state(db: Database, was: str) -> None:
    assert ENDPOINT.allows(was, ENABLED)
    here, _ = endpoint(db, open_account(db))
    with db.write() as tx:
        if was == DISABLED:
            endpoints.disable(tx, endpoints.text_id(here.id), now_ms=8)
        tx.execute(sa.update(webhook_endpoints).values(failing_since_ms=6))
        enabled = endpoints.enable(tx, endpoints.text_id(here.id))
    assert (enabled.disabled_at_ms, enabled.failing_since_ms) == (None, None)
