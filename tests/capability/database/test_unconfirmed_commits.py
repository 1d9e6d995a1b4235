"""PostgreSQL does not confirm some commits: whoever waits is told so, nobody cancels them, and each
ends in one of two ways.
"""

import asyncio
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import ExitStack, asynccontextmanager
from urllib.parse import urlsplit

import asyncpg
import psycopg
import pytest
import sqlalchemy as sa

from heliograph.base.errors import Unavailable
from heliograph.database import commits, config, migrate
from heliograph.database.commits import Unconfirmed
from heliograph.database.database import Database
from heliograph.database.write_probe import Writable
from tests.support.capability.unreplicated import ENDED_WITHIN_S, Unreplicated
from tests.support.factories import awaited
from tests.support.faults.proxy import COMMITTED, Proxy
from tests.support.polling import wait_until
from tests.support.services.postgres import PrivatePostgres

WITHIN_S = 0.3
BUMP = "UPDATE config SET epoch = epoch + 1"
CANCELLED = "canceling wait for synchronous replication"


@pytest.fixture(autouse=True)
def impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(commits, "CONFIRMED_WITHIN_S", WITHIN_S)


@pytest.fixture(scope="module")
def server() -> Iterator[PrivatePostgres]:
    with PrivatePostgres() as made:
        migrate.upgrade(made.url)
        yield made


@pytest.fixture
def unreplicated(server: PrivatePostgres) -> Iterator[Unreplicated]:
    made = Unreplicated(server)
    yield made
    made.confirm()
    assert CANCELLED not in server.log


@pytest.fixture
def database(unreplicated: Unreplicated) -> Iterator[Callable[[], Database]]:
    """Makes one for each process that there might be. At the end all is confirmed: what hangs would
    not be closed in order.
    """
    with ExitStack() as closing:

        def make() -> Database:
            made = Database(unreplicated.server.url)
            closing.callback(made.close)
            return made

        yield make


@asynccontextmanager
async def closing(*databases: Database) -> AsyncIterator[None]:
    try:
        yield
    finally:
        for database in databases:
            await database.close_hot()


def epoch(db: Database) -> int:
    with db.read() as tx:
        return config.epoch(tx)


def may_write(db: Database) -> bool:
    try:
        db.commits.check()
    except Unconfirmed:
        return False
    return True


async def bump(db: Database) -> None:
    async with db.hot() as tx:
        await tx.fetch(BUMP)


def test_a_change_in_a_thread_is_told_to_be_unconfirmed_and_stored_in_the_end(
    unreplicated: Unreplicated, database: Callable[[], Database]
) -> None:
    db, other = database(), database()
    before = epoch(db)
    unreplicated.lose()
    with pytest.raises(Unconfirmed), db.write() as tx:
        config.bump(tx)
    began_s = time.monotonic()
    with pytest.raises(Unconfirmed), db.write():
        pass
    assert time.monotonic() - began_s < WITHIN_S, "while one waits no other is begun"
    # another process, whose lock is not given: it does not try five times
    with pytest.raises(Unconfirmed):
        other.transact(config.bump)
    assert time.monotonic() - began_s < 2 + WITHIN_S
    assert epoch(db) == epoch(other) == before, "nobody sees what is not confirmed"
    unreplicated.confirm()
    wait_until(lambda: may_write(db), "changes are taken again")
    assert epoch(db) == before + 1
    db.transact(config.bump)
    assert epoch(db) == before + 2


@awaited
async def test_whoever_waits_for_a_commit_may_be_cancelled_and_the_commit_is_not(
    unreplicated: Unreplicated, database: Callable[[], Database]
) -> None:
    db, other = database(), database()
    async with closing(db, other):
        await bump(db)
        before = epoch(db)
        await asyncio.to_thread(unreplicated.lose)
        waiting = asyncio.create_task(bump(db))
        await asyncio.sleep(WITHIN_S / 2)
        waiting.cancel()
        with pytest.raises(asyncio.CancelledError):
            await waiting
        await asyncio.to_thread(
            wait_until, lambda: not may_write(db), "nobody waits, and it is known all the same"
        )
        with pytest.raises(Unconfirmed):
            await bump(db)
        with pytest.raises(Unconfirmed):  # another process, whose lock is not given
            await bump(other)
        assert epoch(db) == before
        await asyncio.to_thread(unreplicated.confirm)
        await asyncio.to_thread(
            wait_until,
            lambda: may_write(db) and may_write(other) and epoch(db) == before + 1,
            "stored",
        )
        await bump(other)
        assert epoch(db) == before + 2


@awaited
async def test_who_waits_for_a_connection_does_not_wait_for_commits_that_hang(
    unreplicated: Unreplicated, database: Callable[[], Database]
) -> None:
    db = database()
    async with closing(db):
        await bump(db)
        await asyncio.to_thread(unreplicated.lose)
        began_s = time.monotonic()
        async with asyncio.timeout(ENDED_WITHIN_S):
            ended = await asyncio.gather(*(bump(db) for _ in range(40)), return_exceptions=True)
        # on a busy machine a lock may be waited for long before its holder commits: then it is
        # asked for again, and Unconfirmed
        assert (
            Unconfirmed
            in {type(error) for error in ended}
            <= {Unconfirmed, asyncpg.LockNotAvailableError}
        )
        assert time.monotonic() - began_s < 2
        await asyncio.to_thread(unreplicated.confirm)
        await asyncio.to_thread(wait_until, lambda: may_write(db), "changes are taken again")
        await bump(db)


@awaited
async def test_a_commit_of_another_process_is_met_once_and_holds_up_all_changes(
    unreplicated: Unreplicated, database: Callable[[], Database]
) -> None:
    """Who waits for its lock finds out. Whoever comes after that is answered at once, and does not
    wait for a lock again.
    """
    db, other = database(), database()
    async with closing(db, other):
        await bump(db)
        await bump(other)
        await asyncio.to_thread(unreplicated.lose)
        with pytest.raises(Unconfirmed):
            await bump(other)
        changes: tuple[Callable[[], Awaitable[None]], ...] = (
            lambda: bump(db),
            lambda: asyncio.to_thread(db.transact, config.bump),
        )
        for change in changes:
            # for so long the other one's commit must have waited, to be taken for one that hangs
            await asyncio.sleep(0.5)
            with pytest.raises(Unconfirmed):
                await change()
            assert not may_write(db)
            began_s = time.monotonic()
            for _ in range(10):
                with pytest.raises(Unconfirmed):
                    await change()
            assert time.monotonic() - began_s < WITHIN_S, "none of them waits for the lock"
        await asyncio.to_thread(unreplicated.confirm)
        await asyncio.to_thread(wait_until, lambda: may_write(db), "changes are taken again")
        await bump(db)


@awaited
async def test_an_answer_that_was_lost_is_not_waited_for_for_ever(postgresql_url: str) -> None:
    """PostgreSQL says that it has answered: the connection is closed, and the next change
    finds what is stored.
    """
    parts = urlsplit(postgresql_url)
    with Proxy(parts.port or 5432) as proxy:
        db = Database(parts._replace(netloc=f"{parts.username}@127.0.0.1:{proxy.port}").geturl())
        await bump(db)
        with db.write() as tx:
            tx.execute(sa.select(1))
        before = epoch(db)
        proxy.lose(lambda said, heard: COMMITTED in said, said_by="server", then="swallow", times=2)
        with pytest.raises(Unconfirmed):
            await bump(db)
        await asyncio.to_thread(wait_until, lambda: may_write(db), "the lost answer is given up")
        with pytest.raises(Unconfirmed):
            await asyncio.to_thread(db.transact, config.bump)
        await asyncio.to_thread(wait_until, lambda: may_write(db), "the lost answer is given up")
        await bump(db)
        assert epoch(db) == before + 3
        await db.close_hot()
        db.close()


@awaited
async def test_a_database_that_stores_nothing_is_not_writable(
    unreplicated: Unreplicated, database: Callable[[], Database], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("heliograph.database.write_probe.EVERY_S", 0.0)
    db = database()
    async with closing(db):
        writable = Writable(db)
        await writable.check()
        await asyncio.to_thread(unreplicated.lose)
        began_s = time.monotonic()
        for _ in range(3):
            with pytest.raises(Unavailable):
                await writable.check()
        assert time.monotonic() - began_s < 2, "one check hangs, and no other is begun"
        await asyncio.to_thread(unreplicated.confirm)
        await asyncio.to_thread(wait_until, lambda: may_write(db), "changes are taken again")
        await writable.check()
        with psycopg.connect(db.url, autocommit=True) as connection:
            connection.execute("ALTER DATABASE postgres SET default_transaction_read_only = on")
            db.engine.dispose()  # it holds for new sessions
            with pytest.raises(Unavailable):
                await writable.check()
            connection.execute("ALTER DATABASE postgres RESET default_transaction_read_only")
