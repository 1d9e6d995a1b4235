"""HTTP/1.1 on one connection: uvicorn's protocol with what it lacks. A head has limits before it is whole, each part of a request has its time,
trailer fields are no headers, requests that come ahead of their turn wait unread, and what is refused is told after all that came before it.

What may be counted from outside of llhttp is counted so: it hands over a field when it has ended, and a URL, a field or a chunk's extension that does
not end would grow in it. So all is fed to it in small slices, and between two of them everything is judged.
"""

import asyncio
import math
from typing import Any, Final

import httptools
from uvicorn import Config
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol
from uvicorn.server import ServerState

from heliograph.base import metrics
from heliograph.base.errors import HeadersTooLarge, InvalidRequest, ServiceError, Unavailable, UrlTooLong
from heliograph.entry.bodies import REFUSAL, Headers
from heliograph.entry.connected import Connected, Peer
from heliograph.entry.flowing import DROPPED, Flow
from heliograph.entry.malformed import answer_not_read, whole_answer
from heliograph.entry.wishes import body_parser, framing_of

URL_OCTETS_MAX: Final = 16 * 1024
HEADERS_OCTETS_MAX: Final = 32 * 1024  # names and values, and 4 more of each field, for ": " and the end of its line
FIELDS_MAX: Final = 100
UNBROKEN_OCTETS_MAX: Final = URL_OCTETS_MAX + HEADERS_OCTETS_MAX  # without an end of the head, or a piece of the body, between them
SLICE_OCTETS: Final = 4 * 1024  # so much more may be in llhttp at the most; most requests are smaller
PIPELINED_MAX: Final = 64  # requests that wait for their turn; 4 KiB hold half as many that bring a key, and no more is read while any wait

FIRST_S: Final = 10.0  # from the connection to the first octet
HEAD_S: Final = 10.0  # from there to the end of the headers
BODY_S: Final = 30.0  # and to that of the body: 35 kB a second, for the largest
KEEP_ALIVE_S: Final = 65.0  # longer than the 60 s after which common proxies close an idle connection themselves
UNREAD_S: Final = 60.0  # for the client to take the answer off our hands
LINGER_S: Final = 2.0  # after a refusal what still comes is thrown away: closing at once would take the answer back from a client that is sending
LINGER_OCTETS: Final = 1 << 20  # more of it is left unread: throwing it away takes time that others need

NOTHING, HEAD, BODY = range(3)  # what is being read


class _Refused(Exception):
    """Ends the parsing; why stands in the protocol."""


class Protocol(HttpToolsProtocol):
    """One connection. `until_s` and `unread_until_s`, by the loop's clock: when it will have taken too long."""

    flow: Flow

    def __init__(self, connected: Connected, config: Config, server_state: ServerState, app_state: dict[str, Any],
                 _loop: asyncio.AbstractEventLoop | None = None) -> None:
        super().__init__(config, server_state, app_state, _loop)
        self.peer: Peer | None = None
        self.until_s = self.unread_until_s = math.inf
        self._connected = connected
        self._reading = NOTHING
        self._unbroken = 0
        self._framing: Headers = []  # of a request that wishes for another protocol, and has a body
        self._thrown_away = 0
        self._held = b""  # what has come and waits to be parsed
        self._why: ServiceError = _invalid_http()
        self._refusal: ServiceError | None = None  # once it is set nothing more is parsed

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]  # as uvicorn has it
        super().connection_made(transport)
        self.flow = Flow(transport)
        self.until_s = self.loop.time() + FIRST_S
        if not self._connected.admit(self, self.client[0] if self.client else ""):
            self._refusal = Unavailable("Too many connections are open; try again.", reason="too_many_connections")
            transport.write(whole_answer(self._refusal)[1])
            transport.close()

    def connection_lost(self, exc: Exception | None) -> None:
        self._connected.gone(self)
        self._held = b""
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        if self._refusal is not None:
            self._thrown_away += len(data)
            if self._thrown_away > LINGER_OCTETS:
                self.flow.hold()
            return
        if self._held or self.pipeline:
            self._held += data
            self.flow.hold()
        elif len(data) <= SLICE_OCTETS:
            self._feed(data)
        else:
            self._held = data
            self._feed_held()

    def _feed_held(self) -> None:
        """Parses what is held until somebody has to wait for his turn."""
        held, place = memoryview(self._held), 0
        while place < len(held) and not self.pipeline and self._refusal is None and not self.transport.is_closing():
            self._feed(held[place:place + SLICE_OCTETS])
            place += SLICE_OCTETS
        self._held = bytes(held[place:]) if self._refusal is None else b""
        if not self.pipeline and self._refusal is None:
            self.flow.release()

    def _feed(self, part: bytes | memoryview) -> None:
        self._unbroken += len(part)
        while len(part):
            try:
                self.parser.feed_data(part)
            except httptools.HttpParserUpgrade as wish:  # it is not granted: the answer, and what follows, is in this protocol (RFC 9110, 7.8)
                part = part[wish.args[0]:]
                if self._framing:
                    self.parser, self._framing = body_parser(self, self._framing), []
            except httptools.HttpParserError:
                self._refuse(self._why)
                return
            else:
                break
        if self._reading == HEAD:
            self._judge_unfinished_head()
        elif self._unbroken > UNBROKEN_OCTETS_MAX:
            self._refuse(_headers_too_large("Trailer fields or chunk extensions") if self._reading == BODY else _invalid_http())

    def _judge_unfinished_head(self) -> None:
        if len(self.url) > URL_OCTETS_MAX:
            self._refuse(_url_too_long())
        elif len(self.headers) > FIELDS_MAX or self._unbroken > UNBROKEN_OCTETS_MAX:
            self._refuse(_headers_too_large())

    # --- called by the parser

    def on_message_begin(self) -> None:
        super().on_message_begin()
        self._reading = HEAD
        self._unbroken = 0
        self.until_s = self.loop.time() + HEAD_S

    def on_headers_complete(self) -> None:
        if self._unbroken:  # it came in more than one slice, so it may be large
            if len(self.url) > URL_OCTETS_MAX:
                self._stop(_url_too_long())
            if sum(len(name) + len(value) + 4 for name, value in self.headers) > HEADERS_OCTETS_MAX:
                self._stop(_headers_too_large())
        if len(self.headers) > FIELDS_MAX:
            self._stop(_headers_too_large())
        if b"#" in self.url:  # no request has a fragment (RFC 9112, 3.2), and a proxy may take it for a part of the path
            self._stop(_invalid_http())
        if len(self.pipeline) >= PIPELINED_MAX:
            self._stop(InvalidRequest(f"More than {PIPELINED_MAX} requests were sent ahead of their turn.", reason="invalid_http"))
        super().on_headers_complete()
        self._framing = framing_of(self.headers) if self.parser.should_upgrade() else []
        self.headers = DROPPED
        self._reading = BODY
        self._unbroken = 0
        self.until_s = self.loop.time() + BODY_S
        if self.peer is not None:
            self._connected.works(self, self.peer)
        if self.pipeline:
            self.flow.hold()

    def on_body(self, body: bytes) -> None:
        self._unbroken = 0
        super().on_body(body)

    def on_message_complete(self) -> None:
        if self._framing:  # the body is still to come, whatever the parser believes
            return
        super().on_message_complete()
        self._reading = NOTHING
        self.until_s = self.loop.time() + KEEP_ALIVE_S if self._is_answered() else math.inf

    # --- called when an answer is complete

    def on_response_complete(self) -> None:
        """In place of uvicorn's, which sets a timer for each request."""
        self.server_state.total_requests += 1
        if self.transport.is_closing():
            self.until_s = self.loop.time() + UNREAD_S
            return
        if self.pipeline:
            self._start_asgi_task(*self.pipeline.pop())
        if self.pipeline:
            return
        if self._held:
            self.loop.call_soon(self._feed_held)
        elif self._refusal is None:
            self.flow.release()
        if self._is_answered():
            self._wait()

    def _wait(self) -> None:
        if self._refusal is not None:
            self._tell(self._refusal)
            return
        if self.peer is not None:
            self._connected.waits(self, self.peer)
        if self._reading == NOTHING:
            self.until_s = self.loop.time() + KEEP_ALIVE_S

    def _is_answered(self) -> bool:
        return not self.pipeline and (self.cycle is None or self.cycle.response_complete)

    # --- refusing

    def _stop(self, why: ServiceError) -> None:
        """From within the parser."""
        self._why = why
        raise _Refused

    def _refuse(self, why: ServiceError) -> None:
        """Parses nothing more, and says why once all is answered that was asked before. A request whose body is being read answers that itself."""
        self._refusal = why
        self._held = b""
        self.until_s = math.inf
        if self._reading == BODY and not self.cycle.response_complete:
            self.scope[REFUSAL] = why  # type: ignore[typeddict-unknown-key]
            self.cycle.keep_alive = False
            self.cycle.message_event.set()
            self.flow.hold()
        elif self._is_answered():
            self._tell(why)
        else:
            self.flow.hold()

    def _tell(self, why: ServiceError) -> None:
        self.transport.write(answer_not_read(why, self.client and self.client[0]))
        self.transport.write_eof()
        self.until_s = self.loop.time() + LINGER_S
        self.flow.release()

    # --- time

    def pause_writing(self) -> None:
        super().pause_writing()
        self.unread_until_s = self.loop.time() + UNREAD_S

    def resume_writing(self) -> None:
        super().resume_writing()
        self.unread_until_s = math.inf

    def overdue(self) -> None:
        """Called when `until_s` or `unread_until_s` has passed."""
        if self.unread_until_s <= self.loop.time():
            self._end("unread")
        elif self._refusal is not None or self.transport.is_closing():
            self.transport.abort()
        elif self._reading == NOTHING:
            self._end("no_request" if self.cycle is None else "idle")
        elif self._reading == BODY:
            self._end_body()
        elif self._is_answered():
            metrics.connection_closed("slow_headers")
            self._refuse(InvalidRequest(f"The headers did not come whole within {HEAD_S:g} s.", reason="headers_too_slow"))
        else:
            self.until_s = self.loop.time() + HEAD_S  # what is refused now would be told after an answer that is still to come

    def _end_body(self) -> None:
        if self.cycle.response_complete:
            self._end("slow_body")
        else:
            metrics.connection_closed("slow_body")
            self._refuse(InvalidRequest(f"The body did not come whole within {BODY_S:g} s.", reason="body_too_slow"))

    def _end(self, why: str) -> None:
        metrics.connection_closed(why)
        if self.transport.get_write_buffer_size():  # closing would wait for the client to read it
            self.transport.abort()
        else:
            self.transport.close()

    def make_room(self) -> None:
        self.transport.abort()


def _invalid_http() -> InvalidRequest:
    return InvalidRequest("This is no HTTP request that can be read.", reason="invalid_http")


def _url_too_long() -> UrlTooLong:
    return UrlTooLong(f"The URL is longer than {URL_OCTETS_MAX:,} octets.")


def _headers_too_large(what: str = "The header fields") -> HeadersTooLarge:
    return HeadersTooLarge(f"{what} are more than {FIELDS_MAX}, or have more than {HEADERS_OCTETS_MAX:,} octets in all.")
