"""Each body that comes slowly has a limit, and those that are still coming when the process ends
are answered.
"""

import asyncio
import json
import socket
import time
from contextlib import suppress
from http.client import HTTPResponse
from pathlib import Path
from typing import Any

import pytest

from heliograph.api import shutdown
from heliograph.api.connection import connections, timeouts
from tests.support.api.listening import served
from tests.support.factories import awaited

WITHIN_S = 10.0
HEAD = (
    "POST /api/v1/sms/send HTTP/1.1\r\nHost: heliograph\r\nAuthorization: Bearer"
    " {key}\r\nContent-Type: application/json\r\nContent-Length: {length}\r\n\r\n"
)


def trickled(
    address: tuple[str, int], key: str
) -> tuple[int, dict[str, Any], str | None, str | None]:
    """Returns what is answered to a body that comes an octet at a time: status, body, Retry-After,
    Connection. Then the connection ends.
    """
    with socket.create_connection(address, timeout=0.05) as client:
        client.sendall(HEAD.format(key=key, length=100_000).encode())
        until_s = time.monotonic() + WITHIN_S
        said = b""
        while time.monotonic() < until_s and not said:
            with suppress(TimeoutError):
                client.sendall(b" ")
                said = client.recv(1, socket.MSG_PEEK)
        client.settimeout(WITHIN_S)
        answered = HTTPResponse(client)
        answered.begin()
        body = json.loads(answered.read())
        with suppress(ConnectionResetError):
            assert client.recv(1) == b""
        return (
            answered.status,
            body,
            answered.getheader("Retry-After"),
            answered.getheader("Connection"),
        )


@awaited
async def test_a_body_has_so_long_to_come_whole(
    database_url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(timeouts, "BODY_S", 0.3)
    monkeypatch.setattr(connections, "LOOK_S", 0.1)
    async with served(database_url, tmp_path) as (_, address, key):
        for _ in range(2):
            status, body, _, connection = await asyncio.to_thread(trickled, address, key)
            assert (status, body["error"]["code"], body["error"]["reason"], connection) == (
                400,
                "INVALID_REQUEST",
                "body_too_slow",
                "close",
            )
            assert body["error"]["message"] == "The body did not come whole within 0.3 s."
            await asyncio.sleep(0.3)


@awaited
async def test_each_body_has_its_own_time(
    database_url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(timeouts, "BODY_S", 0.8)
    monkeypatch.setattr(connections, "LOOK_S", 0.05)
    async with served(database_url, tmp_path) as (_, address, key):

        async def send(pieces: int, every_s: float) -> tuple[int, float]:
            """Returns what a body of ten pieces is answered, of which so many come; and after how
            long.
            """
            reader, writer = await asyncio.open_connection(*address)
            began_s = time.monotonic()
            writer.write(HEAD.format(key=key, length=10).encode())
            for _ in range(pieces):
                writer.write(b"{")
                await asyncio.sleep(every_s)
            status = int((await reader.readline()).split()[1])
            writer.close()
            return status, time.monotonic() - began_s

        (slow, slow_s), (quick, quick_s), (never, never_s) = await asyncio.gather(
            send(3, 0.1), send(10, 0.01), send(0, 0.0)
        )
    assert (slow, quick, never) == (400, 400, 400)
    assert quick_s < 0.8 <= min(slow_s, never_s)


@awaited
async def test_who_is_still_sending_a_body_at_the_end_is_told_to_go_elsewhere(
    database_url: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
) -> None:
    monkeypatch.setattr(shutdown, "SHUTDOWN_S", 1)
    async with served(database_url, tmp_path) as (server, address, key):
        asking = asyncio.create_task(asyncio.to_thread(trickled, address, key))
        await asyncio.sleep(0.3)
        server.stop()
        status, body, retry_after, _ = await asking
    assert (status, body["error"]["code"], body["success"], retry_after) == (
        503,
        "UNAVAILABLE",
        False,
        "1",
    )
    assert "Exception in ASGI application" not in caplog.text
