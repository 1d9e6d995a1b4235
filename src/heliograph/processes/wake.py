"""Tells other processes that something was queued, by a publish in Redis after the commit. A
process that misses it looks every 250 ms anyway.

There is no NOTIFY in it: PostgreSQL takes one lock for the whole database when a transaction that
notified commits.
"""

import asyncio
from collections.abc import Callable
from functools import partial
from typing import Final

from redis.asyncio import Redis
from redis.exceptions import RedisError

from heliograph.base import cancelling
from heliograph.base.log import Log
from heliograph.base.periodic import repeat

CHANNEL: Final = "heliograph:queued"
TELL_EVERY_S: Final = 0.01  # at most: what is queued meanwhile is told together
TIMEOUT_S: Final = 0.25
LISTEN_AGAIN_S: Final = 1.0
DIGITS_MAX: Final = 10  # of a carrier's id

log = Log(__name__)


class WakeSender:
    """Tells which carriers have something to send. Never waits, and never fails for
    whoever queued it.
    """

    def __init__(self, redis_url: str) -> None:
        self._redis: Redis = Redis.from_url(
            redis_url, socket_timeout=TIMEOUT_S, socket_connect_timeout=TIMEOUT_S
        )
        self._waiting: set[int] = set()
        self._sending: asyncio.Task[None] | None = None

    def wake_others(self, carrier_ids: set[int]) -> None:
        self._waiting |= carrier_ids
        if self._sending is None:
            self._sending = asyncio.create_task(self._send())

    async def _send(self) -> None:
        try:
            while self._waiting:
                carrier_ids, self._waiting = self._waiting, set()
                try:
                    await self._redis.publish(CHANNEL, " ".join(map(str, sorted(carrier_ids))))
                except (RedisError, OSError, TimeoutError) as error:
                    cancelling.raise_if_cancelled(error)
                    # the limiter says that Redis is away
                    log.debug("carriers_not_told", error=type(error).__name__)
                await asyncio.sleep(TELL_EVERY_S)
        finally:
            self._sending = None

    async def close(self) -> None:
        if self._sending is not None:
            await cancelling.cancel_and_wait(self._sending)
        await self._redis.aclose()


async def listen(redis_url: str, wake: Callable[[set[int]], None]) -> None:
    """Wakes the carriers that other processes name, until it is cancelled."""
    await repeat(
        partial(_hear, redis_url, wake),
        wait=LISTEN_AGAIN_S,
        first_after_s=0.0,
        fault="redis_away",
        level="warning",
    )


async def _hear(redis_url: str, wake: Callable[[set[int]], None]) -> None:
    """Wakes what is told of for as long as Redis is there."""
    redis: Redis = Redis.from_url(
        redis_url, socket_connect_timeout=TIMEOUT_S, health_check_interval=5
    )
    try:
        async with redis.pubsub(ignore_subscribe_messages=True) as subscription:
            await subscription.subscribe(CHANNEL)
            async for message in subscription.listen():
                wake(_carrier_ids(message["data"]))
    finally:
        await redis.aclose()


async def redis_answers(redis_url: str) -> bool:
    """Returns whether Redis answers within a moment."""
    redis: Redis = Redis.from_url(
        redis_url, socket_timeout=TIMEOUT_S, socket_connect_timeout=TIMEOUT_S
    )
    try:
        await redis.ping()
        return True
    except (RedisError, OSError, TimeoutError) as error:
        cancelling.raise_if_cancelled(error)
        return False
    finally:
        await redis.aclose()


def _carrier_ids(data: bytes) -> set[int]:
    """Reads the carriers' ids, and leaves out everything else: whoever shares the Redis can publish
    whatever they like.
    """
    return {int(word) for word in data.split() if word.isdigit() and len(word) <= DIGITS_MAX}
