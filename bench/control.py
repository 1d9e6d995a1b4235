"""Each program of the benchmark has a control port, which answers counters over HTTP, one request a
connection.
"""

import asyncio
import http.client
import json
from collections.abc import Callable
from typing import Any

REPLY_WITHIN_S = 5.0


async def serve_control(counters: Callable[[], dict[str, Any]], reset: Callable[[], None]) -> int:
    """Answers `GET /` with the counters as JSON and `GET /reset` after clearing them; and returns
    the port that it listens on.
    """

    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            head = await reader.readuntil(b"\r\n\r\n")
            if head.startswith(b"GET /reset "):
                reset()
            body = json.dumps(counters()).encode()
            writer.write(
                b"HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: %d\r\n\r\n%b"
                % (len(body), body)
            )
            await writer.drain()
        finally:
            writer.close()

    server = await asyncio.start_server(answer, "127.0.0.1", 0)
    port: int = server.sockets[0].getsockname()[1]
    return port


def ask(port: int, path: str = "/") -> dict[str, Any]:
    """Returns what the control port of another process answers. Raises OSError when it does not."""
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=REPLY_WITHIN_S)
    try:
        connection.request("GET", path)
        answer: dict[str, Any] = json.loads(connection.getresponse().read())
        return answer
    finally:
        connection.close()
