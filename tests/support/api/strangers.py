"""Sends what anybody can send who reaches the port: octets on sockets, without a client library
that would put them right.
"""

import json
import socket
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from itertools import chain, repeat
from typing import Any, NamedTuple
from urllib.parse import urlsplit

WITHIN_S = 20.0
PIECE = b"y" * 65_536
GET = b"GET /api/v1/balance HTTP/1.1\r\nHost: heliograph\r\n"
POST = b"POST /api/v1/sms/send HTTP/1.1\r\nHost: heliograph\r\nContent-Type: application/json\r\n"
CHUNKED = POST + b"Transfer-Encoding: chunked\r\n"

FLOODS: dict[str, tuple[bytes, bytes]] = {  # what stands once, and what comes again and again
    "fields": (GET, b"x: " + PIECE + b"\r\n"),
    "small fields": (GET, b"x: y\r\n" * 10_000),
    "one field": (GET + b"x: ", PIECE),
    "a name": (GET, PIECE),
    "a URL": (b"GET /", PIECE),
    "empty lines": (b"", b"\r\n" * 32_768),
    "spaces": (b"GET ", b" " * 65_536),
    "trailer fields": (
        CHUNKED + b"Authorization: Bearer KEY\r\n\r\n2\r\n{}\r\n0\r\n",
        b"x: " + PIECE + b"\r\n",
    ),
    "one trailer field": (CHUNKED + b"Authorization: Bearer KEY\r\n\r\n2\r\n{}\r\n0\r\nx: ", PIECE),
    "a chunk's extension": (CHUNKED + b"Authorization: Bearer KEY\r\n\r\n2;", PIECE),
    "requests, whose answers nobody reads": (
        b"",
        b"GET /healthz HTTP/1.1\r\nHost: heliograph\r\nX-Any: %b\r\n\r\n" % (b"y" * 60) * 700,
    ),
    "requests of few octets": (b"", b"GET / HTTP/1.1\r\n\r\n" * 3_000),
}


class Told(NamedTuple):
    """Holds one answer, and says whether the connection has ended after it."""

    status: int
    body: dict[str, Any]
    connection: str | None
    closed: bool

    @property
    def reason(self) -> str | None:
        error: dict[str, str] = self.body.get("error", {})
        return error.get("reason")


def connected(url: str, source: str = "127.0.0.1", within_s: float = WITHIN_S) -> socket.socket:
    address = urlsplit(url)
    return socket.create_connection(
        (str(address.hostname), int(address.port or 0)),
        timeout=within_s,
        source_address=(source, 0),
    )


def told(connection: socket.socket, *, ends: bool = True) -> Told:
    """Returns the next answer. With `ends`, it waits for the connection's end after it."""
    head = b""
    while not head.endswith(b"\r\n\r\n"):
        octet = connection.recv(1)
        assert octet, f"the connection ended after {head!r}"
        head += octet
    status, *lines = head.decode().strip().split("\r\n")
    headers = {
        name.lower(): value.strip() for name, _, value in (line.partition(":") for line in lines)
    }
    body, closed = b"", False
    while len(body) < int(headers["content-length"]):
        body += connection.recv(int(headers["content-length"]) - len(body))
    if ends:
        with suppress(ConnectionResetError, BrokenPipeError):
            while connection.recv(65_536):
                pass
        closed = True
    return Told(
        int(status.split()[1]),
        json.loads(body) if body[:1] == b"{" else {},
        headers.get("connection"),
        closed,
    )


def asked(url: str, octets: bytes, *, ends: bool = True, source: str = "127.0.0.1") -> Told:
    """Returns what these octets are answered, on a connection of their own."""
    with connected(url, source) as connection:
        connection.sendall(octets)
        return told(connection, ends=ends)


class Flooded(NamedTuple):
    """Says how many octets went out, and how the other side ended it: with an answer's first line,
    or nothing.
    """

    octets: int
    answer: bytes
    ended: bool


def flood(url: str, kind: str, octets: int, within_s: float, key: str) -> Flooded:
    """Sends one of FLOODS until so many octets are out, or the other side has ended it, or
    time is up.
    """
    first, again = (part.replace(b"KEY", key.encode()) for part in FLOODS[kind])
    sent, until_s, ended = 0, time.monotonic() + within_s, False
    with connected(url, within_s=2) as connection:
        try:
            for part in chain([first], repeat(again)):
                connection.sendall(part)
                sent += len(part)
                if sent >= octets or time.monotonic() > until_s:
                    break
        except TimeoutError:
            pass  # nobody reads any more: it holds itself up
        except OSError:
            ended = True
        answer = b""
        with suppress(OSError):
            answer = connection.recv(65_536).partition(b"\r\n")[0]
    return Flooded(sent, answer, ended)


@contextmanager
def idle(url: str, count: int, source: str = "127.0.0.1") -> Iterator[list[socket.socket]]:
    """Opens so many connections that ask nothing. Those that the other side ends are not made
    anew.
    """
    made: list[socket.socket] = []
    try:
        made.extend(connected(url, source) for _ in range(count))
        yield made
    finally:
        for connection in made:
            connection.close()


def still_open(connections: list[socket.socket]) -> int:
    """Returns how many the other side has left open."""
    found = 0
    for connection in connections:
        connection.setblocking(False)
        try:
            found += connection.recv(1, socket.MSG_PEEK) != b""
        except BlockingIOError:
            found += 1
        except OSError:
            pass
    return found
