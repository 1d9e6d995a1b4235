"""An answered request leaves nothing behind that only the garbage collector finds."""

import asyncio
import gc
import socket
from pathlib import Path

import pytest
from uvicorn.protocols.http.httptools_impl import RequestResponseCycle

from tests.support.api.listening import served
from tests.support.factories import awaited

REQUESTS = 50
READ_OCTETS = 65_536
SECONDS_MAX = 10.0


def _ask(address: tuple[str, int], key: str) -> tuple[bytes, int]:
    """Asks again and again over one connection. It returns the last answer, and how many requests
    are still in memory.
    """
    request = (
        f"GET /api/v1/balance HTTP/1.1\r\nHost: heliograph\r\nAuthorization: Bearer {key}\r\n\r\n"
    ).encode()
    with socket.create_connection(address, timeout=SECONDS_MAX) as client:
        for _ in range(REQUESTS):
            client.sendall(request)
            said = client.recv(READ_OCTETS)
        held = sum(type(thing) is RequestResponseCycle for thing in gc.get_objects())
    return said, held


@pytest.mark.parametrize("has_key", [True, False])
@awaited
async def test_requests_of_one_connection_are_forgotten_one_after_the_other(
    sqlite_url: str, tmp_path: Path, has_key: bool
) -> None:
    async with served(sqlite_url, tmp_path) as (_, address, key):
        gc.collect()
        gc.disable()
        try:
            said, held = await asyncio.to_thread(_ask, address, key if has_key else "none")
        finally:
            gc.enable()
    assert said.startswith(b"HTTP/1.1 200 " if has_key else b"HTTP/1.1 401 ")
    assert held <= 2  # the last one, and one whose answer has just been taken
