"""Posts to a stranger's server, which may answer anything, for ever, or not at all. A POST has one
deadline and one judged connection, and little of the response is read.
"""

import asyncio
import os
import socket
import time
from collections.abc import Mapping
from functools import cached_property, lru_cache, partial
from typing import Final, NamedTuple, cast

import aiohttp
from aiohttp.client_reqrep import ConnectionKey
from yarl import URL

from heliograph.base import open_files
from heliograph.base.errors import InvalidRequest
from heliograph.webhooks.http.address_guard import (
    AddressInfo,
    AddressRefused,
    AllowedNetworks,
    check_url,
    guarded_socket,
)
from heliograph.webhooks.http.attempt import NO_FILES, HttpResponse, PostFailure, Reason
from heliograph.webhooks.http.connection import PostConnection
from heliograph.webhooks.http.dns import LookUp, Resolver, of_account, system_look_up
from heliograph.webhooks.http.http_response import RETRY_AFTER_MAX, BadResponse
from heliograph.webhooks.http.tls import TooManyTlsOctets, strangers_tls

# for all of it: name server, connecting, TLS, response (docs/webhooks.md, "What counts as
# received")
TIMEOUT_S: Final = 15.0
DETAIL_MAX: Final = 200
# a connection is kept; common servers close theirs after 5 s, and a POST that meets the end is a
# failure for nothing
IDLE_S: Final = 4.0
DNS_TTL_S: Final = 10
# octets, of which Linux takes twice; it bounds what one turn of the event loop reads of one
# connection
RECEIVE_BUFFER: Final = 4 * 1_024
_URLS_KEPT: Final = 4_096
# aiohttp ends what takes longer than its threshold at whole seconds, up to 1 s late
_NEVER_ROUNDED: Final = float("inf")


class Poster:
    """Posts through one pool of connections. It is to be made in the event loop that it is used in,
    and closed there. It is made before there is work, for it reads all the system's authorities,
    which takes from a tenth of a second to a whole one.

    `connections` is the most POSTs at once, in all, and `per_host` the most to one host and port; 0
    means no limit of its own. A POST that has to wait for one does so within its own time, so
    whoever posts keeps below both. Connections that are kept come on top, half as many at most.
    Nothing is sent twice: a POST that fails has failed, on a connection that was kept too.
    """

    def __init__(
        self,
        allow: AllowedNetworks,
        *,
        connections: int,
        per_host: int = 0,
        timeout_s: float = TIMEOUT_S,
        dns_ttl_s: int = DNS_TTL_S,
        look_up: LookUp = system_look_up,
    ) -> None:
        loop = asyncio.get_running_loop()
        self._timeout_s = timeout_s
        self._kept_max = connections / 2
        self._connected: set[PostConnection] = set()
        self._ran_out_s = 0.0  # perf_counter: when no socket could be made
        # within the one deadline
        self._connecting = aiohttp.ClientTimeout(total=None, sock_connect=None)
        self._target = lru_cache(_URLS_KEPT)(partial(_target, allow=allow))
        self._connector = aiohttp.TCPConnector(
            limit=connections,
            limit_per_host=per_host,
            keepalive_timeout=IDLE_S,
            ssl=strangers_tls(allow.ca_file),
            resolver=Resolver(look_up),
            ttl_dns_cache=dns_ttl_s,
            socket_factory=partial(self._socket, allow=allow),
            timeout_ceil_threshold=_NEVER_ROUNDED,
        )
        # There is no public way in; that it still leads there is tested by responses without end.
        connection = partial(PostConnection, self._connected, loop)
        self._connector._factory = connection  # type: ignore[assignment]  # aiohttp wants its own

    async def close(self) -> None:
        """Cuts all connections."""
        await self._connector.close()

    async def post(
        self, url: str, headers: Mapping[str, str], body: bytes, account_id: str = ""
    ) -> HttpResponse | PostFailure:
        """Posts one event, and never raises for what the other side does. `headers` are ours:
        nothing in them is a customer's. `account_id` says whose endpoint it is.
        """
        began = time.perf_counter()
        of_account.set(account_id)
        try:
            target = self._target(url, account_id)
            async with asyncio.timeout(self._timeout_s):
                connection = await self._connector.connect(target.where, [], self._connecting)
                try:
                    response = await cast(PostConnection, connection.protocol).response_to(
                        _request_octets(target, headers, body)
                    )
                except BaseException:
                    connection.close()
                    raise
            if len(self._connected) > self._kept_max:
                connection.close()
            else:
                connection.release()  # kept, if the response allows it
            retry_after = (
                None
                if response.retry_after is None
                else _line(response.retry_after, RETRY_AFTER_MAX)
            )
            return HttpResponse(
                response.status, time.perf_counter() - began, response.text, retry_after
            )
        except (TimeoutError, InvalidRequest, aiohttp.ClientError, BadResponse, OSError) as error:
            reason, detail = _reason_and_words(error)
            if (reason == "connect" and self._ran_out_s >= began) or (
                reason == "dns" and not open_files.has_room()
            ):
                reason, detail = NO_FILES, "this process can open no connection"
            return PostFailure(reason, _line(detail, DETAIL_MAX), time.perf_counter() - began)

    def _socket(self, info: AddressInfo, allow: AllowedNetworks) -> socket.socket:
        """Opens a socket. Errors of several addresses come without their numbers, so what counts is
        noted here.
        """
        try:
            made = guarded_socket(info, allow)
        except OSError as error:
            if error.errno in open_files.EXHAUSTED:
                self._ran_out_s = time.perf_counter()
            raise
        made.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, RECEIVE_BUFFER)
        return made


class _ReceiverAddress(NamedTuple):
    """Holds a receiver's address. `where` is what aiohttp's connector needs to know of a request,
    and `head` is the beginning of each request.
    """

    where: aiohttp.ClientRequest
    head: str


class _AccountRequest(aiohttp.ClientRequest):
    """Never uses a connection over which another account's event was posted, even if both have
    endpoints on one host. So a late response to one account is never taken for a response to the
    other.
    """

    account_id = ""

    # it is asked for at each POST, and never changes
    @cached_property
    def connection_key(self) -> ConnectionKey:
        key = super().connection_key
        # it is only compared
        return key._replace(proxy_headers_hash=self.account_id)  # type: ignore[arg-type]


def _target(url: str, account_id: str, allow: AllowedNetworks) -> _ReceiverAddress:
    check_url(url, allow)
    as_given = URL(url, encoded=True)  # just as it was judged
    where = _AccountRequest("POST", as_given, loop=asyncio.get_running_loop())
    where.account_id = account_id
    return _ReceiverAddress(
        where,
        f"POST {as_given.raw_path_qs} HTTP/1.1\r\nHost: {where.headers['Host']}\r\nAccept: */*\r\n",
    )


def _request_octets(target: _ReceiverAddress, headers: Mapping[str, str], body: bytes) -> bytes:
    lines = "".join([f"{name}: {value}\r\n" for name, value in headers.items()])
    return f"{target.head}{lines}Content-Length: {len(body)}\r\n\r\n".encode("ascii") + body


def _line(text: str, most: int) -> str:
    return "".join(
        character if character.isprintable() else "\N{REPLACEMENT CHARACTER}"
        for character in text[:most]
    )


def _reason_and_words(error: Exception) -> tuple[Reason, str]:
    """Returns why a POST failed, and the words for it. The errors are tried in the order in
    which one class of error is a part of another.
    """
    match error:
        case TimeoutError():
            return "timeout", "no whole answer in time"
        case InvalidRequest():
            return "refused_address", error.message
        case aiohttp.ClientConnectorCertificateError():
            return (
                "tls",
                getattr(error.certificate_error, "verify_message", "")
                or "the certificate is not valid",
            )
        case aiohttp.ClientConnectorDNSError():
            return "dns", error.os_error.strerror or "the name has no address"
        case aiohttp.ClientConnectorError(os_error=AddressRefused()):
            return "refused_address", str(error.os_error)
        case aiohttp.ClientConnectorSSLError():
            return "tls", getattr(error.os_error, "reason", None) or "no secure connection"
        case aiohttp.ClientConnectorError():
            # its own text names the address
            return "connect", (
                os.strerror(error.os_error.errno) if error.os_error.errno else "no connection"
            )
        case TooManyTlsOctets():
            return "bad_answer", error.reason
        case BadResponse():
            return "bad_answer", "the answer is not HTTP"
        case _:
            return "closed", "the connection ended before the answer did"
