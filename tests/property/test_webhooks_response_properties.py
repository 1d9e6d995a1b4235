"""An answer is read alike however it is cut into pieces, as the standard library reads it,
and never costs more than its bounds.
"""

import http.client
import io
from itertools import pairwise
from typing import NamedTuple

from hypothesis import example, given
from hypothesis import strategies as st

from heliograph.webhooks.http.http_response import (
    HEADS_MAX,
    INTERIM_MAX,
    KEPT_MAX,
    PIECES_MAX,
    READ_MAX,
    BadResponse,
    ResponseReader,
)

BODIES = st.binary(max_size=3_000)
STATUSES = st.sampled_from([200, 201, 204, 299, 302, 304, 404, 410, 500, 503])
FRAGMENTS = st.sampled_from(
    [
        b"HTTP/1.1 200 OK",
        b"HTTP/1.1 100 Continue",
        b"HTTP/1.0 204 x",
        b"\r\n",
        b"\n",
        b"\r",
        b" ",
        b":",
        b";",
        b"Content-Length: ",
        b"Content-Length: 3",
        b"Transfer-Encoding: chunked",
        b"Connection: close",
        b"Retry-After: 5",
        b"0",
        b"1",
        b"ff",
        b"x",
        b"\0",
        b"\r\n\r\n",
        b"x: y\r\n",
    ]
)
HOSTILE = st.lists(FRAGMENTS | st.binary(max_size=4), max_size=40).map(b"".join)


class Read(NamedTuple):
    status: int
    text: str
    retry_after: str | None
    done: bool
    may_keep: bool


def read(data: bytes, cuts: list[int], *, ends: bool) -> Read | None:
    """Returns what was read; None if it is no answer."""
    reader, places = (
        ResponseReader(),
        sorted({min(cut, len(data)) for cut in cuts} | {0, len(data)}),
    )
    try:
        for begin, end in pairwise(places):
            reader.feed(data[begin:end])
    except BadResponse:
        return None
    if ends:
        reader.ended()
    return Read(reader.status, reader.text, reader.retry_after, reader.done, reader.may_keep)


class _Socket:
    def __init__(self, data: bytes) -> None:
        self._data = data

    def makefile(self, mode: str) -> io.BytesIO:
        return io.BytesIO(self._data)


def framed(status: int, body: bytes, framing: str, chunk: int, trailers: bool) -> bytes:
    lines = [f"HTTP/1.1 {status} x", "Retry-After: 12", "X-A: b:c"]
    if framing == "length":
        lines.append(f"Content-Length: {len(body)}")
    elif framing == "chunks":
        lines.append("Transfer-Encoding: chunked")
        pieces = [body[at : at + chunk] for at in range(0, len(body), chunk)]
        body = (
            b"".join(b"%x;e=1\r\n%s\r\n" % (len(piece), piece) for piece in pieces)
            + b"0\r\n"
            + b"T: u\r\n" * trailers
            + b"\r\n"
        )
    head = "\r\n".join([*lines, "", ""]).encode()
    return head if status in (204, 304) else head + body


@given(
    STATUSES,
    BODIES,
    st.sampled_from(["length", "chunks", "end"]),
    st.integers(20, 500),
    st.booleans(),
    st.integers(0, INTERIM_MAX),
    st.lists(st.integers(0, 8_000), max_size=30),
)
def test_an_answer_is_what_the_standard_library_reads_in_any_pieces(
    status: int,
    body: bytes,
    framing: str,
    chunk: int,
    trailers: bool,
    interim: int,
    cuts: list[int],
) -> None:
    data = b"HTTP/1.1 103 Early Hints\r\nLink: <x>\r\n\r\n" * interim + framed(
        status, body, framing, chunk, trailers
    )
    expected, library = (
        "",
        http.client.HTTPResponse(
            # It asks its socket for a file only.
            _Socket(framed(status, body, framing, chunk, trailers)),  # type: ignore[arg-type]
            method="POST",
        ),
    )
    library.begin()
    if status not in (204, 304):  # which it would read chunks of
        expected = (
            library.read()[:KEPT_MAX]
            .decode("utf-8", "replace")
            .replace("\0", "\N{REPLACEMENT CHARACTER}")
        )
    whole = framing != "end" or status in (204, 304)
    assert read(data, cuts, ends=True) == Read(
        library.status, expected, "12", done=True, may_keep=whole
    )


@given(
    STATUSES,
    BODIES,
    st.sampled_from(["length", "chunks"]),
    st.binary(min_size=1, max_size=50),
    st.lists(st.integers(0, 8_000), max_size=5),
)
def test_what_stands_behind_an_answer_is_not_read_and_ends_the_connection(
    status: int, body: bytes, framing: str, behind: bytes, cuts: list[int]
) -> None:
    answer = framed(status, body, framing, 200, trailers=False)
    alone, followed = read(answer, cuts, ends=False), read(answer + behind, cuts, ends=False)
    assert alone is not None
    assert alone.done
    assert alone.may_keep
    assert followed == alone._replace(may_keep=False)


@given(HOSTILE, st.lists(st.integers(0, 200), max_size=20))
@example(b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n" * 3, [])
@example(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n1\r\nx\r", [30])
def test_whatever_comes_is_read_alike_in_any_pieces(data: bytes, cuts: list[int]) -> None:
    at_once, in_pieces = read(data, [], ends=True), read(data, cuts, ends=True)
    if at_once is None or not at_once.done:
        assert in_pieces in (None, at_once)
        if at_once is not None:
            assert in_pieces == at_once
    else:
        assert in_pieces == at_once


@given(
    HOSTILE.filter(bool),
    st.sampled_from(
        [b"", b"HTTP/1.1 200 OK\r\n", b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"]
    ),
    st.integers(1, 5_000),
)
@example(b"HTTP/1.1 100 x\r\n\r\n", b"", 5_000)
@example(b"a: b\r\n", b"HTTP/1.1 200 OK\r\n", 1)
@example(b"1\r\nx\r\n", b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n", 5_000)
def test_what_is_repeated_without_end_ends(again: bytes, begin: bytes, octets: int) -> None:
    reader, fed, piece = ResponseReader(), 0, (again * (octets // len(again) + 1))
    try:
        reader.feed(begin)
        while not reader.done:
            reader.feed(piece)
            fed += len(piece)
            assert fed <= HEADS_MAX + READ_MAX + 2 * len(piece), "it goes on"
            assert len(reader._buffer) <= HEADS_MAX
    except BadResponse:
        return
    assert 0 < reader.status < 1_000
    assert len(reader.text) <= KEPT_MAX


def test_what_arrives_in_too_many_pieces_ends_too() -> None:
    reader = ResponseReader()
    reader.feed(b"HTTP/1.1 200 OK\r\n\r\n")
    for _ in range(PIECES_MAX):
        reader.feed(b"x")
    assert reader.done
    assert not reader.may_keep
