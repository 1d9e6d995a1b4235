"""Blocking handlers: an account has some of the threads at a time, and some of the waiting places, never all."""

import asyncio
import threading

import pytest

from heliograph.base.commits import Backend, Commits, Unconfirmed
from heliograph.base.errors import Unavailable
from heliograph.base.forms import Query
from heliograph.entry.threads import THREADS_OF_ACCOUNT, WAITING_OF_ACCOUNT_MAX, Threads
from heliograph.keys import Answer, Call, Principal
from tests.factories import awaited, away, unconnected

SESSION = Backend(1, 1)


def call_of(account_id: str) -> Call:
    principal = Principal("k", account_id, False, frozenset(), 100, None, "sk_live_abcd", False, False)
    return Call(principal, "req_1", {}, Query([]), b"", None)


@awaited
async def test_one_account_leaves_threads_and_places_to_the_others() -> None:
    threads, go_on, lock = Threads(Commits(unconnected)), threading.Event(), threading.Lock()
    running = 0

    def slow(call: Call) -> Answer:
        nonlocal running
        with lock:
            running += 1
        go_on.wait()
        return Answer({"slow": True})

    try:
        slow_ones = [asyncio.create_task(threads.run(slow, call_of("amina"), changes=False)) for _ in range(WAITING_OF_ACCOUNT_MAX)]
        await asyncio.sleep(0)
        with pytest.raises(Unavailable):
            await threads.run(slow, call_of("amina"), changes=False)
        answer = await asyncio.wait_for(threads.run(lambda call: Answer({"quick": True}), call_of("chidi"), changes=True), 10)
        assert answer.body == {"quick": True}
        assert running == THREADS_OF_ACCOUNT
        go_on.set()
        assert all(answer.body == {"slow": True} for answer in await asyncio.gather(*slow_ones))
        assert (await threads.run(slow, call_of("amina"), changes=False)).body == {"slow": True}  # nothing of it is left
        assert not threads._turns
        assert not threads._waiting
    finally:
        go_on.set()
        threads.close()


@awaited
async def test_a_request_that_changes_something_does_not_wait_for_unconfirmed_commits_and_one_that_reads_does() -> None:
    unconfirmed = Commits(away)
    threads, go_on = Threads(unconfirmed), threading.Event()

    def slow(call: Call) -> Answer:
        go_on.wait()
        return Answer({"slow": True})

    try:
        reading = asyncio.create_task(threads.run(slow, call_of("amina"), changes=False))
        changing = asyncio.create_task(threads.run(slow, call_of("amina"), changes=True))
        await asyncio.sleep(0)
        unconfirmed.add(SESSION)
        with pytest.raises(Unconfirmed):
            await changing
        with pytest.raises(Unconfirmed):
            await threads.run(slow, call_of("amina"), changes=True)
        go_on.set()
        assert (await reading).body == {"slow": True}
        unconfirmed.over(SESSION)
        assert (await threads.run(slow, call_of("amina"), changes=True)).body == {"slow": True}
    finally:
        go_on.set()
        threads.close()
