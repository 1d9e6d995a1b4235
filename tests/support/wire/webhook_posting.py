"""Holds what the tests of POSTs to receivers of webhooks share: a poster, one signed event, the
head of an answer.
"""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

from heliograph.webhooks.http.address_guard import AllowedNetworks
from heliograph.webhooks.http.post import Poster
from heliograph.webhooks.sign import headers, new_secret

DEVELOPMENT = AllowedNetworks(loopback=True)
BODY = b'{"id": "evt_1"}'
SIGNED = headers("evt_1", "message.sent", BODY, 1_770_000_000, new_secret())


@asynccontextmanager
async def posting(allow: AllowedNetworks = DEVELOPMENT, **options: Any) -> AsyncIterator[Poster]:
    poster = Poster(allow, **({"connections": 10, "timeout_s": 5.0} | options))
    try:
        yield poster
    finally:
        await poster.close()


def head(status: int = 200, *lines: str) -> bytes:
    return "\r\n".join([f"HTTP/1.1 {status} x", *lines, "", ""]).encode("latin-1")
