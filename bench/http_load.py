"""Our own HTTP load generator is for machines without wrk. It has keep-alive connections, and each
sends as soon as it is answered.

It fills in the same templates as wrk does with traffic.lua, prints the same line of JSON, and takes
more CPU than wrk from what it measures.
"""

import argparse
import asyncio
import json
import re
import statistics
import time
from collections import Counter
from pathlib import Path
from typing import Any, cast

import uvloop

from bench import traffic

_MARKS = re.compile(f"({traffic.KEY_MARK}|{traffic.NUMBER_MARK}|{traffic.RECIPIENT_MARK})")
_CONTENT_LENGTH = re.compile(rb"\r\ncontent-length: *(\d+)", re.IGNORECASE)


class Requests:
    """Fills in templates, one after another, and keeps what came back."""

    def __init__(self, templates: list[str], keys: list[str], first: int, expected: int) -> None:
        self.templates = [_MARKS.split(template) for template in templates]
        self.keys, self.number, self.expected = keys, first, b"HTTP/1.1 %d" % expected
        self.answered = self.broken = 0
        self.unexpected: Counter[str] = Counter()
        self.took_ms: list[float] = []
        self.running = True

    def next(self) -> bytes:
        self.number += 1
        number = self.number
        values = {
            traffic.KEY_MARK: self.keys[number % len(self.keys)] if self.keys else "",
            traffic.NUMBER_MARK: f"{number:0{traffic.NUMBER_DIGITS}d}",
            traffic.RECIPIENT_MARK: traffic.recipient(number),
        }
        return "".join(
            [values.get(piece, piece) for piece in self.templates[number % len(self.templates)]]
        ).encode()


class Connection(asyncio.Protocol):
    """A connection has one request on its way."""

    def __init__(self, requests: Requests) -> None:
        self.requests = requests
        self.closed: asyncio.Future[None] = asyncio.get_running_loop().create_future()

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self.transport = cast(asyncio.Transport, transport)  # uvloop's does not derive from it
        self.send()

    def send(self) -> None:
        self.buffer, self.missing, self.began = b"", -1, time.perf_counter()
        self.transport.write(self.requests.next())

    def data_received(self, data: bytes) -> None:
        self.buffer += data
        if self.missing < 0:
            end = self.buffer.find(b"\r\n\r\n")
            length = _CONTENT_LENGTH.search(self.buffer, 0, end) if end >= 0 else None
            if length is None:
                return
            self.missing = end + 4 + int(length[1])
        if len(self.buffer) >= self.missing:
            self.answered()

    def answered(self) -> None:
        requests = self.requests
        if not requests.running:
            self.transport.close()
            return
        if self.buffer.startswith(requests.expected):
            requests.answered += 1
        else:
            requests.unexpected[f"HTTP {self.buffer[9:12].decode()}"] += 1
        requests.took_ms.append((time.perf_counter() - self.began) * 1_000)
        self.send()

    def connection_lost(self, exc: Exception | None) -> None:
        self.requests.broken += self.requests.running
        self.closed.set_result(None)


async def run(requests: Requests, port: int, connections: int, seconds: float) -> dict[str, Any]:
    """Loads for `seconds` and returns what traffic.lua gives."""
    loop = asyncio.get_running_loop()
    began = time.perf_counter()
    made = [
        (await loop.create_connection(lambda: Connection(requests), "127.0.0.1", port))[1]
        for _ in range(connections)
    ]
    _, open_ones = await asyncio.wait(
        [connection.closed for connection in made],
        timeout=seconds,
        return_when=asyncio.ALL_COMPLETED,
    )
    took = time.perf_counter() - began
    requests.running = False
    for connection in made:
        connection.transport.abort()
    if open_ones:
        await asyncio.wait(open_ones)
    percentiles = (
        statistics.quantiles(requests.took_ms, n=100) if len(requests.took_ms) > 1 else [0.0] * 99
    )
    return {
        "answered": requests.answered,
        "unexpected": requests.unexpected,
        "broken": requests.broken,
        "seconds": took,
        "p50_ms": percentiles[49],
        "p99_ms": percentiles[98],
    }


def main() -> None:
    parser = argparse.ArgumentParser(
        prog="python -m bench.http_load", description="HTTP load on a server on loopback."
    )
    parser.add_argument("templates", type=Path, nargs="+")
    parser.add_argument("--port", type=int, required=True)
    parser.add_argument("--connections", type=int, required=True)
    parser.add_argument("--seconds", type=float, required=True)
    parser.add_argument("--keys", type=Path)
    parser.add_argument("--first", type=int, default=0)
    parser.add_argument("--status", type=int, default=200)
    options = parser.parse_args()
    keys = options.keys.read_text().split() if options.keys else []
    requests = Requests(
        [path.read_bytes().decode() for path in options.templates],
        keys,
        options.first,
        options.status,
    )
    print(json.dumps(uvloop.run(run(requests, options.port, options.connections, options.seconds))))


if __name__ == "__main__":
    main()
