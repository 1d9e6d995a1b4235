"""All that one process puts into a queue wakes the others through Redis, whatever else the channel
says.
"""

import asyncio

import redis.asyncio
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from heliograph.processes.wake import CHANNEL, WakeSender, listen

NOISE = st.binary(max_size=40) | st.sampled_from(
    [b"1 x 2", b"-1", b"9" * 5_000, "٣".encode(), b"\xff 7", b" "]
)
WITHIN_S = 30.0


@given(
    noise=st.lists(NOISE, max_size=10),
    told=st.sets(st.integers(1, 2**31 - 1), min_size=1, max_size=5),
)
@settings(max_examples=20, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_who_listens_hears_what_is_told_after_any_noise(
    redis_url: str, noise: list[bytes], told: set[int]
) -> None:
    asyncio.run(_hears(redis_url, noise, told))


async def _hears(redis_url: str, noise: list[bytes], told: set[int]) -> None:
    woken: list[set[int]] = []
    listening = asyncio.create_task(listen(redis_url, woken.append))
    teller, other = WakeSender(redis_url), redis.asyncio.Redis.from_url(redis_url)
    try:
        async with asyncio.timeout(WITHIN_S):
            while await other.publish(CHANNEL, b"") == 0:  # nobody listens yet
                await asyncio.sleep(0.005)
            for said in noise:
                await other.publish(CHANNEL, said)
            teller.wake_others(told)
            while told not in woken:
                assert not listening.done(), "it has stopped listening"
                await asyncio.sleep(0.005)
    finally:
        listening.cancel()
        await asyncio.gather(listening, return_exceptions=True)
        await teller.close()
        await other.aclose()
