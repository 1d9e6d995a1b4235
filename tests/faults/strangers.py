"""Strangers: connections that ask a server for what needs no key, one request after another, for as long as the block lasts."""

import asyncio
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final
from urllib.parse import urlsplit

from tests.loops import LoopThread

ANSWER_OCTETS_MAX: Final = 65_536


@contextmanager
def asking(address: str, path: str, connections: int) -> "Iterator[Counter[int]]":
    """Gives what they were answered so far: how many answers of each status."""
    statuses: Counter[int] = Counter()
    with LoopThread("strangers") as loop:
        tasks = asyncio.run_coroutine_threadsafe(_all_of_them(address, path, connections, statuses), loop.loop)
        try:
            yield statuses
        finally:
            tasks.cancel()


async def _all_of_them(address: str, path: str, connections: int, statuses: "Counter[int]") -> None:
    await asyncio.gather(*(_keep_asking(address, path, statuses) for _ in range(connections)))


async def _keep_asking(address: str, path: str, statuses: "Counter[int]") -> None:
    parts = urlsplit(address)
    while True:
        reader, writer = await asyncio.open_connection(parts.hostname, parts.port)
        try:
            while True:
                writer.write(f"GET {path} HTTP/1.1\r\nHost: heliograph\r\n\r\n".encode())
                head = await reader.readuntil(b"\r\n\r\n")
                length = int(head.lower().partition(b"content-length:")[2].split(b"\r\n")[0])
                await reader.readexactly(min(length, ANSWER_OCTETS_MAX))
                statuses[int(head.split(b" ", 2)[1])] += 1
        except (OSError, asyncio.IncompleteReadError):  # the server has closed it: another one
            await asyncio.sleep(0.01)
        finally:
            writer.close()
