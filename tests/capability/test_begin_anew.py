"""A process that others have taken for dead begins anew, whatever it meets on the way, and keeps nobody else out."""

import asyncio
from pathlib import Path

import psycopg
import pytest

from heliograph.base.cache import ConfigCache
from heliograph.base.db import Database
from heliograph.base.errors import Unavailable
from heliograph.base.leases import Lease, workers
from heliograph.base.settings import Settings
from heliograph.entry import sending as sends
from heliograph.entry.sending import Sending
from heliograph.messages import FairQueue
from tests.factories import SECRET_KEY, awaited

WITHIN_S = 30.0


async def begun(db: Database, kind: str = "worker") -> Sending:
    cache = ConfigCache(db)
    sending = Sending(db, cache, Settings(Path(), db.url, SECRET_KEY), FairQueue(), kind)
    await sending.hold()
    await cache.refresh()
    await sending.start()
    return sending


async def ended(sending: Sending, db: Database) -> None:
    await sending.stop()
    sending.release()
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
async def test_a_process_that_cannot_register_for_a_while_keeps_nobody_out(postgresql_url: str, monkeypatch: pytest.MonkeyPatch) -> None:
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
    await ended(await begun(other, "scheduler"), other)  # AlreadyServed, were the lock still held by the first one alone
    await ended(sending, db)


@awaited
async def test_a_process_begins_anew_though_rows_are_locked_for_a_while(postgresql_url: str) -> None:
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
