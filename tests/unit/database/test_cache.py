"""What a process remembers of the configuration is never older than 0.9 s, and a change costs one
query a kind. It is so on both databases.
"""

import asyncio
import threading
from collections.abc import Iterator, Sequence

import pytest
import sqlalchemy as sa
from sqlalchemy.engine import Connection
from structlog.testing import capture_logs

from heliograph import keys
from heliograph.base import clock
from heliograph.base.errors import Unavailable
from heliograph.database import cache as cache_module
from heliograph.database import config
from heliograph.database.cache import KEYS_PER_QUERY, POLL_S, STALE_S, CachedKind, ConfigCache
from heliograph.database.database import Database
from heliograph.keys.tables import tiers
from tests.support.factories import awaited
from tests.support.services.postgres import PrivatePostgres


class Tiers:
    """Is a kind of configuration: a tier's requests a minute, by its name. Keeps what was asked of
    the database; `held` holds loads up.
    """

    def __init__(self) -> None:
        self.kind: CachedKind[str, int] = CachedKind("tier", self.load)
        self.loads: list[list[str]] = []
        self.may_load = threading.Event()
        self.may_load.set()

    def load(self, tx: Connection, names: Sequence[str]) -> dict[str, int]:
        self.loads.append(sorted(names))
        found = {
            name: int(per_minute)
            for name, per_minute in tx.execute(
                sa.select(tiers.c.name, tiers.c.per_minute).where(tiers.c.name.in_(names))
            )
        }
        self.may_load.wait(10)
        if "wrong" in names:
            raise LookupError("wrong")
        return found


@pytest.fixture
def db(database_url: str) -> Iterator[Database]:
    database = Database(database_url)
    yield database
    database.close()


async def value(cache: ConfigCache, tier: Tiers, name: str) -> int | None:
    return await cache.get(tier.kind, name)


def add_tier(db: Database, name: str, per_minute: int) -> None:
    with db.write() as tx:
        keys.add_tier(tx, name, per_minute)


def change_tier(db: Database, name: str, per_minute: int) -> None:
    with db.write() as tx:
        keys.change_tier(tx, name, per_minute)


def change_unannounced(db: Database, name: str, per_minute: int) -> None:
    """Changes a tier as no use case does: without bumping the epoch."""
    with db.write() as tx:
        tx.execute(sa.update(tiers).where(tiers.c.name == name).values(per_minute=per_minute))


@awaited
async def test_a_value_is_loaded_once_and_remembered(db: Database) -> None:
    cache, tier = ConfigCache(db), Tiers()
    assert [await value(cache, tier, "free") for _ in range(3)] == [10, 10, 10]
    assert cache.peek(tier.kind, "free") == 10
    assert tier.loads == [["free"]]
    assert cache.peek(tier.kind, "standard") is None
    assert cache.peek(Tiers().kind, "free") is None


@awaited
async def test_what_there_is_not_is_asked_for_again(db: Database) -> None:
    cache, tier = ConfigCache(db), Tiers()
    assert await value(cache, tier, "gold") is None
    add_tier(db, "gold", 7)
    assert await value(cache, tier, "gold") == 7


@awaited
async def test_what_is_missing_at_one_moment_is_loaded_together_in_bounded_queries(
    db: Database,
) -> None:
    cache, tier = ConfigCache(db), Tiers()
    await value(cache, tier, "free")
    names = ["standard", "enterprise", *(f"t{number:04}" for number in range(KEYS_PER_QUERY))]
    # a busy machine may have let it grow stale meanwhile: then whoever comes first reads the epoch
    assert cache.confirm(cache.epoch, clock.monotonic_s())
    values = await asyncio.gather(*(value(cache, tier, name) for name in names + names))
    assert values == ([100, 1_000] + [None] * KEYS_PER_QUERY) * 2
    assert [len(load) for load in tier.loads] == [1, KEYS_PER_QUERY, 2]


@awaited
async def test_when_the_epoch_moves_all_that_is_remembered_is_read_anew_at_once(
    db: Database,
) -> None:
    cache, tier = ConfigCache(db), Tiers()
    await asyncio.gather(*(value(cache, tier, name) for name in ("free", "standard")))
    tier.loads.clear()
    with db.write() as tx:
        tx.execute(sa.update(tiers).where(tiers.c.name == "free").values(per_minute=11))
        tx.execute(sa.delete(tiers).where(tiers.c.name == "standard"))
        config.bump(tx)
    assert cache.peek(tier.kind, "free") == 10
    await cache.refresh()
    assert (cache.peek(tier.kind, "free"), cache.peek(tier.kind, "standard")) == (11, None)
    await cache.refresh()
    assert tier.loads == [["free", "standard"]]


@awaited
async def test_what_was_read_while_the_epoch_moved_is_answered_but_not_remembered(
    db: Database,
) -> None:
    cache, tier = ConfigCache(db), Tiers()
    await cache.refresh()
    tier.may_load.clear()
    slow = asyncio.create_task(value(cache, tier, "free"))
    while not tier.loads:
        await asyncio.sleep(0.001)
    await asyncio.to_thread(change_tier, db, "free", 11)
    await cache.refresh()
    tier.may_load.set()
    assert await slow == 10
    assert cache.peek(tier.kind, "free") is None
    assert await value(cache, tier, "free") == 11


@awaited
async def test_past_its_time_nothing_is_believed_before_the_database_was_seen_again(
    db: Database,
) -> None:
    cache, tier = ConfigCache(db), Tiers()
    await value(cache, tier, "free")
    change_unannounced(db, "free", 11)
    clock.move(by_ms=int(STALE_S * 1_000) - 200)
    assert cache.peek(tier.kind, "free") == 10
    clock.move(by_ms=300)
    with pytest.raises(Unavailable):
        cache.peek(tier.kind, "free")
    assert await value(cache, tier, "free") == 10  # the epoch was looked at, and had not moved
    assert cache.peek(tier.kind, "free") == 10


@awaited
async def test_a_transaction_that_saw_the_same_epoch_confirms_it_and_another_epoch_does_not(
    db: Database,
) -> None:
    cache, tier = ConfigCache(db), Tiers()
    await value(cache, tier, "free")
    clock.move(by_ms=10_000)
    assert cache.confirm(cache.epoch + 1, clock.monotonic_s()) is False
    with pytest.raises(Unavailable):
        cache.peek(tier.kind, "free")
    assert cache.confirm(cache.epoch, clock.monotonic_s()) is True
    assert cache.peek(tier.kind, "free") == 10
    # one that began long ago makes nothing older
    assert cache.confirm(cache.epoch, clock.monotonic_s() - 5) is True
    assert cache.peek(tier.kind, "free") == 10


@awaited
async def test_a_load_that_fails_is_told_to_who_waits_and_the_next_one_is_tried_anew(
    db: Database,
) -> None:
    cache, tier = ConfigCache(db), Tiers()
    await value(cache, tier, "free")
    for _ in range(2):
        with pytest.raises(LookupError):
            await value(cache, tier, "wrong")
    assert await value(cache, tier, "standard") == 100
    assert tier.loads == [["free"], ["wrong"], ["wrong"], ["standard"]]


@awaited
async def test_one_who_goes_away_takes_nothing_from_others_that_wait_for_the_same(
    db: Database,
) -> None:
    cache, tier = ConfigCache(db), Tiers()
    await cache.refresh()
    tier.may_load.clear()
    first, second = [asyncio.create_task(value(cache, tier, "free")) for _ in range(2)]
    while not tier.loads:
        await asyncio.sleep(0.001)
    first.cancel()
    tier.may_load.set()
    assert await second == 10
    assert tier.loads == [["free"]]


@awaited
async def test_what_is_remembered_is_bounded(db: Database, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cache_module, "ENTRIES_MAX", 2)
    cache, tier = ConfigCache(db), Tiers()
    for name in ("free", "standard", "enterprise"):
        await value(cache, tier, name)
    assert [cache.peek(tier.kind, name) for name in ("free", "standard", "enterprise")] == [
        None,
        None,
        1_000,
    ]


@awaited
async def test_polling_brings_a_change_within_its_time(db: Database) -> None:
    cache, tier = ConfigCache(db), Tiers()
    await value(cache, tier, "free")
    polling = asyncio.create_task(cache.poll())
    change_tier(db, "free", 11)
    async with asyncio.timeout(POLL_S + STALE_S):
        while cache.peek(tier.kind, "free") != 11:
            await asyncio.sleep(0.01)
    polling.cancel()


@awaited
async def test_without_its_database_it_answers_503_and_goes_on_when_that_is_back(
    private_postgres: PrivatePostgres,
) -> None:
    db = Database(private_postgres.url)
    with db.write() as tx:
        tx.execute(sa.schema.CreateTable(config.config))
        tx.execute(config.config.insert().values(id=1, epoch=1))
        tx.execute(sa.schema.CreateTable(tiers))
        tx.execute(tiers.insert().values(name="free", per_minute=10))
    cache, tier = ConfigCache(db), Tiers()
    assert await value(cache, tier, "free") == 10
    with capture_logs() as told:
        polling = asyncio.create_task(cache.poll())
        private_postgres.kill()
        clock.move(by_ms=1_000)
        with pytest.raises(Unavailable):
            cache.peek(tier.kind, "free")
        with pytest.raises(Unavailable):
            await value(cache, tier, "free")
        await until_told(told, 1)
        private_postgres.start()
        await until_told(told, 2)
        assert cache.peek(tier.kind, "free") == 10
        polling.cancel()
        await asyncio.gather(polling, return_exceptions=True)
    assert [line["event"] for line in told] == ["database_unreachable", "database_reachable_again"]
    db.close()


async def until_told(told: Sequence[object], lines: int) -> None:
    async with asyncio.timeout(10):
        while len(told) < lines:
            await asyncio.sleep(0.01)
