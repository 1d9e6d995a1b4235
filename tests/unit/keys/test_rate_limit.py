"""Rate limits allow so many requests a key and minute, in memory and shared through a real Redis.
Without Redis they are never open.
"""

import asyncio
import signal
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest
from redis.asyncio import Redis

from heliograph.base import clock
from heliograph.keys import rate_limit
from heliograph.keys.rate_limit import WINDOW_S, MemoryLimiter, RateAllowance
from heliograph.keys.redis_limiter import RedisLimiter
from tests.support.factories import awaited
from tests.support.services.redis import PrivateRedis

UNREACHABLE = "redis://127.0.0.1:1"


@asynccontextmanager
async def limiter(url: str) -> AsyncIterator[RedisLimiter]:
    made = RedisLimiter(url)
    try:
        yield made
    finally:
        await made.close()


async def taken(
    of: MemoryLimiter | RedisLimiter, times: int, key: str = "amina", per_minute: int = 5
) -> list[int]:
    """Returns what remained after each of some requests, one after the other."""
    return [(await of.take(key, per_minute)).remaining for _ in range(times)]


@pytest.fixture(autouse=True)
def _a_window_begins() -> None:
    clock.move(by_ms=WINDOW_S * 1_000 - clock.now_ms() % (WINDOW_S * 1_000))


def to_the_end_of_the_window(less_ms: int = 0) -> None:
    clock.move(by_ms=WINDOW_S * 1_000 - clock.now_ms() % (WINDOW_S * 1_000) - less_ms)


@awaited
async def test_a_key_has_its_requests_a_minute_and_the_next_one_exceeds() -> None:
    memory = MemoryLimiter()
    allowances = [await memory.take("amina", 3) for _ in range(5)]
    assert [allowance.remaining for allowance in allowances] == [2, 1, 0, -1, -2]
    assert [allowance.exceeded for allowance in allowances] == [False, False, False, True, True]
    assert {allowance.limit for allowance in allowances} == {3}
    assert (await memory.take("bilal", 3)).remaining == 2


@awaited
async def test_a_window_ends_at_the_full_minute_and_tells_when() -> None:
    memory = MemoryLimiter()
    assert 59 <= (await memory.take("amina", 3)).reset_s <= 60
    to_the_end_of_the_window(less_ms=900)
    assert await memory.take("amina", 3) == RateAllowance(3, 1, 1)
    clock.move(by_ms=900)
    assert (await memory.take("amina", 3)).remaining == 2


@awaited
async def test_what_is_kept_of_keys_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(rate_limit, "_KEYS_MAX", 10)
    memory = MemoryLimiter()
    for number in range(12):
        await memory.take(f"key{number}", 5)
    assert len(memory._counts) <= 11


@awaited
async def test_processes_share_one_count(redis_url: str) -> None:
    async with limiter(redis_url) as one, limiter(redis_url) as other:
        assert await taken(one, 2) == [4, 3]
        assert await taken(other, 2) == [2, 1]
        assert await taken(one, 3) == [0, -1, -2]
        assert await taken(other, 1, key="bilal") == [4]
        to_the_end_of_the_window()
        assert await taken(other, 1) == [4]


@awaited
async def test_requests_at_one_moment_are_counted_each(redis_url: str) -> None:
    async with limiter(redis_url) as shared:
        allowances = await asyncio.gather(*(shared.take("amina", 50) for _ in range(100)))
    assert sorted(allowance.remaining for allowance in allowances) == list(range(-50, 50))


@awaited
async def test_redis_forgets_a_window_by_itself(redis_url: str) -> None:
    async with limiter(redis_url) as shared, Redis.from_url(redis_url) as redis:
        await taken(shared, 1)
        names = [name async for name in redis.scan_iter("heliograph:rate:*")]
        assert [0 < await redis.ttl(name) <= 2 * WINDOW_S for name in names] == [True]


@awaited
async def test_without_redis_the_process_counts_for_itself() -> None:
    async with limiter(UNREACHABLE) as alone:
        assert await taken(alone, 6) == [4, 3, 2, 1, 0, -1]
        clock.move(by_ms=2_000)  # Redis is tried again
        assert await taken(alone, 1) == [-2]


@awaited
async def test_a_redis_that_goes_away_and_comes_back_empty_gives_nobody_a_second_allowance(
    private_redis: PrivateRedis,
) -> None:
    async with limiter(private_redis.url) as shared:
        assert await taken(shared, 2) == [4, 3]
        private_redis.kill()
        assert await taken(shared, 2) == [2, 1]
        private_redis.start()
        clock.move(by_ms=2_000)
        assert await taken(shared, 3) == [0, -1, -2]
        to_the_end_of_the_window()
        assert await taken(shared, 1) == [4]
        async with limiter(private_redis.url) as other:
            assert await taken(other, 1) == [3]  # it counts in Redis again


@awaited
async def test_a_redis_that_hangs_holds_up_requests_once_and_shortly(
    private_redis: PrivateRedis,
) -> None:
    async with limiter(private_redis.url) as shared:
        assert await taken(shared, 1) == [4]
        private_redis.process.send_signal(signal.SIGSTOP)
        started_s = time.monotonic()
        allowances = await asyncio.gather(*(shared.take("amina", 5) for _ in range(5)))
        assert await taken(shared, 10) == list(range(-2, -12, -1))
        waited_s = time.monotonic() - started_s
        private_redis.process.send_signal(signal.SIGCONT)
    assert [allowance.remaining for allowance in allowances] == [3, 2, 1, 0, -1]
    assert waited_s < 1.0


@awaited
async def test_a_client_that_goes_away_disturbs_nobody(redis_url: str) -> None:
    async with limiter(redis_url) as shared:
        tasks = [asyncio.create_task(shared.take("amina", 5)) for _ in range(3)]
        await asyncio.sleep(0)
        tasks[1].cancel()
        outcomes = await asyncio.gather(*tasks, return_exceptions=True)
        assert [
            outcome.remaining for outcome in outcomes if isinstance(outcome, RateAllowance)
        ] == [
            4,
            2,
        ]
        assert await taken(shared, 1) == [1]
