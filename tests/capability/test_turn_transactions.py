"""The transactions that turns and batches run in: canceled at any moment, opened by several at once, and their one order of locks."""

import asyncio
import threading

import psycopg

from heliograph.base.db import Database
from tests.factories import awaited


@awaited
async def test_one_that_is_canceled_while_it_waits_for_its_turn_to_write_leaves_the_next_one_free(sqlite_url: str) -> None:
    db = Database(sqlite_url)
    async with db.hot() as tx:
        await tx.fetch("SELECT 1")
    writing, done = threading.Event(), threading.Event()

    def write() -> None:
        with db.write():
            writing.set()
            assert done.wait(10)

    async def wait_for_turn() -> None:
        async with db.hot():
            raise AssertionError("it was canceled before")

    writer = asyncio.create_task(asyncio.to_thread(write))
    await asyncio.to_thread(writing.wait, 10)
    waiting = asyncio.create_task(wait_for_turn())
    while not db._lock._waiting:  # until it stands in line
        await asyncio.sleep(0.001)
    waiting.cancel()
    await asyncio.sleep(0)
    done.set()
    await asyncio.gather(writer, waiting, return_exceptions=True)
    async with asyncio.timeout(5):
        async with db.hot() as tx:
            await tx.fetch("SELECT 1")
        await asyncio.to_thread(write)
    await db.close_hot()
    db.close()


@awaited
async def test_several_that_come_first_share_one_pool_of_connections(postgresql_url: str) -> None:
    db = Database(postgresql_url)

    async def use() -> None:
        async with db.hot() as tx:
            await tx.fetch("SELECT 1")

    await asyncio.gather(*(use() for _ in range(5)))
    await db.close_hot()
    with psycopg.connect(postgresql_url) as connection:
        left = connection.execute("SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid()"
                                  " AND backend_type = 'client backend'").fetchone()
    assert left == (1,)  # of whoever empties the database after a test
    db.close()
