"""Measures for how long a request holds the event loop, so that nobody else is answered.

It measures what the process has worked between two looks of a task that looks every millisecond:
the loop's own work, and that of another thread which keeps the interpreter to itself meanwhile. It
is the process's time on the processor, and not the clock's: how long the machine gave it to others,
on which tests run beside one another, says nothing about the request. (What threads do beside the
loop, without keeping it from its looks, counts only if it falls between two of them.)

A processor that is shared is slower too: the same work has taken more than twice its time. So a
fixed piece of work is timed before and after, and what was measured counts as if the machine had
been at rest.
"""

import asyncio
import gc
import time
from collections.abc import Awaitable, Iterator
from contextlib import contextmanager
from typing import Any, NamedTuple, TypeVar

from heliograph.api.app import App
from heliograph.api.openapi import BASE_PATH

LOOK_S = 0.001
TURNS = 40_000
TURNS_TAKE_S = 0.0036  # on two cores at 2.5 GHz with nothing else to do

Result = TypeVar("Result")


class Held(NamedTuple):
    status: int
    seconds: float
    reason: str


async def held(app: App, key: str, path: str, body: bytes) -> Held:
    """Posts the body, and looks meanwhile. A collection of garbage that the tests left
    would count as the request's.
    """
    (status, answered), seconds = await looked(_post(app, key, path, body))
    return Held(status, seconds, "" if status == 200 else answered[:200].decode(errors="replace"))


async def looked(work: Awaitable[Result]) -> tuple[Result, float]:
    """Returns what it returns, and for how many seconds it held the event loop at most, on
    a machine at rest.
    """
    slow = slowness()
    looks = Looks()
    looking = asyncio.create_task(looks.keep())
    await asyncio.sleep(2 * LOOK_S)
    looks.longest_s = 0.0
    result = await work
    await asyncio.sleep(2 * LOOK_S)
    looking.cancel()
    return result, looks.longest_s / max(slow, slowness())


def slowness() -> float:
    """Returns how many times as long as on a machine at rest a fixed piece of work takes now: 1 at
    least.
    """
    began_s, kept = time.process_time(), dict[int, str]()
    for turn in range(TURNS):
        kept[turn & 1_023] = str(turn)
    return max(1.0, (time.process_time() - began_s) / TURNS_TAKE_S)


class Looks:
    """Looks again and again, and keeps the longest time without a look."""

    def __init__(self) -> None:
        self.longest_s = 0.0

    async def keep(self) -> None:
        while True:
            worked_s, at_s = time.process_time(), time.perf_counter()
            await asyncio.sleep(LOOK_S)
            self.longest_s = max(
                self.longest_s, min(time.process_time() - worked_s, time.perf_counter() - at_s)
            )


async def _post(app: App, key: str, path: str, body: bytes) -> tuple[int, bytes]:
    """Posts a request without a client's own work in the same loop."""
    answer: dict[str, Any] = {}

    async def receive() -> dict[str, Any]:
        return {"type": "http.request", "body": body, "more_body": False}

    async def send(message: Any) -> None:
        answer.update(message)

    await app(
        {
            "type": "http",
            "method": "POST",
            "path": f"{BASE_PATH}{path}",
            "query_string": b"",
            "client": ("127.0.0.1", 1),
            "headers": [
                (b"authorization", b"Bearer " + key.encode()),
                (b"content-type", b"application/json"),
            ],
        },
        receive,
        send,
    )
    return answer["status"], answer["body"]


@contextmanager
def little_garbage() -> Iterator[None]:
    """Keeps the garbage collector from what was made before, as a server does
    (processes/exclusive.py: tune_collector).
    """
    threshold = gc.get_threshold()
    gc.collect()
    gc.freeze()
    gc.set_threshold(10_000, 20, 50)
    try:
        yield
    finally:
        gc.set_threshold(*threshold)
        gc.unfreeze()
