"""Runs a receiver of webhooks of the tests' own, on raw sockets: it hears requests, and answers as
no HTTP library would.
"""

import asyncio
import ssl
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import asynccontextmanager, contextmanager, suppress
from dataclasses import dataclass, field

from tests.support.loops import LoopThread

OK = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok"
Behaviour = Callable[[asyncio.StreamWriter], Awaitable[None]]


@dataclass
class Receiver:
    """Holds what one server has heard."""

    port: int = 0
    connections: int = 0
    heads: list[str] = field(default_factory=list)
    bodies: list[bytes] = field(default_factory=list)

    def url(self, host: str = "127.0.0.1", scheme: str = "http") -> str:
        return f"{scheme}://{host}:{self.port}/hook?a=b"


@asynccontextmanager
async def receiving(
    behave: Behaviour, tls: ssl.SSLContext | None = None
) -> AsyncIterator[Receiver]:
    """Runs a server on 127.0.0.1 that does `behave` after each request; it keeps connections until
    `behave` closes them, or the client does.
    """
    heard, tasks = Receiver(), set[asyncio.Task[None]]()

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        heard.connections += 1
        task = asyncio.current_task()
        assert task is not None
        tasks.add(task)
        with suppress(OSError, asyncio.IncompleteReadError, asyncio.CancelledError):
            while not writer.is_closing():
                head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1")
                heard.heads.append(head)
                length = next(
                    int(line.split(":")[1])
                    for line in head.split("\r\n")
                    if line.lower().startswith("content-length:")
                )
                heard.bodies.append(await reader.readexactly(length))
                await behave(writer)
                await writer.drain()
        writer.transport.abort()

    server = await asyncio.start_server(serve, "127.0.0.1", 0, ssl=tls)
    heard.port = server.sockets[0].getsockname()[1]
    try:
        yield heard
    finally:
        server.close()
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)


@contextmanager
def receiver_in_a_thread(
    behave: Behaviour, tls: ssl.SSLContext | None = None
) -> Iterator[Receiver]:
    """Runs a receiver in a thread: it goes on while the test kills and waits."""
    with LoopThread("receiver") as thread:
        server = receiving(behave, tls)
        receiver = thread.run(server.__aenter__())
        try:
            yield receiver
        finally:
            thread.run(server.__aexit__(None, None, None))


def says(*parts: bytes, pause_s: float = 0.0, close: bool = False) -> Behaviour:
    """Sends these, with a pause before each but the first; then closes, or keeps the connection."""

    async def behave(writer: asyncio.StreamWriter) -> None:
        for number, part in enumerate(parts):
            if number:
                await asyncio.sleep(pause_s)
            writer.write(part)
            await writer.drain()
        if close:
            writer.close()

    return behave


def after(seconds: float, then: bytes) -> Behaviour:
    async def behave(writer: asyncio.StreamWriter) -> None:
        await asyncio.sleep(seconds)
        writer.write(then)

    return behave


def without_end(begin: bytes, again: bytes, times: int, pause_s: float = 0.0) -> Behaviour:
    """Sends `begin`, then `again` so many times, if the client lets it."""

    async def behave(writer: asyncio.StreamWriter) -> None:
        writer.write(begin)
        for _ in range(times):
            writer.write(again)
            await writer.drain()
            if pause_s:
                await asyncio.sleep(pause_s)

    return behave
