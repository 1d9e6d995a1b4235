"""A connection is closed in its time when it brings nothing, or brings it slowly, or does not take
what it asked for.
"""

import asyncio
import json
import time
from collections.abc import Iterable
from contextlib import suppress
from itertools import product, repeat
from pathlib import Path

import pytest
from structlog.testing import capture_logs

from heliograph.api.connection import connections as connected
from heliograph.api.connection import protocol, timeouts
from heliograph.api.shutdown import Server
from heliograph.base import metrics
from heliograph.base.addresses import network_of
from tests.support.api.listening import served
from tests.support.factories import awaited

GET = b"GET /api/v1/balance HTTP/1.1\r\nHost: heliograph\r\n"
SOON_S = 8.0


@pytest.fixture(autouse=True)
def _soon(monkeypatch: pytest.MonkeyPatch) -> None:
    for limit, seconds in (
        ("FIRST_S", 0.4),
        ("HEAD_S", 0.4),
        ("BODY_S", 0.4),
        ("KEEP_ALIVE_S", 0.8),
        ("UNREAD_S", 0.4),
        ("LINGER_S", 0.4),
    ):
        monkeypatch.setattr(timeouts, limit, seconds)
    monkeypatch.setattr(connected, "LOOK_S", 0.05)


def closed(why: str) -> float:
    return float(metrics.CONNECTIONS_CLOSED.labels(why)._value.get())


async def ended(
    address: tuple[str, int], first: bytes, more: Iterable[bytes] = ()
) -> tuple[bytes, float]:
    """Returns what is answered to the octets of `first` and, one every 50 ms, those of `more`; and
    after how many seconds the connection ended.
    """
    reader, writer = await asyncio.open_connection(*address)
    began_s = time.monotonic()

    async def go_on() -> None:
        with suppress(ConnectionError):
            for part in more:
                await asyncio.sleep(0.05)
                writer.write(part)
                await writer.drain()

    writer.write(first)
    going_on = asyncio.create_task(go_on())
    answer = b""
    async with asyncio.timeout(SOON_S):
        with suppress(ConnectionError):
            while part := await reader.read(65_536):
                answer += part
    going_on.cancel()
    await asyncio.gather(going_on, return_exceptions=True)
    writer.close()
    return answer, time.monotonic() - began_s


@awaited
async def test_each_part_of_a_request_has_its_time(sqlite_url: str, tmp_path: Path) -> None:
    async with served(sqlite_url, tmp_path) as (_, address, key):
        before = {why: closed(why) for why in ("no_request", "idle", "slow_headers", "slow_body")}
        chunked = b"POST /api/v1/sms/send HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n"
        with_key = b"Authorization: Bearer %b\r\n" % key.encode()
        nothing, lines, head, slow_head, ignored, extension, trailer, idle = await asyncio.gather(
            ended(address, b""),
            ended(address, b"", repeat(b"\r\n")),
            ended(address, GET),
            ended(address, GET, repeat(b"x: y\r\n")),
            # it has its answer long before
            ended(address, chunked + b"\r\n", repeat(b"1\r\nx\r\n")),
            ended(address, chunked + with_key + b"\r\n1;", repeat(b"x")),
            ended(address, chunked + with_key + b"\r\n2\r\n{}\r\n0\r\n", repeat(b"x: y\r\n")),
            ended(address, GET + b"\r\n"),
        )
        for answer, after_s in (nothing, lines):
            assert (answer, after_s >= 0.4) == (b"", True)
        for answer, after_s in (head, slow_head):
            assert answer.startswith(b"HTTP/1.1 400 ")
            assert (
                json.loads(answer.partition(b"\r\n\r\n")[2])["error"]["reason"]
                == "headers_too_slow"
            )
            assert after_s >= 0.4
        assert ignored[0].count(b"HTTP/1.1") == 1
        assert b"missing_key" in ignored[0]
        for answer, _ in (extension, trailer):
            assert answer.startswith(b"HTTP/1.1 400 ")
            assert b"body_too_slow" in answer
        assert (idle[0].startswith(b"HTTP/1.1 401 "), idle[1] >= 0.8) == (True, True)
        assert {why: closed(why) - before[why] for why in before} == {
            "no_request": 2,
            "idle": 1,
            "slow_headers": 2,
            "slow_body": 3,
        }


def framings(key: bytes) -> list[tuple[bytes, ...]]:
    """Returns requests with a key and an odd framing, each followed by one more request: in one
    packet, and in one for the head and one for what follows.
    """
    every = product(
        (b"", b"0", b"00", b"+0", b"002"),
        (b"", b"chunked", b"foo"),
        (b"", b"Connection: upgrade\r\nUpgrade: x\r\n"),
        (b"", b"Expect: 100-continue\r\n"),
    )
    found = []
    for length, coding, wish, expects in every:
        fields = b"".join(
            b"%b: %b\r\n" % field
            for field in ((b"Content-Length", length), (b"Transfer-Encoding", coding))
            if field[1]
        )
        head = (
            b"POST /api/v1/sms/send HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer %b\r\n%b%b%b\r\n"
            % (key, fields, wish, expects)
        )
        rest = (
            (b"0\r\n\r\n" if coding == b"chunked" else b"{}" if length == b"002" else b"")
            + GET
            + b"\r\n"
        )
        found += [(head + rest,), (head, rest)]
    return found


@awaited
async def test_whatever_its_framing_a_request_is_answered_and_its_connection_ends(
    sqlite_url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for limit in ("FIRST_S", "HEAD_S", "BODY_S", "KEEP_ALIVE_S"):
        monkeypatch.setattr(timeouts, limit, 2.0)  # these are many clients at once
    async with served(sqlite_url, tmp_path) as (_, address, key):
        every = framings(key.encode())
        answers = await asyncio.gather(*(ended(address, parts[0], parts[1:]) for parts in every))
    assert [
        parts
        for parts, (answer, _) in zip(every, answers, strict=True)
        if not answer.startswith(b"HTTP/1.1 ")
    ] == []
    well_framed = [
        answer
        for parts, (answer, _) in zip(every, answers, strict=True)
        if b"invalid_http" not in answer
    ]
    assert len(well_framed) == 2 * 2 * 2 * 5  # no framing, `0`, `00`, `002`, chunked
    for answer in well_framed:
        assert (
            answer.count(b"invalid_json") + answer.count(b"invalid_field"),
            answer.count(b"missing_key"),
        ) == (1, 1), answer


class Clients:
    """Holds connections to one address, from whichever of this machine's, and closes them at the
    end.
    """

    def __init__(self, address: tuple[str, int]) -> None:
        self._address = address
        self._writers: list[asyncio.StreamWriter] = []

    async def open(
        self, octets: bytes = b"", source: str = "127.0.0.1"
    ) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
        reader, writer = await asyncio.open_connection(
            *self._address, local_addr=(source, 0), limit=1_024
        )
        self._writers.append(writer)
        writer.write(octets)
        return reader, writer

    async def __aenter__(self) -> "Clients":
        return self

    async def __aexit__(self, *_: object) -> None:
        for writer in self._writers:
            writer.transport.abort()
        await asyncio.sleep(0.05)


# 4 KiB hold fewer than may wait
OPENAPI = b"GET /api/v1/openapi.json HTTP/1.1\r\nHost: heliograph\r\nX-Any: %b\r\n\r\n" % (
    b"y" * 40
)


@awaited
async def test_a_client_that_does_not_take_its_answers_is_left(
    sqlite_url: str, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    async with served(sqlite_url, tmp_path) as (server, address, _), Clients(address) as clients:
        before = closed("unread")
        await clients.open(OPENAPI * 60)  # it reads no more than fits its buffers
        async with asyncio.timeout(SOON_S):
            while (
                closed("unread") == before
                or server.server_state.connections
                or server.server_state.tasks
            ):
                await asyncio.sleep(0.02)
        assert server.server_state.total_requests < 60
    assert "Exception in ASGI application" not in caplog.text


def unread(server: Server) -> list[protocol.Protocol]:
    """Yields the connections whose clients do not take their answers."""
    return [
        each
        for each in server.server_state.connections
        if isinstance(each, protocol.Protocol) and each.flow.write_paused
    ]


@awaited
async def test_who_does_not_take_his_answers_makes_room(
    sqlite_url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(timeouts, "UNREAD_S", 60.0)
    monkeypatch.setattr(connected, "MOST", 8)
    async with served(sqlite_url, tmp_path) as (server, address, _), Clients(address) as clients:
        for number in range(8):
            await clients.open(OPENAPI * 60, f"127.0.0.{2 + number // 2}")
        async with asyncio.timeout(SOON_S):
            while len(unread(server)) < 8:
                await asyncio.sleep(0.02)
            reader, _ = await clients.open(GET + b"\r\n", "127.0.0.9")
            assert (await reader.readline()).startswith(b"HTTP/1.1 401 ")
        assert len(unread(server)) == 7


@awaited
async def test_what_waits_to_be_read_has_a_limit_in_all(
    sqlite_url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(timeouts, "UNREAD_S", 60.0)
    monkeypatch.setattr(connected, "BUFFERED_OCTETS_MAX", 200_000)
    async with served(sqlite_url, tmp_path) as (server, address, key), Clients(address) as clients:
        before = closed("process_limit")
        for _ in range(8):
            await clients.open(OPENAPI * 3_000)
        async with asyncio.timeout(SOON_S):
            while closed("process_limit") - before < 4:
                await asyncio.sleep(0.02)
        held = [
            len(each._buffered)
            for each in server.server_state.connections
            if isinstance(each, protocol.Protocol)
        ]
        assert 0 < sum(held) <= 200_000
        head = (
            b"POST /api/v1/sms/send HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer"
            b" %b\r\nContent-Length: 100000\r\n\r\n" % key.encode()
        )
        first, _ = await clients.open(head + b" " * 99_999)
        async with asyncio.timeout(SOON_S):
            for _ in range(3):
                await clients.open(head + b" " * 99_999)
            assert b"HTTP/1.1" not in await first.read()


@awaited
async def test_who_has_waited_longest_makes_room(
    sqlite_url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(timeouts, "FIRST_S", 60.0)
    monkeypatch.setattr(connected, "MOST", 8)  # and 2 of one address
    monkeypatch.setattr(connected, "TELL_S", 0.5)
    async with served(sqlite_url, tmp_path) as (_, address, _key), Clients(address) as clients:
        with capture_logs() as logs:
            longest, _ = await clients.open()
            for _ in range(3):
                for source in ("127.0.0.1", "127.0.0.2"):
                    reader, _ = await clients.open(GET + b"\r\n", source)
                    assert (await reader.readline()).startswith(b"HTTP/1.1 401 ")
            assert await longest.read() == b""
            async with asyncio.timeout(SOON_S):
                while (
                    len(told := [line for line in logs if line["event"] == "connections_limited"])
                    < 2
                ):
                    await asyncio.sleep(0.02)
    assert [
        (
            line["log_level"],
            line["address_limit"],
            line["most"],
            line["most_of_one"],
            line["client"],
        )
        for line in told
    ] == [("warning", 1, 8, 2, "127.0.0.1"), ("warning", 2, 8, 2, "127.0.0.2")]


@awaited
async def test_while_all_are_at_work_one_more_is_told_so_and_a_proxy_of_ours_has_no_limit(
    sqlite_url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(connected, "MOST", 8)
    monkeypatch.setattr(timeouts, "BODY_S", 60.0)
    async with (
        served(sqlite_url, tmp_path, "127.0.0.3") as (_, address, key),
        Clients(address) as clients,
    ):
        head = (
            b"POST /api/v1/sms/send HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer %b\r\nExpect:"
            b" 100-continue\r\nContent-Length: 2\r\n\r\n" % key.encode()
        )

        async def at_work(source: str) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
            reader, writer = await clients.open(head, source)
            assert await reader.readline() == b"HTTP/1.1 100 Continue\r\n"
            return reader, writer

        await asyncio.gather(*(at_work("127.0.0.2") for _ in range(2)))
        reader, _ = await clients.open(source="127.0.0.2")
        answer = await reader.read()
        assert (
            answer.split()[1],
            b"too_many_connections" in answer,
            b"retry-after: 1" in answer,
        ) == (b"503", True, True)
        by_proxy = await asyncio.gather(*(at_work("127.0.0.3") for _ in range(6)))
        reader, _ = await clients.open(source="127.0.0.4")
        assert b"too_many_connections" in await reader.read()
        for reader, writer in by_proxy:
            writer.write(b"{}")
            assert b"HTTP/1.1 400 Bad Request" in await reader.readuntil(b"content-length")


def test_one_address_is_an_ipv6_network_or_an_ipv4_address() -> None:
    assert network_of("192.0.2.1") == network_of("::ffff:192.0.2.1") == "192.0.2.1"
    assert (
        network_of("2001:db8::1") == network_of("2001:db8::ffff:1") != network_of("2001:db8:0:1::1")
    )
