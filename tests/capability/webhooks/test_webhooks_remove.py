"""An endpoint is removed for good: at once for whoever looks and whoever posts. Its rows go a
minute later, and none of them stays.
"""

import asyncio
import time
from pathlib import Path

import pytest

from heliograph.audit.events import verify_events
from heliograph.base import clock, ids
from heliograph.base.errors import InvalidRequest
from heliograph.database.database import Database
from heliograph.database.pruning import ROWS_AT_ONCE
from heliograph.jobs import pruning
from heliograph.webhooks import endpoints
from heliograph.webhooks.endpoints import ENDPOINTS_PER_ACCOUNT_MAX, REMOVED_MS
from heliograph.webhooks.events import Event, emit, load_listeners
from heliograph.webhooks.tables import (
    LOW_BALANCE,
    webhook_attempts,
    webhook_deliveries,
    webhook_endpoints,
    webhook_holders,
    webhook_queue,
)
from tests.support.capability.commands import Run
from tests.support.capability.sending import House
from tests.support.capability.webhook_delivery import (
    delivering,
    hangs,
    happened,
    lease,
)
from tests.support.capability.webhooks import DEVELOPMENT, endpoint, outcomes, waiting
from tests.support.crash.processes import ServerProcess
from tests.support.crash.sends import send
from tests.support.factories import SECRET_KEY, awaited, issue_key, open_account, phones
from tests.support.polling import until, wait_until
from tests.support.wire.webhook_receiver import receiver_in_a_thread, receiving, says

OF_AN_ENDPOINT = (
    webhook_endpoints,
    webhook_queue,
    webhook_holders,
    webhook_deliveries,
    webhook_attempts,
)
LONG = ROWS_AT_ONCE + 500


def remove(house: House, raw: str) -> None:
    with house.db.write() as tx:
        endpoints.remove(tx, endpoints.text_id(raw), now_ms=clock.now_ms())


def rows(house: House) -> list[int]:
    return [house.count(table) for table in OF_AN_ENDPOINT]


async def a_minute_later(house: House) -> None:
    clock.move(by_ms=REMOVED_MS + 1_000)
    await pruning.prune_all(house.db)


def test_a_removed_endpoint_is_there_for_no_command(house: House, run: Run) -> None:
    made, _ = endpoint(house.db, house.amina_id)
    shown = endpoints.text_id(made.id)
    assert run("webhook", "remove", shown, "--json").json == {"id": shown, "removed": True}
    assert run("webhook", "list", "--json").json == []
    for command in ("remove", "enable", "disable", "rotate", "test", "events", "attempts"):
        said = run("webhook", command, shown)
        assert (said.status, shown in said.err) == (1, True), command
    house.db.close()


def test_neither_removed_endpoints_nor_those_of_listen_count(house: House) -> None:
    made = [endpoint(house.db, house.amina_id)[0] for _ in range(ENDPOINTS_PER_ACCOUNT_MAX)]
    with house.db.write() as tx:
        endpoints.add(
            tx,
            house.amina_id,
            "http://127.0.0.1:9/hook",
            ["all"],
            sandbox=False,
            include_customers=False,
            secret_key=SECRET_KEY,
            allow=DEVELOPMENT,
            listens_until_ms=clock.now_ms() + 60_000,
            now_ms=clock.now_ms(),
        )
    with pytest.raises(InvalidRequest, match="remove one"):
        endpoint(house.db, house.amina_id)
    remove(house, made[0].id)
    endpoint(house.db, house.amina_id)
    house.db.close()


@awaited
async def test_whoever_posts_to_it_ends_and_leaves_nothing_behind(house: House) -> None:
    async with receiving(hangs) as receiver, delivering(house):
        made, _ = await asyncio.to_thread(endpoint, house.db, house.amina_id, receiver.url())
        await happened(house, LONG)
        await until(lambda: len(receiver.bodies) == 8, "the POSTs arrive")
        await asyncio.to_thread(remove, house, made.id)
        await happened(house)
        await asyncio.sleep(1)
        assert len(receiver.bodies) == 8, "nothing is posted any more"
        await a_minute_later(house)  # its POSTs still hang: no process of ours is ever so late
        assert rows(house) == [0] * 5
    assert rows(house) == [0] * 5, "nor at its end"


@awaited
async def test_what_is_under_way_is_recorded_and_goes_too(house: House) -> None:
    async with (
        receiving(
            says(b"HTTP/1.1 200 OK\r\n", b"Content-Length: 2\r\n\r\nok", pause_s=1.0)
        ) as receiver,
        delivering(house),
    ):
        made, _ = await asyncio.to_thread(
            endpoint, house.db, house.amina_id, receiver.url(), age_ms=120_000
        )
        kept, _ = await asyncio.to_thread(endpoint, house.db, house.amina_id, age_ms=120_000)
        async with house.db.hot() as tx:
            await emit(
                tx,
                await load_listeners(tx, [house.amina_id]),
                [Event(house.amina_id, False, LOW_BALANCE, clock.now_ms(), {})] * 100,
            )
        await until(lambda: len(receiver.bodies) == 8, "the POSTs arrive")
        await asyncio.to_thread(remove, house, made.id)
        await until(
            lambda: len(outcomes(house.db)) == 100 and house.count(webhook_holders) <= 1,
            "the outcomes are stored",
        )
        assert sorted(set(outcomes(house.db))) == [("delivered", 1, 200), ("missed", 0, None)]
        assert len(receiver.bodies) == 8
        await a_minute_later(house)
        with house.db.read() as tx:
            assert [
                endpoints.text_id(each.id) for each in endpoints.all_endpoints(tx, limit=10)
            ] == [endpoints.text_id(kept.id)]
            assert verify_events(tx, clock.now_ms()) == []
    assert (house.count(webhook_deliveries), len(waiting(house.db))) == (0, 100)


def test_a_server_goes_on_after_what_it_posted_to_is_removed(
    database_url: str, run: Run, tmp_path: Path
) -> None:
    db = Database(database_url)
    amina_id, other = open_account(db), open_account(db, name="kofi")
    with receiver_in_a_thread(
        says(b"HTTP/1.1 200 OK\r\n", b"Content-Length: 2\r\n\r\nok", pause_s=1.0)
    ) as slow:
        made, _ = endpoint(db, amina_id, slow.url(), sandbox=True)
        server = ServerProcess(database_url, tmp_path, HELIOGRAPH_WEBHOOKS_ALLOW_LOOPBACK="1")
        try:
            server.wait_until_ready()
            send(
                server,
                issue_key(db, amina_id, sandbox=True),
                phones(50, first=100),
                sender="SANDBOX",
            )
            wait_until(lambda: len(slow.bodies) >= 8, "it posts")
            assert run("webhook", "remove", endpoints.text_id(made.id)).status == 0
            time.sleep(0.5)
            posted = len(slow.bodies)
            time.sleep(2)
            assert len(slow.bodies) == posted < 100, "there was more"
            endpoint(db, other, slow.url(), sandbox=True)
            send(
                server, issue_key(db, other, sandbox=True), phones(10, first=200), sender="SANDBOX"
            )
            wait_until(lambda: len(slow.bodies) >= posted + 20, "another's events arrive")
            time.sleep(1)
            assert len(slow.bodies) == posted + 20, "and only those"
        finally:
            ended = server.end()
    assert (ended, '"error"' in server.log) == (0, False), server.log[-2_000:]
    db.close()


@awaited
async def test_what_a_dead_process_held_and_what_is_stored_too_late_goes_too(house: House) -> None:
    dead = await asyncio.to_thread(lease, house.db)
    made, _ = endpoint(house.db, house.amina_id)
    await happened(house, LONG)
    with house.db.write() as tx:
        tx.execute(webhook_holders.insert().values(endpoint_id=made.id, worker=dead.number))
    await asyncio.to_thread(remove, house, made.id)
    await pruning.prune_all(house.db)
    assert rows(house)[0] == 1, "not before its minute"
    await a_minute_later(house)
    assert rows(house) == [0] * 5
    late = ids.raw_of_number(ids.new_number())
    with house.db.write() as tx:  # by a transaction that knew the endpoint
        tx.execute(
            webhook_queue.insert().values(
                endpoint_id=made.id, due_at_ms=clock.now_ms(), event_id=late, tries=0
            )
        )
        tx.execute(webhook_holders.insert().values(endpoint_id=made.id, worker=dead.number))
    await pruning.prune_all(house.db)
    assert rows(house) == [0] * 5
