"""An answer that is written in one piece is the one that uvicorn writes in two."""

import asyncio
import logging
from typing import Any, cast

import pytest
from hypothesis import given
from hypothesis import strategies as st
from uvicorn.protocols.http.flow_control import FlowControl
from uvicorn.protocols.http.httptools_impl import RequestResponseCycle

from heliograph.api.connection.write_response import write_whole_response

DATE = [(b"date", b"Thu, 26 Nov 2026 12:00:00 GMT")]
BREAKS = (b"\r\nset-cookie: a=b", b"\n", b"\r")


class Written:
    """Keeps what is written to a client, and whether its connection is closed then."""

    def __init__(self) -> None:
        self.octets = b""
        self.is_closed = False

    def write(self, octets: bytes) -> None:
        self.octets += octets

    def close(self) -> None:
        self.is_closed = True


class Request:
    """Is a request that has been read and waits for its answer."""

    def __init__(self, method: str = "GET", *, keep_alive: bool = True) -> None:
        self.written = Written()
        self.answered = 0
        transport = cast(asyncio.Transport, self.written)
        log = logging.getLogger(__name__)
        self.cycle = RequestResponseCycle(
            cast(Any, {"type": "http", "method": method}),
            transport,
            FlowControl(transport),
            logger=log,
            access_logger=log,
            access_log=False,
            default_headers=DATE,
            message_event=asyncio.Event(),
            expect_100_continue=False,
            keep_alive=keep_alive,
            on_response=self._count,
        )

    def _count(self) -> None:
        self.answered += 1

    def state(self) -> tuple[object, ...]:
        cycle = self.cycle
        done = cycle.response_started, cycle.response_complete, cycle.message_event.is_set()
        return self.written.octets, self.written.is_closed, self.answered, done


async def in_two(
    cycle: RequestResponseCycle, status: int, headers: list[tuple[bytes, bytes]], body: bytes
) -> None:
    await cycle.send({"type": "http.response.start", "status": status, "headers": headers})
    await cycle.send({"type": "http.response.body", "body": body})


@given(
    st.sampled_from((200, 400, 401, 404, 429, 503)),
    st.sampled_from(("GET", "HEAD", "POST")),
    st.lists(st.binary(max_size=20).filter(lambda value: not set(value) & {*range(0x20), 0x7F})),
    st.binary(max_size=2_000),
    st.booleans(),
)
def test_an_answer_in_one_piece_is_the_one_in_two(
    status: int, method: str, values: list[bytes], body: bytes, keep_alive: bool
) -> None:
    headers = [(b"x-header-%d" % number, value) for number, value in enumerate(values)]
    headers.append((b"content-length", b"%d" % len(body)))
    one, two = (Request(method, keep_alive=keep_alive) for _ in range(2))
    asyncio.run(write_whole_response(one.cycle, status, headers, body))
    asyncio.run(in_two(two.cycle, status, headers, body))
    assert one.state() == two.state()


@pytest.mark.parametrize("line_break", BREAKS)
def test_a_header_with_a_line_break_is_never_written(line_break: bytes) -> None:
    request = Request()
    headers = [(b"allow", b"GET" + line_break), (b"content-length", b"0")]
    with pytest.raises(RuntimeError):
        asyncio.run(write_whole_response(request.cycle, 200, headers, b""))
    assert request.written.octets == b""


def test_nothing_is_written_for_a_client_that_has_gone() -> None:
    request = Request()
    request.cycle.disconnected = True
    asyncio.run(write_whole_response(request.cycle, 200, [(b"content-length", b"0")], b""))
    assert request.state() == (b"", False, 0, (False, False, False))
