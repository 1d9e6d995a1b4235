"""A process that others have taken for dead begins anew, whatever it meets on the way, and keeps
nobody else out.
"""

import asyncio
import time
from pathlib import Path

import psycopg
import pytest

from heliograph.base import clock
from heliograph.base.errors import NotFound, Unavailable
from heliograph.base.settings import Settings
from heliograph.carriers import remove_carrier
from heliograph.database import sessions
from heliograph.database.cache import ConfigCache
from heliograph.database.database import Database
from heliograph.database.leases import Lease, workers
from heliograph.database.postgresql import advisory_lock
from heliograph.database.postgresql.advisory_lock import AdvisoryLock
from heliograph.database.postgresql.engine import postgres_hosts
from heliograph.messages.queue import FairQueue
from heliograph.processes import carriers
from heliograph.processes import sending as sends
from heliograph.processes.exclusive import DATABASE_LOCK, AlreadyServed, DatabaseLock
from heliograph.processes.sending import Sending
from heliograph.webhooks.events import Event, emit, load_listeners
from tests.support.capability.webhooks import endpoint
from tests.support.factories import SECRET_KEY, awaited, open_account, open_carrier
from tests.support.patience import IDLE_IN_TRANSACTION_MS

WITHIN_S = 30.0


@pytest.fixture(autouse=True)
def data_dir(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Moves to a directory where a process remembers where its database is served."""
    monkeypatch.chdir(tmp_path)


async def begun(db: Database, kind: str = "worker", carrier_id: int | None = None) -> Sending:
    cache = ConfigCache(db)
    sending = Sending(
        db, cache, Settings(Path(), db.url, SECRET_KEY), FairQueue(), kind, carrier_id
    )
    await sending.take_queue()
    await cache.refresh()
    await sending.start()
    polling = asyncio.create_task(cache.poll())
    sending.keeping.add_done_callback(lambda _: polling.cancel())
    return sending


async def ended(sending: Sending, db: Database) -> None:
    await sending.stop()
    await sending.release()
    await db.close_hot()
    db.close()


def epochs(db: Database) -> list[int]:
    with db.read() as tx:
        return sorted(tx.execute(workers.select().with_only_columns(workers.c.epoch)).scalars())


def retire_all(db: Database) -> None:
    with db.write() as tx:
        tx.execute(workers.delete())


async def until_another_epoch(db: Database, former: list[int]) -> None:
    async with asyncio.timeout(WITHIN_S):
        while not (now := epochs(db)) or now == former:
            await asyncio.sleep(0.05)


@awaited
async def test_a_process_whose_start_fails_is_gone_at_once(
    postgresql_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Otherwise the others leave its carrier to it until its beat has stood still for 30 s."""

    async def fail(*_: object) -> int:
        raise Unavailable("The connection is gone.")

    monkeypatch.setattr(carriers, "take_over", fail)
    db = Database(postgresql_url)
    sending = Sending(
        db, ConfigCache(db), Settings(Path(), db.url, SECRET_KEY), FairQueue(), "carrier", 1
    )
    await sending.take_queue()
    registered = epochs(db)
    with pytest.raises(Unavailable):
        await sending.start()
    await sending.release()
    assert (len(registered), epochs(db)) == (1, [])
    await db.close_hot()
    db.close()


@awaited
async def test_a_process_that_cannot_register_for_a_while_keeps_nobody_out(
    postgresql_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sends, "AGAIN_S", 0.05)
    db, other = Database(postgresql_url), Database(postgresql_url)
    sending = await begun(db)
    former, begin, refusals = epochs(db), Lease.begin, [3]

    def refused(self: Lease, instead_of: tuple[str, ...] = ()) -> None:
        if refusals[0]:
            refusals[0] -= 1
            raise Unavailable("The disk is full.")
        begin(self, instead_of)

    monkeypatch.setattr(Lease, "begin", refused)
    retire_all(db)
    await until_another_epoch(db, former)
    assert refusals == [0]
    # AlreadyServed, were the lock still held by the first one alone
    await ended(await begun(other, "scheduler"), other)
    await ended(sending, db)


@awaited
async def test_a_process_begins_anew_though_rows_are_locked_for_a_while(
    postgresql_url: str,
) -> None:
    db = Database(postgresql_url)
    sending = await begun(db)
    former = epochs(db)
    with psycopg.connect(postgresql_url) as holder:
        holder.execute("LOCK TABLE inflight IN ACCESS EXCLUSIVE MODE")
        retire_all(db)
        await asyncio.sleep(3)  # it meets the lock: its limit is 1 s
        assert not sending.keeping.done()
    await until_another_epoch(db, former)
    assert not sending.keeping.done()
    await ended(sending, db)


@awaited
async def test_a_process_begins_anew_though_the_endpoint_that_it_holds_is_locked(
    postgresql_url: str,
) -> None:
    db = Database(postgresql_url)
    account_id = open_account(db)
    await asyncio.to_thread(endpoint, db, account_id)
    async with db.hot() as tx:
        await emit(
            tx,
            await load_listeners(tx, [account_id]),
            [Event(account_id, False, "message.sent", clock.now_ms(), {})],
        )
    sending = await begun(db)
    former = epochs(db)
    with psycopg.connect(postgresql_url) as holder:
        await until_held(holder)
        retire_all(db)
        async with asyncio.timeout(WITHIN_S):
            while epochs(db) in ([], former) and not sending.keeping.done():
                await asyncio.sleep(0.05)
        assert not sending.keeping.done()
        retire_all(db)  # and as it is stopped, with the row still locked
        await ended(sending, db)


async def until_held(holder: "psycopg.Connection[tuple[object, ...]]") -> None:
    """Locks the endpoint's row as soon as a process holds it."""
    async with asyncio.timeout(WITHIN_S):
        while not holder.execute("SELECT FROM webhook_holders FOR UPDATE").rowcount:
            holder.rollback()
            await asyncio.sleep(0.05)


@awaited
async def test_who_is_stopped_while_it_begins_keeps_others_out_for_seconds_only(
    postgresql_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It has the lock to itself then; the time limit of idle transactions ends that, and the others
    are there.
    """
    monkeypatch.setattr(advisory_lock, "ANSWER_WITHIN_S", WITHIN_S)  # not what this is about
    monkeypatch.setattr(sessions, "POSTGRES_IDLE_IN_TRANSACTION_MS", IDLE_IN_TRANSACTION_MS)
    db = Database(postgresql_url)
    stopped, other = (
        AdvisoryLock(postgres_hosts(postgresql_url), DATABASE_LOCK, shared=True),
        DatabaseLock(db, shared=True),
    )
    assert await stopped.take()
    began_s = time.monotonic()  # before: PostgreSQL counts from its answer, which may come late
    assert await stopped.become_exclusive()
    assert await other.take()
    assert 2 < time.monotonic() - began_s < WITHIN_S
    await other.admit_others()
    other.end()
    stopped.release()
    db.close()


@awaited
async def test_a_server_keeps_others_out_and_says_so(postgresql_url: str) -> None:
    db = Database(postgresql_url)
    serving, other = DatabaseLock(db, shared=False), DatabaseLock(db, shared=True)
    assert await serving.take()
    lease = Lease(db, "serve")
    await asyncio.to_thread(lease.begin)
    with pytest.raises(AlreadyServed, match="heliograph serve"):
        await other.take()
    serving.end()
    db.close()


@awaited
async def test_a_process_whose_carrier_is_removed_ends_and_says_so(postgresql_url: str) -> None:
    db = Database(postgresql_url)
    carrier_id = open_carrier(db, "short-lived", prefix=None)
    sending = await begun(db, "carrier", carrier_id)
    await asyncio.to_thread(
        db.transact, lambda tx: remove_carrier(tx, "short-lived", messages_waiting=0)
    )
    async with asyncio.timeout(WITHIN_S):
        await asyncio.wait({sending.keeping})
    with pytest.raises(NotFound, match="was removed"):
        await ended(sending, db)
    await sending.release()
    assert epochs(db) == []
    await db.close_hot()
    db.close()
