"""A task that was told to end ends, whatever a library makes of its CancelledError."""

import asyncio
from collections.abc import Callable
from contextlib import suppress

import asyncpg
import pytest

from heliograph.base import cancelling
from heliograph.base.errors import Unavailable
from heliograph.database.outage import unavailable_on_outage
from tests.support.factories import awaited


async def given_back(waiting: asyncio.Event) -> None:
    """Waits on a connection that is dead. asyncpg, giving it back, raises this in place of the
    CancelledError that it met.
    """
    try:
        waiting.set()
        await asyncio.get_running_loop().create_future()
    except asyncio.CancelledError:
        raise asyncpg.InternalClientError(  # noqa: B904
            "PoolConnectionHolder.release() called on a free connection holder"
        )


async def in_a_loop(waiting: asyncio.Event) -> None:
    while True:
        try:
            with unavailable_on_outage():
                await given_back(waiting)
        except Exception as error:  # noqa: BLE001
            cancelling.raise_if_cancelled(error)
            await asyncio.sleep(0)


async def in_a_loop_that_does_not_ask(waiting: asyncio.Event) -> None:
    while True:
        with suppress(Unavailable), unavailable_on_outage():
            await given_back(waiting)


@pytest.mark.parametrize("loop", [in_a_loop, in_a_loop_that_does_not_ask])
@awaited
async def test_a_cancellation_that_a_driver_has_turned_into_an_error_is_one_again(
    loop: Callable[[asyncio.Event], "asyncio.Future[None]"],
) -> None:
    waiting = asyncio.Event()
    task = asyncio.ensure_future(loop(waiting))
    await waiting.wait()
    task.cancel()
    async with asyncio.timeout(5):
        await asyncio.wait({task})
    assert task.cancelled()


@awaited
async def test_a_time_limit_is_still_a_time_limit_and_what_comes_after_it_is_no_cancellation() -> (
    None
):

    async def within_a_limit() -> None:
        async with asyncio.timeout(0.01):
            with unavailable_on_outage():
                await given_back(asyncio.Event())

    with pytest.raises(TimeoutError):
        await within_a_limit()
    with pytest.raises(Unavailable), unavailable_on_outage():
        raise ConnectionResetError


def test_in_a_thread_nothing_is_cancelled() -> None:
    with pytest.raises(Unavailable), unavailable_on_outage():
        raise ConnectionResetError
    assert not cancelling.is_cancelled()


@awaited
async def test_who_loses_a_cancellation_is_told_again(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cancelling, "AGAIN_S", 0.01)
    losses = [3]

    async def loses_it() -> None:
        while losses[0]:
            try:
                await asyncio.get_running_loop().create_future()
            except asyncio.CancelledError:
                losses[0] -= 1

    async def fails() -> None:
        raise ValueError

    tasks = asyncio.ensure_future(loses_it()), asyncio.ensure_future(fails())
    await asyncio.sleep(0)
    async with asyncio.timeout(5):
        await cancelling.cancel_and_wait(*tasks)
    assert losses == [0]
