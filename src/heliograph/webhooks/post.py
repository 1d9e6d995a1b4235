"""One POST to a stranger's server, which may answer anything, for ever, or not at all: one deadline, one judged connection, little read."""

import asyncio
import os
import socket
import ssl
import time
from collections.abc import Mapping
from functools import lru_cache, partial
from typing import Any, Final, NamedTuple

import aiohttp
from aiohttp.client_proto import ResponseHandler
from aiohttp.connector import Connection
from aiohttp.http import HttpProcessingError
from yarl import URL

from heliograph.base import files
from heliograph.base.errors import InvalidRequest
from heliograph.webhooks.attempt import NO_FILES, Answered, Failed, Reason
from heliograph.webhooks.guard import AddressRefused, Openings, check_url, judged_socket
from heliograph.webhooks.resolve import LookUp, Resolver, of_account, system_look_up

TIMEOUT_S: Final = 15.0  # for all of it: name server, connecting, TLS, answer (contract section 7)
READ_MAX: Final = 64 * 1_024  # octets of an answer
RECEIVED_MAX: Final = 512 * 1_024  # octets off the connection for one answer: what may stand around those, and what was read ahead
KEPT_MAX: Final = 1_024  # octets of it that are kept, to be shown
HEADER_MAX: Final = 8_190  # octets of a line of the answer's head; aiohttp's own limit of lines is HEADERS_MAX
HEADERS_MAX: Final = 128
RETRY_AFTER_MAX: Final = 64  # characters; a date has 29
DETAIL_MAX: Final = 200
IDLE_S: Final = 4.0  # a connection is kept; common servers close theirs after 5 s, and a POST that meets the end is a failure for nothing
DNS_TTL_S: Final = 10
_BUFFER: Final = 16 * 1_024  # twice that is read ahead, then the sender waits
_URLS_KEPT: Final = 4_096
_FINAL, _SWITCHED = 200, 101  # statuses; others below 200 are followed by the answer
_NEVER_ROUNDED: Final = float("inf")  # aiohttp ends what takes longer than its threshold at whole seconds, up to 1 s late


class _Connection(ResponseHandler):
    """A connection, in `connected` while it is one. No more is received on it when an answer brings too much beside what is read of it: sizes of
    chunks, `100 Continue`, without end. What came is still read; when that was not the whole answer, time runs out."""

    _received = 0

    def __init__(self, connected: "set[_Connection]", loop: asyncio.AbstractEventLoop) -> None:
        super().__init__(loop)
        self._of = connected

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        super().connection_made(transport)
        self._of.add(self)

    def connection_lost(self, exc: BaseException | None) -> None:
        self._of.discard(self)
        super().connection_lost(exc)

    def set_response_params(self, **options: Any) -> None:
        self._received = 0
        super().set_response_params(**options)

    def data_received(self, data: bytes) -> None:
        self._received += len(data)
        super().data_received(data)
        self._hold()

    def resume_reading(self, resume_parser: bool = True) -> None:
        super().resume_reading(resume_parser)
        self._hold()

    def _hold(self) -> None:
        if self._received > RECEIVED_MAX and self.transport is not None:
            self.force_close()  # once it is done with
            self.transport.pause_reading()


class Poster:
    """Posts through one pool of connections. To be made in the event loop that it is used in, and closed there; made before there is work, for it
    reads all the system's authorities, which takes from a tenth of a second to a whole one.

    `connections`: at most so many POSTs at once, in all; `per_host`: to one host and port, 0: no limit of its own. A POST that has to wait for one
    does so within its own time, so whoever posts keeps below both. Connections that are kept come on top, half as many at most.
    Nothing is sent twice: a POST that fails has failed, on a connection that was kept too."""

    def __init__(self, allow: Openings, *, connections: int, per_host: int = 0, timeout_s: float = TIMEOUT_S, dns_ttl_s: int = DNS_TTL_S,
                 look_up: LookUp = system_look_up) -> None:
        self._timeout_s = timeout_s
        self._kept_max = connections / 2
        self._connected: set[_Connection] = set()
        self._ran_out_s = 0.0  # perf_counter: when no socket could be made
        self._connecting = aiohttp.ClientTimeout(total=None, sock_connect=None)  # within the one deadline
        self._target = lru_cache(_URLS_KEPT)(partial(_target, allow=allow))
        self._connector = aiohttp.TCPConnector(
            limit=connections, limit_per_host=per_host, keepalive_timeout=IDLE_S, ssl=_tls(allow.ca_file), resolver=Resolver(look_up),
            ttl_dns_cache=dns_ttl_s, socket_factory=partial(self._socket, allow=allow), timeout_ceil_threshold=_NEVER_ROUNDED)  # fmt: skip
        # There is no public way in; that it still leads there is tested by answers without end.
        self._connector._factory = partial(_Connection, self._connected, asyncio.get_running_loop())  # type: ignore[assignment]

    async def close(self) -> None:
        """Cuts all connections."""
        await self._connector.close()

    async def post(self, url: str, headers: Mapping[str, str], body: bytes, account_id: str = "") -> Answered | Failed:
        """Never raises for what the other side does. `headers` are ours: nothing in them is a customer's. `account_id`: whose endpoint it is."""
        began = time.perf_counter()
        of_account.set(account_id)
        try:
            target = self._target(url)
            async with asyncio.timeout(self._timeout_s):
                connection = await self._connector.connect(target.where, [], self._connecting)
                try:
                    status, retry_after, text = await _exchanged(connection, _written(target, headers, body))
                except BaseException:
                    connection.close()
                    raise
            if len(self._connected) > self._kept_max:
                connection.close()
            else:
                connection.release()  # kept, unless the answer was not read to its end
            return Answered(status, time.perf_counter() - began, text, retry_after)
        except (TimeoutError, InvalidRequest, aiohttp.ClientError, HttpProcessingError, OSError) as error:
            reason, detail = _told(error)
            if (reason == "connect" and self._ran_out_s >= began) or (reason == "dns" and not files.are_left()):
                reason, detail = NO_FILES, "this process can open no connection"
            return Failed(reason, _line(detail, DETAIL_MAX), time.perf_counter() - began)

    def _socket(self, info: tuple[int, int, int, str, tuple[str | int, ...]], allow: Openings) -> socket.socket:
        """Errors of several addresses come without their numbers, so what counts is noted here."""
        try:
            return judged_socket(info, allow)
        except OSError as error:
            if error.errno in files.EXHAUSTED:
                self._ran_out_s = time.perf_counter()
            raise


class _Target(NamedTuple):
    """`where`: what aiohttp's connector wants to know of a request. `head`: the beginning of each request."""

    where: aiohttp.ClientRequest
    head: str


def _target(url: str, allow: Openings) -> _Target:
    check_url(url, allow)
    as_given = URL(url, encoded=True)  # and as it was judged
    where = aiohttp.ClientRequest("POST", as_given, loop=asyncio.get_running_loop())
    return _Target(where, f"POST {as_given.raw_path_qs} HTTP/1.1\r\nHost: {where.headers['Host']}\r\nAccept: */*\r\n")


def _written(target: _Target, headers: Mapping[str, str], body: bytes) -> bytes:
    lines = "".join([f"{name}: {value}\r\n" for name, value in headers.items()])
    return f"{target.head}{lines}Content-Length: {len(body)}\r\n\r\n".encode("ascii") + body


async def _exchanged(connection: Connection, request: bytes) -> tuple[int, str | None, str]:
    """Status, Retry-After and the answer's beginning. aiohttp's session does the same in three times the time (docs/decisions.md H11)."""
    protocol = connection.protocol
    assert protocol is not None
    protocol.set_response_params(auto_decompress=False, read_until_eof=True, read_bufsize=_BUFFER, max_line_size=HEADER_MAX,
                                 max_field_size=HEADER_MAX, max_headers=HEADERS_MAX)
    if protocol.transport is not None:  # else it was lost meanwhile, which is told below
        protocol.transport.write(request)
    while True:
        message, content = await protocol.read()
        if message.code >= _FINAL or message.code == _SWITCHED:
            return message.code, _retry_after(message.headers.get("Retry-After")), await _beginning(content)


def _tls(ca_file: str | None) -> ssl.SSLContext:
    context = ssl.create_default_context()
    if ca_file is not None:
        context.load_verify_locations(ca_file)
    return context


async def _beginning(content: aiohttp.StreamReader) -> str:
    """The text of its first octets."""
    kept, read = bytearray(), 0
    while read <= READ_MAX and not content.at_eof():
        chunk = await content.readany()
        read += len(chunk)
        kept += chunk[: KEPT_MAX - len(kept)]
    return kept.decode("utf-8", "replace").replace("\0", "\N{REPLACEMENT CHARACTER}")


def _retry_after(sent: str | None) -> str | None:
    return None if sent is None else _line(sent, RETRY_AFTER_MAX)


def _line(text: str, most: int) -> str:
    return "".join(character if character.isprintable() else "\N{REPLACEMENT CHARACTER}" for character in text[:most])


def _told(error: Exception) -> tuple[Reason, str]:
    """In the order in which one class of error is a part of another."""
    match error:
        case TimeoutError():
            return "timeout", "no whole answer in time"
        case InvalidRequest():
            return "refused_address", error.message
        case aiohttp.ClientConnectorCertificateError():
            return "tls", getattr(error.certificate_error, "verify_message", "") or "the certificate is not valid"
        case aiohttp.ClientConnectorDNSError():
            return "dns", error.os_error.strerror or "the name has no address"
        case aiohttp.ClientConnectorError(os_error=AddressRefused()):
            return "refused_address", str(error.os_error)
        case aiohttp.ClientConnectorSSLError():
            return "tls", getattr(error.os_error, "reason", None) or "no secure connection"
        case aiohttp.ClientConnectorError():
            return "connect", os.strerror(error.os_error.errno) if error.os_error.errno else "no connection"  # its own text names the address
        case HttpProcessingError():
            return "bad_answer", "what came is no answer of HTTP"
        case _:
            return "closed", "the connection ended before the answer did"
