"""Sends requests that a server gets all at once: each goes on a connection of its own, all but its
last byte are sent before, and then all last bytes.
"""

import asyncio
import json
from typing import Any, NamedTuple
from urllib.parse import urlsplit

ANSWERED_WITHIN_S = 60


class RawResponse(NamedTuple):
    """Holds what came back: `headers` by lower-case name."""

    status: int
    headers: dict[str, str]
    content: bytes

    @property
    def body(self) -> dict[str, Any]:
        return dict(json.loads(self.content))

    @property
    def reason(self) -> str | None:
        error: dict[str, str] = self.body.get("error", {})
        return error.get("reason")

    @property
    def replayed(self) -> bool:
        return self.headers.get("idempotent-replayed") == "true"


def posted_at_once(
    url: str, path: str, key: str, requests: list[tuple[dict[str, Any], str | None]]
) -> list[RawResponse]:
    """Returns the responses to POSTs of (body, Idempotency-Key or None), in their order."""
    return asyncio.run(asyncio.wait_for(_all(url, path, key, requests), ANSWERED_WITHIN_S))


async def _all(
    url: str, path: str, key: str, requests: list[tuple[dict[str, Any], str | None]]
) -> list[RawResponse]:
    address = urlsplit(url)
    connections = [await asyncio.open_connection(address.hostname, address.port) for _ in requests]
    written = [_request(path, key, *request) for request in requests]
    for (_, writer), data in zip(connections, written, strict=True):
        writer.write(data[:-1])
        await writer.drain()
    for (_, writer), data in zip(connections, written, strict=True):
        writer.write(data[-1:])
    responses = await asyncio.gather(*(_answer(reader) for reader, _ in connections))
    for _, writer in connections:
        writer.close()
    return responses


def _request(path: str, key: str, body: dict[str, Any], idempotency_key: str | None) -> bytes:
    content = json.dumps(body).encode()
    lines = [
        f"POST {path} HTTP/1.1",
        "Host: test",
        f"Authorization: Bearer {key}",
        f"Content-Length: {len(content)}",
    ]
    if idempotency_key is not None:
        lines.append(f"Idempotency-Key: {idempotency_key}")
    return "\r\n".join([*lines, "", ""]).encode() + content


async def _answer(reader: asyncio.StreamReader) -> RawResponse:
    status, *lines = (await reader.readuntil(b"\r\n\r\n")).decode().rstrip().split("\r\n")
    headers = {
        name.lower(): value.strip() for name, _, value in (line.partition(":") for line in lines)
    }
    return RawResponse(
        int(status.split()[1]), headers, await reader.readexactly(int(headers["content-length"]))
    )
