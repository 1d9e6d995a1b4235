"""Strangers send heads, trailers and requests ahead of their turn to a real server, octet
by octet.
"""

import json
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor

import pytest

from heliograph.api.connection.heads import FIELDS_MAX, HEADERS_OCTETS_MAX, URL_OCTETS_MAX
from heliograph.api.connection.protocol import PIPELINED_MAX
from tests.support import plain_http
from tests.support.api.server import Server, serving
from tests.support.api.service import contract
from tests.support.api.strangers import (
    CHUNKED,
    FLOODS,
    GET,
    POST,
    asked,
    connected,
    flood,
    told,
)
from tests.support.memory import peak_mb

BODY = json.dumps(
    {"sender": "AMINA", "message": "hello", "recipients": ["233201234567"], "dry_run": True}
).encode()
URL = b"/" + b"u" * (URL_OCTETS_MAX - 1)
FLOOD_OCTETS = 100_000_000
FLOOD_S = 6.0
GROWTH_MAX_MB = 24.0  # of all floods at once
ANSWERS = {
    "a URL": b"HTTP/1.1 414 ",
    "empty lines": b"HTTP/1.1 400 ",
    "requests of few octets": b"HTTP/1.1 307 ",
    "requests, whose answers nobody reads": b"HTTP/1.1 200 ",
}


@pytest.fixture(scope="module")
def server(
    new_database: Callable[[str], str], tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Server]:
    with serving(new_database("sqlite"), tmp_path_factory.mktemp("server")) as server:
        yield server


def chunked(key: str, trailer: bytes, head: bytes = b"") -> bytes:
    return (
        CHUNKED
        + head
        + b"\r\n%x\r\n%b\r\n0\r\n%b\r\n" % (len(BODY), BODY, trailer.replace(b"KEY", key.encode()))
    )


def test_a_trailer_is_no_header_whatever_its_name(server: Server) -> None:
    key = server.cast.amina.key()
    right = b"Authorization: Bearer %b\r\n" % key.encode()
    refused = asked(server.url, chunked(key, b"Authorization: Bearer KEY\r\n"), ends=False)
    assert (refused.status, refused.reason) == (401, "missing_key")
    for trailer in (
        b"Authorization: Bearer wrong\r\n",
        b"Content-Type: text/plain\r\n",
        b"Idempotency-Key: \r\n",
        b"Upgrade: websocket\r\n",
        b"Expect: 100-continue\r\n",
        b"Host: elsewhere\r\n",
        b"X-Forwarded-For: 192.0.2.1\r\n" * 50,
    ):
        answer = asked(server.url, chunked(key, trailer, right), ends=False)
        assert (answer.status, answer.body.get("success")) == (200, True), trailer
    page = (
        b"GET /metrics HTTP/1.1\r\nHost: 127.0.0.1\r\nX-Forwarded-For:"
        b" 192.0.2.1\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n%b\r\n"
    )
    for trailer in (b"X-Forwarded-For: 127.0.0.1\r\n", b"Authorization: Bearer \r\n", b""):
        assert asked(server.url, page % trailer, ends=False).status == 403


def of(octets: int) -> bytes:
    """Returns fields that have so many octets in all, as they are counted."""
    rest = octets - len(b"Host") - len(b"heliograph") - 4
    return b"x: " + b"y" * (rest - len(b"x") - 4) + b"\r\n"


def test_a_head_has_its_limits(server: Server) -> None:
    fields = b"".join(b"x-%d: y\r\n" % number for number in range(FIELDS_MAX - 1))
    many = b"x:y\r\n" * 900
    long = b"GET %b HTTP/1.1\r\nHost: heliograph\r\n"
    told_of = {
        "as many fields as may be": (GET + fields, 401, "missing_key"),
        "one more": (GET + fields + b"x: y\r\n", 431, "headers_too_large"),
        "all in one packet": (GET + many[:3_000], 431, "headers_too_large"),
        "as many octets as may be": (GET + of(HEADERS_OCTETS_MAX), 401, "missing_key"),
        "one octet more": (GET + of(HEADERS_OCTETS_MAX + 1), 431, "headers_too_large"),
        "as long a URL as may be": (long % URL, 404, "no_such_path"),
        "one octet longer": (long % (URL + b"u"), 414, "url_too_long"),
        "both at their limits": (long % URL + of(HEADERS_OCTETS_MAX), 404, "no_such_path"),
        "a fragment": (b"GET /metrics#x HTTP/1.1\r\nHost: 127.0.0.1\r\n", 400, "invalid_http"),
    }
    for what, (head, status, reason) in told_of.items():
        refused = status in (400, 414, 431)
        answer = asked(server.url, head + b"\r\n", ends=refused)
        assert (answer.status, answer.reason) == (status, reason), what
        assert contract().is_error(answer.body), what
        assert (answer.connection == "close", answer.closed) == (refused, refused), what


def test_a_head_that_comes_octet_by_octet_is_judged_as_one_that_comes_at_once(
    server: Server,
) -> None:
    with connected(server.url) as connection:
        for octet in GET + b"x: y\r\n" * 20 + b"\r\n":
            connection.sendall(bytes([octet]))
        assert told(connection, ends=False).reason == "missing_key"
    with connected(server.url) as connection:
        for start in range(0, 60_000, 1_000):
            connection.sendall((GET + of(59_000))[start : start + 1_000])
        assert (told(connection).status) == 431


def test_what_never_ends_is_refused_and_takes_no_memory(server: Server) -> None:
    key = server.cast.amina.key()
    assert asked(server.url, GET + of(HEADERS_OCTETS_MAX) + b"\r\n", ends=False).status == 401
    before_mb = peak_mb(server.process_id)
    with (
        ThreadPoolExecutor(len(FLOODS)) as threads,
        plain_http.new_client(
            base_url=server.url, headers={"Authorization": f"Bearer {key}"}
        ) as other,
    ):
        flooding = {
            kind: threads.submit(flood, server.url, kind, FLOOD_OCTETS, FLOOD_S, key)
            for kind in FLOODS
        }
        answered = []
        while not all(each.done() for each in flooding.values()):
            answered.append(other.get("/api/v1/balance", timeout=10))
    grown_mb = peak_mb(server.process_id) - before_mb
    found = {kind: each.result() for kind, each in flooding.items()}
    assert {each.status_code for each in answered} == {200}
    assert grown_mb < GROWTH_MAX_MB
    for kind, flooded in found.items():
        assert flooded.answer.startswith(ANSWERS.get(kind, b"HTTP/1.1 431 ")) or (
            flooded.ended and not flooded.answer
        ), kind


def test_each_request_gets_its_own_answer_and_the_refused_one_the_last(server: Server) -> None:
    post = POST + b"Authorization: Bearer %b\r\nContent-Length: %d\r\n\r\n%b" % (
        server.cast.amina.key().encode(),
        len(BODY),
        BODY,
    )
    with connected(server.url) as connection:
        connection.sendall(post * 3 + b"hello\r\n\r\n")
        assert [told(connection, ends=False).status for _ in range(3)] == [200] * 3
        refused = told(connection)
        assert (refused.status, refused.reason, refused.closed) == (400, "invalid_http", True)
    with connected(server.url) as connection:
        connection.sendall(
            b"".join(
                b"GET /%d HTTP/1.1\r\nX-Any: %b\r\n\r\n" % (number, b"y" * 70)
                for number in range(300)
            )
            + post
        )
        assert [told(connection, ends=False).status for _ in range(300)] == [404] * 300
        assert told(connection, ends=False).status == 200
    with connected(server.url) as connection:
        connection.sendall(b"GET /%61 HTTP/1.1\r\n\r\n" * 180)
        answers = [told(connection, ends=False) for _ in range(PIPELINED_MAX + 2)]
        assert [answer.status for answer in answers] == [404] * (PIPELINED_MAX + 1) + [400]


@pytest.mark.parametrize("first", [20, 149, 10_000])
def test_a_wish_for_another_protocol_changes_nothing_for_what_follows(
    server: Server, first: int
) -> None:
    wish = b"Connection: Upgrade\r\nUpgrade: h2c\r\nHTTP2-Settings: AAMAAABkAARAAAAAAAIAAAAA\r\n"
    octets = (
        GET
        + wish
        + b"\r\n"
        + GET
        + b"\r\n"
        + POST
        + wish
        + b"Content-Length: 2\r\n\r\n{}"
        + GET
        + b"\r\n"
    )
    with connected(server.url) as connection:
        connection.sendall(octets[:first])
        connection.sendall(octets[first:])
        assert [told(connection, ends=False).reason for _ in range(4)] == ["missing_key"] * 4
