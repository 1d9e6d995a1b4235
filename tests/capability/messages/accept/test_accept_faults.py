"""Something goes wrong or changes while sends are accepted: a bad request, a lost COMMIT, no
database, another configuration.
"""

import asyncio

import psycopg
import pytest

from heliograph import carriers, keys, senders
from heliograph.base import clock
from heliograph.base.errors import ServiceError, Unavailable
from heliograph.carriers import current_rates, routing
from heliograph.database import batching
from heliograph.database.cache import ConfigCache
from heliograph.database.database import Database
from heliograph.messages.accept.batch import SendResult as Accepted
from heliograph.messages.tables import messages, queue
from heliograph.senders.sender import usable
from tests.support.capability.accepting import answer, at_once, reasons
from tests.support.capability.sending import House
from tests.support.factories import awaited, open_account, phones, send_request

TOO_LARGE = 1 << 40  # for an integer column of PostgreSQL
TOO_LARGE_EVER = 1 << 70  # for any column


@awaited
@pytest.mark.parametrize("bad", [TOO_LARGE, TOO_LARGE_EVER])
async def test_what_the_database_refuses_fails_alone(house: House, bad: int) -> None:
    if bad == TOO_LARGE and not house.db.postgresql:
        bad = TOO_LARGE_EVER
    requests = [send_request(house.amina_id, phone) for phone in phones(20)]
    # nothing that a client can send; what a fault of ours might
    requests[13].segments = requests[4].segments = bad
    with house.db.write() as tx:
        current_rates.store(tx, "default", 0)  # so that it can be paid
    results = await at_once(house, *requests)
    assert [k for k, result in enumerate(results) if isinstance(result, ServiceError)] == [4, 13]
    assert [result.status for result in results if isinstance(result, ServiceError)] == [500, 500]
    assert (house.sends(), house.count(messages), house.count(queue)) == (18, 18, 18)
    house.assert_sound()


@awaited
@pytest.mark.parametrize("fates", [["reply lost"], ["lost"], ["lost", "reply lost", "reply lost"]])
async def test_a_batch_whose_commit_was_lost_is_run_again_and_charged_once(
    house: House, fates: list[str]
) -> None:
    house.db.fates = fates.copy()
    results = await at_once(
        house,
        *(send_request(house.amina_id, phones(2), key=f"k-{k % 5}") for k in range(10)),
        send_request(house.amina_id),
    )
    assert reasons(results) == ["accepted"] * 11
    assert len({result.send.id for result in results if isinstance(result, Accepted)}) == 6
    assert (house.sends(), house.credits(), house.entries("sms_charge")) == (
        6,
        989,
        [-2] * 5 + [-1],
    )
    first, *_ = [result for result in results if isinstance(result, Accepted)]
    assert answer(await house.send(phones(2), key="k-0")) == answer(first)
    house.assert_sound()


@awaited
async def test_a_batch_that_is_halved_after_a_lost_commit_finds_what_it_stored(
    house: House,
) -> None:
    poison = send_request(house.amina_id)
    original = poison.segments
    good = [send_request(house.amina_id, phone) for phone in phones(3)]
    house.db.fates = ["reply lost"]
    accepting = asyncio.create_task(at_once(house, *good, poison))
    while not house.db.reply_was_lost:
        await asyncio.sleep(0.001)
    # from now on it cannot be stored
    poison.number, poison.segments = send_request(house.amina_id).number, TOO_LARGE_EVER
    results = await accepting
    assert reasons(results)[:3] == ["accepted"] * 3
    assert isinstance(results[3], ServiceError)
    assert (house.sends(), original) == (4, 1)


@awaited
async def test_without_a_database_the_answer_is_503_and_nothing_is_stored(house: House) -> None:
    house.db.fates = ["lost"] * 4
    results = await at_once(house, send_request(house.amina_id), send_request(house.amina_id))
    assert all(isinstance(result, Unavailable) for result in results)
    assert (house.sends(), house.credits()) == (0, 1_000)
    assert isinstance(await house.send(), Accepted)


@awaited
async def test_a_lock_that_is_not_got_is_503_for_that_account_alone(
    postgresql_house: House, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(batching, "CONFLICT_TRIES", 0)  # each of them waits a second for the lock
    house = postgresql_house
    chidi = open_account(house.db, "chidi", credits=10)
    polling = asyncio.create_task(house.cache.poll())
    with psycopg.connect(house.db.url) as holder:
        holder.execute("SELECT FROM wallets WHERE account_id = %s FOR UPDATE", [chidi])
        results = await at_once(house, send_request(house.amina_id), send_request(chidi))
    assert reasons(results)[0] == "accepted"
    assert isinstance(results[1], Unavailable)
    assert isinstance(await house.send(account_id=chidi), Accepted)
    polling.cancel()
    await asyncio.gather(polling, return_exceptions=True)


# what changed holds within a second


@awaited
@pytest.mark.parametrize("left", [999, 0], ids=["and could be accepted", "and would be refused"])
async def test_a_key_that_is_used_while_the_batch_waits_for_its_locks_is_replayed(
    postgresql_house: House, left: int
) -> None:
    house = postgresql_house
    first = await house.send(key="k-0")
    with psycopg.connect(house.db.url) as other:
        other.execute("SELECT * FROM wallets FOR UPDATE")
        sending = asyncio.create_task(house.send(key="k-1"))
        waiting = """
            SELECT count(*) FROM pg_stat_activity WHERE wait_event_type = 'Lock'
                AND datname = current_database()"""
        while other.execute(waiting).fetchone() != (1,):
            await asyncio.sleep(0.001)
            # else the sessions of its first look are all that it sees
            other.execute("SELECT pg_stat_clear_snapshot()")
        other.execute("UPDATE idempotency_keys SET key = 'k-1'")
        other.execute(
            "UPDATE wallets SET sms_credits = %s WHERE account_id = %s", [left, house.amina_id]
        )
    assert (await sending).replayed
    assert answer(await sending) == answer(first)
    assert (house.sends(), house.credits()) == (1, left)


@awaited
async def test_a_change_holds_for_the_next_batch_though_the_cache_has_not_seen_it(
    house: House,
) -> None:
    await house.send()
    with house.db.write() as tx:
        sender = usable(tx, house.amina_id, sandbox=False)[0]
        senders.suspend(tx, sender.id, "complaints", now_ms=clock.now_ms())
    assert reasons(await accepted_without_a_refresh(house)) == ["sender_not_approved"]
    with house.db.write() as tx:
        senders.approve(tx, sender.id, now_ms=clock.now_ms())
    assert reasons(await accepted_without_a_refresh(house)) == ["accepted"]
    house.carrier_is_removed_from_routes()
    assert reasons(await accepted_without_a_refresh(house)) == ["no_valid_recipient"]
    with house.db.write() as tx:
        routing.set_route(tx, "", ["simulator"])
        current_rates.store(tx, "default", 7)
    assert reasons(await accepted_without_a_refresh(house)) == ["accepted"]
    assert (house.woken[-1], house.credits()) == ({carriers.SIMULATOR_ID}, 1_000 - 1 - 1 - 7)


async def accepted_without_a_refresh(house: House) -> list[Accepted | ServiceError]:
    try:
        return [await house.acceptor.accept(send_request(house.amina_id))]
    except ServiceError as error:
        return [error]


async def authenticated_for_ever(cache: ConfigCache, headers: list[tuple[bytes, bytes]]) -> None:
    while True:
        await keys.authenticate(cache, headers)
        await asyncio.sleep(0.02)


@awaited
async def test_a_revoked_key_is_refused_within_a_second(database_url: str) -> None:
    db = Database(database_url)
    amina_id = open_account(db)
    with db.write() as tx:
        issued = keys.issue(
            tx,
            amina_id,
            name="k",
            sandbox=False,
            tier="standard",
            permissions=["all"],
            now_ms=clock.now_ms(),
        )
    cache = ConfigCache(db)
    polling = asyncio.create_task(cache.poll())
    await cache.refresh()
    headers = [(b"authorization", b"Bearer " + issued.key.encode())]
    assert (await keys.authenticate(cache, headers)).account_id == amina_id
    with db.write() as tx:
        keys.revoke(tx, issued.record.id, now_ms=clock.now_ms())
    revoked_s = asyncio.get_running_loop().time()
    with pytest.raises(ServiceError, match="valid") as refused:
        await authenticated_for_ever(cache, headers)
    assert refused.value.status == 401
    assert asyncio.get_running_loop().time() - revoked_s < 1
    polling.cancel()
    await asyncio.gather(polling, return_exceptions=True)
    db.close()


# fairness


@awaited
async def test_large_sends_have_a_lane_of_their_own(house: House) -> None:
    with house.db.write() as tx:
        current_rates.store(tx, "default", 0)
    requests = [send_request(house.amina_id, phones(10_000, first=10_000 * k)) for k in range(3)]
    await house.cache.refresh()
    large = [asyncio.create_task(house.acceptor.accept(request)) for request in requests]
    await house.acceptor.accept(send_request(house.amina_id))
    assert not large[2].done()
    await asyncio.gather(*large)
    assert house.count(messages) == 30_001


@awaited
async def test_a_batch_is_one_transaction_and_alone_nobody_waits(house: House) -> None:
    await at_once(house, *(send_request(house.amina_id) for _ in range(200)))
    assert house.db.transactions <= 3
    before = house.db.transactions
    for _ in range(3):
        await house.acceptor.accept(send_request(house.amina_id))
    assert house.db.transactions == before + 3
