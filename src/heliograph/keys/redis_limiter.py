"""Shares rate limits among several processes through Redis, with one pipeline for all requests that
came together. While Redis is away each process counts for itself: the limit never stands open.

Only the API loads this, for the client of Redis is heavy.
"""

import asyncio
from typing import Final

from redis.asyncio import Redis
from redis.exceptions import RedisError

from heliograph.base import clock
from heliograph.base.log import Log
from heliograph.keys.rate_limit import WINDOW_S, MemoryLimiter, RateAllowance, window_of

_REDIS_TIMEOUT_S: Final = 0.25
_REDIS_RETRY_S: Final = 1.0

log = Log(__name__)


class RedisLimiter:
    """Counts in Redis, shared by all processes: `INCR key:minute`, pipelined for all
    requests of the same moment.
    """

    def __init__(self, url: str) -> None:
        self._redis: Redis = Redis.from_url(
            url, socket_timeout=_REDIS_TIMEOUT_S, socket_connect_timeout=_REDIS_TIMEOUT_S
        )
        self._alone = MemoryLimiter()
        self._waiting: list[tuple[str, asyncio.Future[int]]] = []
        self._sending: asyncio.Task[None] | None = None
        self._away_until_s = float("-inf")
        self._processes = 1

    def share_with(self, processes: int) -> None:
        self._processes = max(1, processes)

    async def take(self, key_id: str, per_minute: int) -> RateAllowance:
        """Counts a request of a key with Redis; without Redis this process counts alone."""
        # kept beside, so that a Redis that goes away leaves no gap
        local = self._alone.count(key_id, per_minute)
        if clock.monotonic_s() < self._away_until_s:
            return self._my_share(local)
        window, reset_s = window_of(clock.now_ms())
        answer: asyncio.Future[int] = asyncio.get_running_loop().create_future()
        self._waiting.append((f"heliograph:rate:{key_id}:{window}", answer))
        if self._sending is None:
            self._sending = asyncio.create_task(self._send())
        used = await answer
        if used < 0:
            return self._my_share(local)
        shared = RateAllowance(per_minute, per_minute - used, reset_s)
        # a Redis that is away, or was, or was emptied knows less than we do
        return local if local.remaining < shared.remaining else shared

    def _my_share(self, local: RateAllowance) -> RateAllowance:
        """Returns this process's part of the limit. While nobody counts for all, each process
        lets through its part, and together they never let through more than the limit.
        """
        return local._replace(
            remaining=local.remaining - local.limit + max(1, local.limit // self._processes)
        )

    async def _send(self) -> None:
        try:
            while self._waiting:
                batch, self._waiting = self._waiting, []
                counts = await self._count([name for name, _ in batch])
                for (_, answer), used in zip(batch, counts, strict=True):
                    if not answer.done():
                        answer.set_result(used)
        finally:
            self._sending = None

    async def _count(self, names: list[str]) -> list[int]:
        try:
            async with self._redis.pipeline(transaction=False) as pipeline:
                for name in names:
                    pipeline.incr(name)
                    pipeline.expire(name, 2 * WINDOW_S)
                return [int(used) for used in (await pipeline.execute())[::2]]
        except (RedisError, OSError, TimeoutError) as error:
            self._away_until_s = clock.monotonic_s() + _REDIS_RETRY_S
            log.warning("redis_away", error=type(error).__name__)
            return [-1] * len(names)

    async def close(self) -> None:
        await self._redis.aclose()
