"""An account's blocking handlers have some of the threads at a time, and some of the waiting
places, never all.
"""

import asyncio
import threading

import pytest

from heliograph.api.threads import THREADS_OF_ACCOUNT, WAITING_OF_ACCOUNT_MAX, Threads
from heliograph.base.errors import Unavailable
from heliograph.database.commits import Backend, Commits, Unconfirmed
from tests.support.factories import awaited, away, unconnected

SESSION = Backend(1, 1)


@awaited
async def test_one_account_leaves_threads_and_places_to_the_others() -> None:
    threads, go_on, lock = Threads(Commits(unconnected)), threading.Event(), threading.Lock()
    running = 0

    def slow() -> str:
        nonlocal running
        with lock:
            running += 1
        go_on.wait()
        return "slow"

    try:
        slow_ones = [
            asyncio.create_task(threads.run("amina", slow)) for _ in range(WAITING_OF_ACCOUNT_MAX)
        ]
        await asyncio.sleep(0)
        with pytest.raises(Unavailable):
            await threads.run("amina", slow)
        assert await asyncio.wait_for(threads.run("chidi", lambda: "quick"), 10) == "quick"
        assert running == THREADS_OF_ACCOUNT
        go_on.set()
        assert set(await asyncio.gather(*slow_ones)) == {"slow"}
        assert await threads.run("amina", slow) == "slow"  # nothing of it is left
        assert not threads._turns
        assert not threads._waiting
    finally:
        go_on.set()
        threads.close()


@awaited
async def test_a_request_that_changes_does_not_wait_for_unconfirmed_commits_and_a_read_does() -> (
    None
):
    unconfirmed = Commits(away)
    threads, go_on = Threads(unconfirmed), threading.Event()

    def slow() -> str:
        go_on.wait()
        return "slow"

    try:
        reading = asyncio.create_task(threads.run("amina", slow, changes=False))
        changing = asyncio.create_task(threads.run("amina", slow, changes=True))
        await asyncio.sleep(0)
        unconfirmed.add(SESSION)
        with pytest.raises(Unconfirmed):
            await changing
        with pytest.raises(Unconfirmed):
            await threads.run("amina", slow, changes=True)
        go_on.set()
        assert await reading == "slow"
        unconfirmed.note_ended(SESSION)
        assert await threads.run("amina", slow, changes=True) == "slow"
    finally:
        go_on.set()
        threads.close()
