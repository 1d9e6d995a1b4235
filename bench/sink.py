"""An HTTP sink answers every request 200 at once and counts them. Kannel sends its delivery
callbacks there, and we our webhooks.

`python -m bench.sink` takes `--posts` for requests with a body. It prints one line of JSON with its
two ports; the control port answers and clears the counters, as `bench.smsc`'s does.
"""

import asyncio
import json
import re
import sys
import time
from dataclasses import asdict, dataclass
from typing import cast

import uvloop

from bench.control import serve_control

ANSWER = b"HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nContent-Length: 2\r\n\r\nOK"
HEAD_END = b"\r\n\r\n"
LENGTH = re.compile(rb"\r\nContent-Length: (\d+)\r\n", re.IGNORECASE)


@dataclass(slots=True)
class Counters:
    """Counts requests since the last reset. Times are wall-clock seconds, and 0 when there was
    none.
    """

    requests: int = 0
    first_at: float = 0.0
    last_at: float = 0.0


class Sink:
    """Holds what all connections share."""

    counters = Counters()

    def reset(self) -> None:
        self.counters = Counters()


class Connection(asyncio.Protocol):
    """Answers one keep-alive connection of GET requests (Kannel calls a dlr-url by GET, so that no
    request has a body).
    """

    def __init__(self, sink: Sink) -> None:
        self.sink = sink
        self.buffer = b""

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self.transport = cast(asyncio.Transport, transport)  # uvloop's does not derive from it

    def data_received(self, data: bytes) -> None:
        data = self.buffer + data
        end = data.rfind(HEAD_END)
        if end < 0:
            self.buffer = data
            return
        self.buffer = data[end + len(HEAD_END) :]
        self.answer(data.count(HEAD_END))
        if b"connection: close" in data[:end].lower():
            self.transport.close()

    def answer(self, requests: int) -> None:
        counters = self.sink.counters
        counters.requests += requests
        counters.last_at = time.time()
        counters.first_at = counters.first_at or counters.last_at
        self.transport.write(ANSWER * requests)


class PostConnection(Connection):
    """Answers one keep-alive connection of requests with a Content-Length, where the next one comes
    only after the answer to the last.
    """

    def data_received(self, data: bytes) -> None:
        data = self.buffer = self.buffer + data
        end = data.find(HEAD_END)
        if end < 0:
            return
        found = LENGTH.search(data, 0, end + 2)
        assert found, "a request without a Content-Length"
        length = int(found[1])
        if len(data) >= end + len(HEAD_END) + length:
            self.buffer = b""
            self.answer(1)


async def run(connection: type[Connection]) -> None:
    """Serves until it is killed."""
    sink = Sink()
    server = await asyncio.get_running_loop().create_server(
        lambda: connection(sink), "127.0.0.1", 0
    )
    control_port = await serve_control(lambda: asdict(sink.counters), sink.reset)
    print(
        json.dumps({"port": server.sockets[0].getsockname()[1], "control_port": control_port}),
        flush=True,
    )
    await server.serve_forever()


if __name__ == "__main__":
    uvloop.run(run(PostConnection if "--posts" in sys.argv else Connection))
