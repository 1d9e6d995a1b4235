"""However many receivers are slow, POSTs and files are left for others; and what this process lacks
is nobody else's failure.
"""

import asyncio
import resource
import time
from collections.abc import Iterator
from contextlib import contextmanager

import pytest
from structlog.testing import capture_logs

from heliograph.base import clock, open_files
from heliograph.webhooks.events import Event, emit, load_listeners
from heliograph.webhooks.post_slots import OWN, PostSlots
from tests.support.capability.sending import House
from tests.support.capability.webhook_delivery import delivering, happened
from tests.support.capability.webhooks import endpoint, failures, outcomes, waiting
from tests.support.factories import awaited
from tests.support.polling import until
from tests.support.wire.webhook_receiver import OK, receiving, says

FILES = 200
SLOW, SLOW_S = 20, 1.5
RUSH = 50


@contextmanager
def no_more_files() -> Iterator[None]:
    """Lets no more files be opened; what is open stays."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (3, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))


@awaited
async def test_many_slow_endpoints_leave_room_for_another_ones_rush(
    house: House, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(open_files, "FILES_MAX", FILES)
    open_now, most = 0, 0

    async def slow(writer: asyncio.StreamWriter) -> None:
        nonlocal open_now, most
        open_now += 1
        most = max(most, open_now)
        try:
            await asyncio.sleep(SLOW_S)
            writer.write(OK)
        finally:
            open_now -= 1

    async with receiving(slow) as slow_one, receiving(says(OK)) as good:
        for _ in range(SLOW):
            endpoint(house.db, house.amina_id, slow_one.url(), ["message.sent"])
        await happened(house, 100)
        async with delivering(house):
            await until(lambda: len(slow_one.bodies) > 2 * SLOW * OWN, "the POSTs arrive")
            await asyncio.to_thread(
                endpoint, house.db, house.amina_id, good.url(), ["message.delivered"]
            )
            began_s = time.monotonic()
            async with house.db.hot() as tx:
                await emit(
                    tx,
                    await load_listeners(tx, [house.amina_id]),
                    [
                        Event(
                            house.amina_id,
                            False,
                            "message.delivered",
                            clock.now_ms(),
                            {"number": number},
                        )
                        for number in range(RUSH)
                    ],
                )
            await until(lambda: len(good.bodies) == RUSH, "the POSTs arrive")
            took_s = time.monotonic() - began_s
    assert took_s < 1
    assert SLOW * OWN < most <= PostSlots(FILES).posts < FILES / 2
    assert failures(house.db) == []


@awaited
async def test_without_files_an_event_stays_due_and_counts_no_attempt(house: House) -> None:
    async with receiving(says(OK)) as receiver, delivering(house):
        await asyncio.to_thread(endpoint, house.db, house.amina_id, receiver.url())
        await asyncio.to_thread(endpoint, house.db, house.amina_id, receiver.url("localhost"))
        await happened(house)
        await until(lambda: len(outcomes(house.db)) == 2, "the outcomes are stored")
        await asyncio.sleep(4.5)  # connections are kept for 4 s
        with capture_logs() as logs:
            with no_more_files():
                await happened(house, 5)
                await asyncio.sleep(1.5)
                heard = len(receiver.bodies)
            await until(lambda: len(outcomes(house.db)) == 12, "the outcomes are stored")
    assert heard == 2
    assert (set(outcomes(house.db)), failures(house.db), waiting(house.db)) == (
        {("delivered", 1, 200)},
        [],
        [],
    )
    errors = [entry["event"] for entry in logs if entry["log_level"] == "error"]
    assert errors.count("webhooks_no_files_left") == 1
    # a connection to the database may have been wanting, too
    assert set(errors) <= {"webhooks_no_files_left", "webhooks_not_looked_at"}


def test_whoever_wants_many_places_comes_to_have_as_many_as_others_and_some_are_left() -> None:
    places, posts = PostSlots(8_000), dict.fromkeys(range(100), 0)
    for _ in range(100):
        for one, count in posts.items():
            posts[one] += places.take(count)
    assert max(posts.values()) - min(posts.values()) <= 1
    assert (places.free, sum(posts.values())) == (
        places.shared - sum(posts.values()) + 100 * OWN,
        places.shared - places.free + 100 * OWN,
    )
    assert places.take(OWN), "the next one has some, too"
    places.give_back(OWN + 1)
    for count in posts.values():
        for number in range(count, 0, -1):
            places.give_back(number)
    assert places.free == places.shared


@awaited
async def test_more_endpoints_than_there_are_places_all_have_their_turn(
    house: House, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(open_files, "FILES_MAX", FILES)
    count = 2 * PostSlots(FILES).receivers
    async with receiving(says(OK)) as good:
        for _ in range(count):
            endpoint(house.db, house.amina_id, good.url(), ["message.sent"])
        async with delivering(house):
            for rounds in (1, 2):
                began_s = time.monotonic()
                await happened(house, 2)
                await until(
                    lambda rounds=rounds: len(outcomes(house.db)) == rounds * 2 * count,  # type: ignore[misc]
                    "the outcomes are stored",
                )
                assert time.monotonic() - began_s < 4, (
                    "far less than it takes until an idle one is let go by itself"
                )
