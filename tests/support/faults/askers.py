"""Wants nothing but a server's time: connections ask it one thing after another, for as long as the
block lasts.
"""

import asyncio
import itertools
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Final
from urllib.parse import urlsplit

from tests.support.loops import LoopThread

ANSWER_OCTETS_MAX: Final = 65_536


@contextmanager
def asking(address: str, path: str, connections: int) -> "Iterator[Counter[int]]":
    """Asks for a page over all connections. It yields what they were answered so far: how many
    answers of each status.
    """
    with _keeping_on(
        address, lambda: f"GET {path} HTTP/1.1\r\nHost: heliograph\r\n\r\n".encode(), connections
    ) as statuses:
        yield statuses


@contextmanager
def posting(
    address: str, path: str, key: str, bodies: Sequence[bytes], connections: int
) -> "Iterator[Counter[int]]":
    """Posts these bodies in turn, with a tenant's key. It yields what the connections were answered
    so far: how many answers of each status.
    """
    head = (
        f"POST {path} HTTP/1.1\r\nHost: heliograph\r\nAuthorization: Bearer {key}\r\nContent-Type:"
        " application/json\r\nContent-Length: "
    )
    requests = itertools.cycle([f"{head}{len(body)}\r\n\r\n".encode() + body for body in bodies])
    with _keeping_on(address, lambda: next(requests), connections) as statuses:
        yield statuses


@contextmanager
def _keeping_on(
    address: str, request: Callable[[], bytes], connections: int
) -> "Iterator[Counter[int]]":
    statuses: Counter[int] = Counter()
    with LoopThread("strangers") as loop:
        tasks = asyncio.run_coroutine_threadsafe(
            _all_of_them(address, request, connections, statuses), loop.loop
        )
        try:
            yield statuses
        finally:
            tasks.cancel()


async def _all_of_them(
    address: str, request: Callable[[], bytes], connections: int, statuses: "Counter[int]"
) -> None:
    await asyncio.gather(*(_keep_asking(address, request, statuses) for _ in range(connections)))


async def _keep_asking(
    address: str, request: Callable[[], bytes], statuses: "Counter[int]"
) -> None:
    parts = urlsplit(address)
    while True:
        reader, writer = await asyncio.open_connection(parts.hostname, parts.port)
        try:
            while True:
                writer.write(request())
                head = await reader.readuntil(b"\r\n\r\n")
                length = int(head.lower().partition(b"content-length:")[2].split(b"\r\n")[0])
                await reader.readexactly(min(length, ANSWER_OCTETS_MAX))
                statuses[int(head.split(b" ", 2)[1])] += 1
        except (OSError, asyncio.IncompleteReadError):  # the server has closed it: another one
            await asyncio.sleep(0.01)
        finally:
            writer.close()
