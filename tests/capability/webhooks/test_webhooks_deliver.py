"""Events are delivered to a real receiver, at once, again by the schedule, by one process at a
time, and to each endpoint for itself.
"""

import asyncio
import json
import time
from contextlib import AbstractAsyncContextManager

import pytest
import sqlalchemy as sa
from standardwebhooks.webhooks import Webhook

from heliograph.accounts import notices
from heliograph.base import clock, ids
from heliograph.database.hot import HotTx
from heliograph.database.leases import workers
from heliograph.webhooks import endpoints, replay
from heliograph.webhooks.deliver import LOOK_S, POLL_S, Deliveries
from heliograph.webhooks.endpoints import ENDPOINTS_PER_ACCOUNT_MAX
from heliograph.webhooks.events import Event, emit, load_listeners
from heliograph.webhooks.record_attempts import FAILING_MAX_MS, RETRY_DELAYS_MS
from heliograph.webhooks.tables import webhook_endpoints
from tests.support.capability.sending import House
from tests.support.capability.webhook_delivery import (
    delivering,
    hangs,
    happened,
    lease,
)
from tests.support.capability.webhooks import (
    DEVELOPMENT,
    NOWHERE,
    endpoint,
    failures,
    outcomes,
    waiting,
)
from tests.support.factories import SECRET_KEY, awaited
from tests.support.polling import until
from tests.support.wire.webhook_receiver import OK, Behaviour, receiving, says

GONE = b"HTTP/1.1 410 Gone\r\nContent-Length: 0\r\n\r\n"
BROKEN = b"HTTP/1.1 500 x\r\nContent-Length: 4\r\nRetry-After: 5\r\n\r\noops"


def in_turn(*behaviours: Behaviour) -> Behaviour:
    """Returns a behaviour in which each request meets the next one of these; the last one stays."""
    left = list(behaviours)

    async def behave(writer: asyncio.StreamWriter) -> None:
        await (left.pop(0) if len(left) > 1 else left[0])(writer)

    return behave


@awaited
async def test_an_event_arrives_once_and_its_receiver_can_check_it(house: House) -> None:
    async with receiving(says(OK)) as receiver, delivering(house):
        _, secret = await asyncio.to_thread(endpoint, house.db, house.amina_id, receiver.url())
        await happened(house, 300)
        await until(lambda: len(outcomes(house.db)) == 300, "the outcomes are stored")
    assert (set(outcomes(house.db)), waiting(house.db), failures(house.db)) == (
        {("delivered", 1, 200)},
        [],
        [],
    )
    assert len(receiver.bodies) == 300 == len({json.loads(body)["id"] for body in receiver.bodies})
    headers = dict(line.split(": ", 1) for line in receiver.heads[0].splitlines()[1:] if line)
    event = Webhook(secret).verify(receiver.bodies[0], headers)
    assert (event["event"], event["id"]) == (headers["X-Service-Event"], headers["webhook-id"])


@awaited
async def test_what_this_process_committed_does_not_wait_until_the_queue_is_looked_at(
    house: House, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("heliograph.webhooks.deliver.POLL_S", 3_600.0)
    async with receiving(says(OK)) as receiver, delivering(house):
        await asyncio.to_thread(endpoint, house.db, house.amina_id, receiver.url())
        for number in range(1, 4):
            await happened(house)
            await until(lambda number=number: len(receiver.bodies) == number, "it arrives")  # type: ignore[misc]


@awaited
async def test_failures_are_tried_again_by_the_schedule_then_kept_and_can_be_replayed(
    house: House,
) -> None:
    async with receiving(in_turn(*[says(BROKEN)] * 5, says(OK))) as receiver, delivering(house):
        made, _ = await asyncio.to_thread(endpoint, house.db, house.amina_id, receiver.url())
        await happened(house)
        for number, delay_ms in enumerate(RETRY_DELAYS_MS, 1):
            await until(lambda number=number: len(failures(house.db)) == number, "it fails")  # type: ignore[misc]
            [(due_at_ms, tries)] = waiting(house.db)
            assert (tries, abs(due_at_ms - clock.now_ms() - delay_ms) < 5_000) == (number, True)
            clock.move(by_ms=delay_ms - 6_000)
            await asyncio.sleep(0.6)
            assert len(failures(house.db)) == number, "before its time"
            clock.move(by_ms=6_000)
        await until(lambda: len(outcomes(house.db)) == 1, "the outcomes are stored")
        assert (outcomes(house.db), waiting(house.db)) == ([("exhausted", 5, 500)], [])
        assert failures(house.db) == [(number, 500, "status") for number in range(1, 6)]
        since_ms = clock.now_ms() - 86_400_000
        replayed = await asyncio.to_thread(
            house.db.transact,
            lambda tx: replay.replay_span(tx, made, since_ms, now_ms=clock.now_ms()),
        )
        assert replayed == 1
        await until(lambda: outcomes(house.db) == [("delivered", 1, 200)], "it is delivered")
    assert len(set(receiver.bodies)) == 1, "the same event, byte for byte"
    assert len(receiver.bodies) == 6


@awaited
async def test_410_disables_and_its_users_are_told(house: House) -> None:
    async with receiving(says(GONE)) as receiver, delivering(house):
        made, _ = await asyncio.to_thread(endpoint, house.db, house.amina_id, receiver.url())
        await happened(house, 20)
        await until(lambda: len(outcomes(house.db)) == 20, "the outcomes are stored")
    assert {outcome for outcome, _, _ in outcomes(house.db)} == {"missed"}
    with house.db.read() as tx:
        disabled = endpoints.endpoint_of(tx, ids.text_of_raw(endpoints.PREFIX, made.id))
        [notice] = notices.of_account(tx, house.amina_id)
    assert (disabled.disabled_reason, notice.kind) == ("gone", "webhook_disabled")


@awaited
async def test_five_days_of_nothing_but_failures_disable_and_one_success_between_does_not(
    house: House,
) -> None:
    async with (
        receiving(in_turn(says(BROKEN), says(OK), says(BROKEN))) as receiver,
        delivering(house),
    ):
        await asyncio.to_thread(endpoint, house.db, house.amina_id, receiver.url())
        for place, by_ms in enumerate(
            (FAILING_MAX_MS - 60_000, 120_000, FAILING_MAX_MS + 1_000, 0)
        ):
            await happened(house)
            await until(
                lambda place=place: (  # type: ignore[misc]
                    len(receiver.bodies) > place
                    and len(failures(house.db)) + len(outcomes(house.db)) > place
                ),
                "it has been tried",
            )
            with house.db.read() as tx:
                disabled = tx.execute(sa.select(webhook_endpoints.c.disabled_reason)).scalar_one()
            if place < 3:
                assert disabled is None
            clock.move(by_ms=by_ms)
        await until(lambda: disabled_reason(house) == "failing", "the endpoint is disabled")


def disabled_reason(house: House) -> str | None:
    with house.db.read() as tx:
        reason: str | None = tx.execute(sa.select(webhook_endpoints.c.disabled_reason)).scalar_one()
        return reason


@awaited
async def test_a_dead_endpoint_with_a_long_queue_delays_nobody(house: House) -> None:
    async with receiving(hangs) as dead, receiving(says(OK)) as alive:
        endpoint(house.db, house.amina_id, dead.url(), ["message.sent"])
        for _ in range(10):
            await happened(house, 10_000)
        async with delivering(house):
            await until(lambda: len(dead.bodies) > 0, "the POSTs arrive")
            await asyncio.to_thread(
                endpoint, house.db, house.amina_id, alive.url(), ["message.delivered"]
            )
            began_s = time.monotonic()
            async with house.db.hot() as tx:
                await emit(
                    tx,
                    await load_listeners(tx, [house.amina_id]),
                    [Event(house.amina_id, False, "message.delivered", clock.now_ms(), {})],
                )
            await until(lambda: len(alive.bodies) == 1, "the POSTs arrive")
            assert time.monotonic() - began_s < 1
    assert len(waiting(house.db)) == 100_000


@awaited
async def test_one_event_for_many_endpoints_costs_few_transactions(
    house: House, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Sends and carriers wait for the same writer, or the same few connections."""
    count = ENDPOINTS_PER_ACCOUNT_MAX
    begun, hot = 0, house.db.hot

    def counted() -> AbstractAsyncContextManager[HotTx]:
        nonlocal begun
        begun += 1
        return hot()

    async with receiving(says(OK)) as receiver:
        for _ in range(count):
            endpoint(house.db, house.amina_id, receiver.url())
        async with delivering(house):
            await happened(house)
            await until(lambda: len(outcomes(house.db)) == count, "the outcomes are stored")
            monkeypatch.setattr(house.db, "hot", counted)
            began_s = time.monotonic()
            await happened(house)
            await until(lambda: len(outcomes(house.db)) == 2 * count, "the outcomes are stored")
            assert begun < 10 + 3 * (time.monotonic() - began_s) / LOOK_S, (
                "a look costs one reading and one recording at most"
            )


@awaited
async def test_what_a_dead_process_held_is_another_ones_and_the_living_share(house: House) -> None:
    first, second = (
        await asyncio.to_thread(lease, house.db),
        await asyncio.to_thread(lease, house.db),
    )
    async with receiving(says(OK)) as receiver:
        endpoint(house.db, house.amina_id, receiver.url())
        async with delivering(house, first), delivering(house, second):
            await happened(house, 200)
            await until(lambda: len(outcomes(house.db)) == 200, "the outcomes are stored")
        assert len(receiver.bodies) == 200
        holder = Deliveries(house.db, first, SECRET_KEY, DEVELOPMENT)
        await holder.start()
        await happened(house)
        await until(lambda: len(outcomes(house.db)) == 201, "the outcomes are stored")
        async with delivering(house, second):
            # it is killed, and its row goes when others see that its beat stands still
            for task in holder._tasks:
                task.cancel()
            await happened(house)
            await asyncio.sleep(0.6)
            assert len(outcomes(house.db)) == 201
            await asyncio.to_thread(
                house.db.transact,
                lambda tx: tx.execute(workers.delete().where(workers.c.epoch == first.number)),
            )
            await until(lambda: len(outcomes(house.db)) == 202, "the outcomes are stored")
        await holder.stop(0.0)


@awaited
async def test_an_endpoint_that_is_enabled_again_does_not_wait_for_what_still_hangs(
    house: House,
) -> None:
    async with receiving(in_turn(hangs, says(OK))) as receiver, delivering(house):
        made, _ = await asyncio.to_thread(endpoint, house.db, house.amina_id, receiver.url())
        endpoint_id = ids.text_of_raw(endpoints.PREFIX, made.id)
        await happened(house)
        await until(lambda: len(receiver.bodies) == 1, "the POSTs arrive")
        await asyncio.to_thread(
            house.db.transact, lambda tx: endpoints.disable(tx, endpoint_id, now_ms=clock.now_ms())
        )
        # a disabled one with something waiting is noticed when the queue is looked at
        await asyncio.sleep(3 * POLL_S)
        await asyncio.to_thread(house.db.transact, lambda tx: endpoints.enable(tx, endpoint_id))
        began_s = time.monotonic()
        await happened(house)
        await until(lambda: len(receiver.bodies) == 2, "the POSTs arrive")
        assert time.monotonic() - began_s < 1


@awaited
async def test_a_disabled_endpoint_gets_nothing_more_and_an_unreachable_one_is_tried(
    house: House,
) -> None:
    async with receiving(says(OK)) as receiver, delivering(house):
        made, _ = await asyncio.to_thread(endpoint, house.db, house.amina_id, receiver.url())
        await asyncio.to_thread(endpoint, house.db, house.amina_id, NOWHERE)
        await happened(house)
        await until(
            lambda: len(outcomes(house.db)) == 1 == len(failures(house.db)), "both have been tried"
        )
        endpoint_id = ids.text_of_raw(endpoints.PREFIX, made.id)
        await asyncio.to_thread(
            house.db.transact, lambda tx: endpoints.disable(tx, endpoint_id, now_ms=clock.now_ms())
        )
        await happened(house)
        await until(lambda: len(failures(house.db)) == 2, "the attempts fail")
    assert [reason for _, _, reason in failures(house.db)] == ["connect", "connect"]
    assert sorted(outcome for outcome, _, _ in outcomes(house.db)) == ["delivered", "missed"]
    assert len(receiver.bodies) == 1
