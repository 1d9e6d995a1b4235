"""Keeps one connection to a receiver of webhooks. It writes a request and reads its response. What
comes unasked is never taken for a response.
"""

import asyncio
import select

import aiohttp
from aiohttp.client_proto import ResponseHandler

from heliograph.webhooks.http.http_response import BadResponse, ResponseReader
from heliograph.webhooks.http.tls import CountedTls, TooManyTlsOctets


class PostConnection(ResponseHandler):
    """Holds a connection, which is in `connected` while it is open. aiohttp's pool keeps it while
    `should_close` is false and asks `is_connected` before it is used again; the responses are read
    by ResponseReader, since aiohttp's own parser reads whatever comes, for as long as it comes.
    """

    def __init__(self, connected: "set[PostConnection]", loop: asyncio.AbstractEventLoop) -> None:
        super().__init__(loop)
        self._open_connections = connected
        self._is_used = False
        self._reader: ResponseReader | None = None
        self._finished: asyncio.Future[None] | None = None
        self._spoke_first = False
        self._unread: select.poll | None = None  # asks the socket whether something waits in it

    async def response_to(self, request: bytes) -> ResponseReader:
        """Returns the reader of the whole response, or of as much of it as is ever read. Raises
        BadResponse, and aiohttp's ClientError when the connection ends before the response does.
        After any error, and when the response does not allow another request, it has to be closed.
        """
        if self._spoke_first:
            raise BadResponse
        transport = self.transport
        if transport is None or transport.is_closing():
            raise aiohttp.ServerDisconnectedError
        tls = transport.get_extra_info("ssl_object")
        if isinstance(tls, CountedTls) and self._is_used:  # the first POST pays for the handshake
            tls.count_anew()
        self._is_used = True
        self._reader = reader = ResponseReader()
        self._finished = finished = self._loop.create_future()
        self.force_close()  # until the response allows another one
        try:
            transport.write(request)
            await finished
        finally:
            self._reader = self._finished = None
        # A response that came before its request had left says nothing about where the next one
        # begins.
        self._should_close = not (
            reader.may_keep
            and self.transport is not None
            and transport.get_write_buffer_size() == 0
        )
        return reader

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        super().connection_made(transport)
        self._open_connections.add(self)
        own = transport.get_extra_info("socket")
        if own is not None:
            self._unread = select.poll()
            self._unread.register(own.fileno(), select.POLLIN)

    def connection_lost(self, exc: BaseException | None) -> None:
        self._open_connections.discard(self)
        if self._reader is not None and self._reader.ended():
            self._finish()
        else:
            self._finish(
                exc if isinstance(exc, TooManyTlsOctets) else aiohttp.ServerDisconnectedError()
            )
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        """Reads what came. Octets that no request has asked for end the connection."""
        reader = self._reader
        if reader is None:  # nobody asked
            self._spoke_first = True
            self.abort()
            return
        try:
            reader.feed(data)
        except BadResponse as error:
            self._finish(error)
        if reader.done:
            self._finish()

    def is_connected(self) -> bool:
        """Returns whether another request may be written: if something is in the socket's buffer by
        now, it is the connection's end, or came unasked.
        """
        return super().is_connected() and not self._has_something()

    def close(self) -> None:
        """Ends the connection now: a polite end of TLS would wait for the other side, and read
        what it sends meanwhile.
        """
        self.abort()

    def _finish(self, error: Exception | None = None) -> None:
        if self._finished is None or self._finished.done():
            return
        if error is None:
            self._finished.set_result(None)
        else:
            self._finished.set_exception(error)

    def _has_something(self) -> bool:
        return self._unread is None or bool(self._unread.poll(0))
