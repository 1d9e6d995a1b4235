"""Bodies come over the wire in chunks of one octet, or are sent on after the answer: no request
holds the event loop, and no client loses its answer.
"""

import asyncio
import json
import socket
import time
from contextlib import suppress
from pathlib import Path

import pytest

from heliograph.api.bodies import OCTETS_MAX, PIECES_MAX
from heliograph.api.connection import timeouts
from tests.support.api.held import little_garbage, looked
from tests.support.api.listening import served
from tests.support.factories import awaited

HELD_S_MAX = 0.020
TRIES = 5  # the least of them counts, as in tests/api/http/test_heavy_bodies.py
WITHIN_S = 10.0
POST = b"POST /api/v1/sms/send HTTP/1.1\r\nHost: heliograph\r\nContent-Type: application/json\r\n"
PIECE_OCTETS = 64 * 1024
ENDLESS_OCTETS = 64 * 1024 * 1024


def in_chunks_of_one(body: bytes) -> bytes:
    return b"".join(b"1\r\n%c\r\n" % octet for octet in body) + b"0\r\n\r\n"


def in_chunks_of_values(recipients: list[str]) -> bytes:
    """Returns the body as a client sends it that writes each value as it comes."""
    parts = json.JSONEncoder().iterencode(
        {"sender": "AMINA", "message": "hello", "dry_run": True, "recipients": recipients}
    )
    return b"".join(b"%x\r\n%b\r\n" % (len(part), part.encode()) for part in parts) + b"0\r\n\r\n"


def answered(address: tuple[str, int], octets: bytes) -> bytes:
    """Returns what a client reads that sends all before it reads: b"" when it was cut off in the
    middle.
    """
    with socket.create_connection(address, timeout=WITHIN_S) as client, suppress(ConnectionError):
        client.sendall(octets)
        answer = b""
        while b'"request_id"' not in answer and (part := client.recv(65_536)):
            answer += part
        return answer
    return b""


@awaited
async def test_a_body_in_chunks_of_one_octet_does_not_hold_the_loop(
    sqlite_url: str, tmp_path: Path
) -> None:
    async with served(sqlite_url, tmp_path) as (_, address, key):
        with_key = POST + b"Authorization: Bearer %b\r\n" % key.encode()
        small = in_chunks_of_one(b'{"sender":"x","message":"%b"}' % (b"y" * (OCTETS_MAX - 100)))
        values = in_chunks_of_values([f"233201{number:06d}" for number in range(10_000)])
        with little_garbage():
            for head, body, status, said in (
                (with_key, small, b"400", f"{PIECES_MAX:,} pieces".encode()),
                (POST, small, b"401", b"missing_key"),
                (with_key, values, b"400", b"no_route"),
            ):
                tries: list[float] = []
                while len(tries) < TRIES and not (tries and min(tries) <= HELD_S_MAX):
                    octets = head + b"Transfer-Encoding: chunked\r\n\r\n" + body
                    answer, seconds = await looked(asyncio.to_thread(answered, address, octets))
                    # it may be cut off while it sends
                    assert not answer or (answer.split()[1], said in answer) == (status, True), (
                        answer
                    )
                    tries.append(seconds)
                assert min(tries) <= HELD_S_MAX, (
                    f"{said.decode()}: {[f'{seconds * 1_000:.1f} ms' for seconds in tries]}"
                )


def answered_early(address: tuple[str, int], head: bytes, body: bytes) -> bytes:
    """Returns the status that a client is told that sends most of its body after the answer, and
    after its end if the connection is to be closed.
    """
    with socket.create_connection(address, timeout=WITHIN_S) as client:
        client.sendall(head + body[:PIECE_OCTETS])
        answer = client.recv(65_536)
        while b"Connection: close" in head and (part := client.recv(65_536)):
            answer += part
        for start in range(PIECE_OCTETS, len(body), PIECE_OCTETS):
            client.sendall(body[start : start + PIECE_OCTETS])
    return answer.split()[1]


@awaited
async def test_an_answer_that_comes_early_reaches_a_client_that_sends_on(
    sqlite_url: str, tmp_path: Path
) -> None:
    async with served(sqlite_url, tmp_path) as (_, address, key):
        with_key = POST + b"Authorization: Bearer %b\r\n" % key.encode()
        for close in (b"Connection: close\r\n", b""):
            for head, length, status in (
                (POST, 900_000, b"401"),
                (POST, 2_000_000, b"401"),
                (with_key, 2_000_000, b"413"),
            ):
                head += b"Content-Length: %d\r\n%b\r\n" % (length, close)
                assert (
                    await asyncio.to_thread(answered_early, address, head, b" " * length) == status
                ), (close, length)


@awaited
async def test_who_sends_on_without_end_after_its_answer_is_left(
    sqlite_url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(timeouts, "LINGER_S", 0.2)

    def send_on(address: tuple[str, int]) -> tuple[bytes, int]:
        with socket.create_connection(address, timeout=WITHIN_S) as client:
            client.sendall(POST + b"Transfer-Encoding: chunked\r\n\r\n")
            answer, sent, until_s = client.recv(12), 0, time.monotonic() + WITHIN_S
            with suppress(ConnectionError):
                while sent < ENDLESS_OCTETS and time.monotonic() < until_s:
                    client.sendall(b"10000\r\n%b\r\n" % (b"y" * 65_536))
                    sent += 65_536
        return answer, sent

    async with served(sqlite_url, tmp_path) as (_, address, _key):
        answer, sent = await asyncio.to_thread(send_on, address)
    assert (answer, sent < ENDLESS_OCTETS // 2) == (b"HTTP/1.1 401", True)
