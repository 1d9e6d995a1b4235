"""Speaks HTTP/1.1 on one connection: uvicorn's protocol, with what it lacks. A head is limited
while it comes in, each part of a request has a time limit, and trailer fields are not headers.
Requests that come early wait unread, and a request that is refused is answered only after all that
came before it. No response is begun for a client that does not take the earlier ones.

What may be counted from outside of llhttp is counted so. It hands over a field when it has ended,
and a URL, a field or a chunk's extension that does not end would grow in it. So all is fed to it in
small slices, and between two of them everything is judged, and others have their turn.
"""

import asyncio
import math
import socket
import time
from contextlib import suppress
from functools import partial
from typing import Final

import httptools
from uvicorn.protocols.http.flow_control import HIGH_WATER_LIMIT

from heliograph.api.bodies import IN_ONE_PIECE, PIECES_MAX
from heliograph.api.connection import timeouts
from heliograph.api.connection.flow_control import DROPPED, Flow, ResponseTransport
from heliograph.api.connection.heads import (
    FIELDS_MAX,
    HEADERS_OCTETS_MAX,
    UNBROKEN_OCTETS_MAX,
    URL_OCTETS_MAX,
    headers_too_large,
    invalid_http,
    refusal_of_head,
    refusal_while_reading,
)
from heliograph.api.connection.malformed import whole_response
from heliograph.api.connection.responses import BODY, HEAD, NOTHING, RespondingProtocol
from heliograph.api.connection.timeouts import BODY_S, FIRST_S, HEAD_S, KEEP_ALIVE_S, UNREAD_S
from heliograph.api.connection.upgrades import body_parser, framing_of
from heliograph.api.connection.write_response import write_whole_response
from heliograph.base import metrics
from heliograph.base.errors import InvalidRequest, ServiceError, Unavailable

__all__ = [
    "BODY_S",
    "FIELDS_MAX",
    "FIRST_S",
    "HEADERS_OCTETS_MAX",
    "HEAD_S",
    "KEEP_ALIVE_S",
    "PIPELINED_MAX",
    "UNREAD_S",
    "URL_OCTETS_MAX",
    "Protocol",
]  # with the limits that docs/operations.md names

# so much more may be in llhttp at the most; most requests are smaller
SLICE_OCTETS: Final = 4 * 1024
# after so long what is left of one read waits until other connections have had their time
TIME_SLICE_S: Final = 0.002
# requests that wait for their turn; 4 KiB hold half as many that bring a key, and no more is read
# while any wait
PIPELINED_MAX: Final = 64

# the kernel would take megabytes of responses that nobody reads: one for each that it sends is
# enough
UNSENT_OCTETS: Final = 128 * 1024
COUNT_OCTETS: Final = 64 * 1024  # of a body, from one count of what is in memory to the next


class _ParsingEnded(Exception):
    """Ends the parsing. The reason is stored in the protocol."""


class Protocol(RespondingProtocol):
    """Serves one connection: it takes what comes in, and limits the time for it."""

    # as uvicorn has it
    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Takes the connection if there is room for it, and begins to measure its time."""
        super().connection_made(transport)
        self.flow = Flow(transport)
        with suppress(OSError):  # it is gone already
            transport.get_extra_info("socket").setsockopt(
                socket.IPPROTO_TCP, socket.TCP_NOTSENT_LOWAT, UNSENT_OCTETS
            )
        self._outlet = ResponseTransport(transport, self._close)
        self.until_s = self.loop.time() + timeouts.FIRST_S
        if not self._connected.admit(self, self.client[0] if self.client else ""):
            self._is_over = True
            _, response = whole_response(
                Unavailable(
                    "Too many connections are open; try again.", reason="too_many_connections"
                )
            )
            transport.write(response)
            transport.close()

    def connection_lost(self, exc: Exception | None) -> None:
        self._connected.note_closed(self)
        self._buffered = b""
        self._is_over = True
        self.pipeline.clear()
        if self._answering is not None and not self._answering.response_complete:
            self._answering.disconnected = True
            self._answering.message_event.set()
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        if self._is_over:
            self._discard(len(data))
        elif self._buffered or self.pipeline:
            self._buffer(self._buffered + data)
        elif len(data) <= SLICE_OCTETS:
            self._feed(data)
        else:
            self._buffered = data
            self._feed_buffered()

    def _buffer(self, octets: bytes) -> None:
        """Reads no more before these have been parsed."""
        self._buffered = octets
        if octets:
            self.flow.block()
        if octets or self._reported:
            self._report_buffered()

    def _feed_buffered(self) -> None:
        """Parses what is buffered until somebody has to wait for his turn: the next request, or
        other connections.
        """
        self._goes_on = False
        buffered, place, until_s = memoryview(self._buffered), 0, time.perf_counter() + TIME_SLICE_S
        while (
            place < len(buffered)
            and not self.pipeline
            and not self._is_over
            and not self.transport.is_closing()
        ):
            self._feed(buffered[place : place + SLICE_OCTETS])
            place += SLICE_OCTETS
            if time.perf_counter() > until_s:
                break
        if self._is_over:
            return
        self._buffer(bytes(buffered[place:]))
        if not self.pipeline:
            self._read_on()

    def _read_on(self) -> None:
        if self.transport.is_closing():
            return
        if not self._buffered:
            cycle = self.cycle
            self.flow.unblock(
                is_full=cycle is not None
                and not cycle.response_complete
                and len(cycle.body) > HIGH_WATER_LIMIT
            )
        elif not self._goes_on:
            self._goes_on = True
            self.loop.call_soon(self._feed_buffered)

    def _discard(self, octets: int) -> bool:
        """Counts what comes after its response. It returns True if it is enough, and nothing more
        is read.
        """
        self._thrown_away += octets
        is_enough = self._thrown_away > timeouts.LINGER_OCTETS
        if is_enough:
            self.flow.block()
        return is_enough

    def _feed(self, part: bytes | memoryview) -> None:
        if self._reading == BODY and self.cycle.response_complete and self._discard(len(part)):
            self._linger()
            return
        self._unbroken += len(part)
        while len(part):
            try:
                self.parser.feed_data(part)
            # it is not granted: the response, and what follows, is in this protocol (RFC 9110, 7.8)
            except httptools.HttpParserUpgrade as upgrade:
                part = part[upgrade.args[0] :]
                if not self._read_body_without_upgrade():
                    return
            except httptools.HttpParserError:
                self._refuse(self._why)
                return
            else:
                break
        if self._reading == HEAD:
            if why := refusal_while_reading(self.url, self.headers, self._unbroken):
                self._refuse(why)
        elif self._unbroken > UNBROKEN_OCTETS_MAX:
            self._refuse(
                headers_too_large("Trailer fields or chunk extensions")
                if self._reading == BODY
                else invalid_http()
            )

    def _read_body_without_upgrade(self) -> bool:
        """Reads the body of a request that asks for another protocol. The framing is forgotten
        first: a body of no octets ends at once. Returns whether the connection goes on.
        """
        framing, self._framing = self._framing, []
        try:
            if framing:
                self.parser = body_parser(self, framing)
        except httptools.HttpParserError:
            self._refuse(invalid_http())
        return not self._is_over

    # --- called by the parser

    def on_message_begin(self) -> None:
        super().on_message_begin()
        self._reading = HEAD
        self._unbroken = 0
        self.until_s = self.loop.time() + timeouts.HEAD_S

    def on_headers_complete(self) -> None:
        """Judges the head of a request, and refuses what is too much."""
        # it came in more than one slice
        if why := refusal_of_head(self.url, self.headers, may_be_large=self._unbroken > 0):
            self._stop(why)
        if len(self.pipeline) >= PIPELINED_MAX:
            self._stop(
                InvalidRequest(
                    f"More than {PIPELINED_MAX} requests were sent ahead of their turn.",
                    reason="invalid_http",
                )
            )
        super().on_headers_complete()
        self.cycle.transport = self._outlet  # type: ignore[assignment]  # what it needs of one
        # ours, beside what ASGI has
        write_whole = partial(write_whole_response, self.cycle)
        self.scope[IN_ONE_PIECE] = write_whole  # type: ignore[typeddict-unknown-key]
        self._framing = framing_of(self.headers) if self.parser.should_upgrade() else []
        self.headers = DROPPED
        self._reading = BODY
        self._unbroken = self._pieces = self._thrown_away = self._taken = 0
        self.until_s = self.loop.time() + timeouts.BODY_S
        self._update_count()
        if self.pipeline:
            self.flow.block()

    def on_body(self, body: bytes) -> None:
        """Takes a piece of the body; a body in too many pieces is refused."""
        self._unbroken = 0
        self._pieces += 1
        if self._pieces > PIECES_MAX:
            self._stop(
                InvalidRequest(
                    f"The body came in more than {PIECES_MAX:,} pieces.", reason="invalid_http"
                )
            )
        super().on_body(body)
        self._taken += len(body)
        if self._taken >= self._reported + COUNT_OCTETS and not self.cycle.response_complete:
            self._report_buffered()

    def on_message_complete(self) -> None:
        if self._framing:  # the body is still to come, whatever the parser believes
            return
        super().on_message_complete()
        self._reading = NOTHING
        # then the response ends it, or `unread_until_s`
        self.until_s = self.loop.time() + timeouts.KEEP_ALIVE_S if self._is_answered() else math.inf

    def _stop(self, why: ServiceError) -> None:
        """Stops the parsing, from within the parser."""
        self._why = why
        raise _ParsingEnded

    # --- time

    def pause_writing(self) -> None:
        super().pause_writing()
        self.unread_until_s = self.loop.time() + timeouts.UNREAD_S
        self._update_count()

    def resume_writing(self) -> None:
        """Goes on with the next request, because the client has read enough of the last one."""
        super().resume_writing()
        self.unread_until_s = math.inf
        self._update_count()
        if (
            self.pipeline
            and self._answering is not None
            and self._answering.response_complete
            and self._last_s == math.inf
        ):
            self._answer_next()

    def overdue(self) -> None:
        """Ends what has taken too long; it is called when `until_s` or `unread_until_s` has
        passed.
        """
        now_s = self.loop.time()
        if self.unread_until_s <= now_s:
            self._end("unread")
        elif self._is_over:
            self._end_last(now_s)
        elif self._reading == NOTHING:
            self._end("no_request" if self.cycle is None else "idle")
        elif self._reading == BODY:
            self._end_body()
        elif self._is_answered():
            metrics.count_closed_connection("slow_headers")
            self._refuse(
                InvalidRequest(
                    f"The headers did not come whole within {timeouts.HEAD_S:g} s.",
                    reason="headers_too_slow",
                )
            )
        else:
            # what is refused now would be told after a response that is still to come
            self.until_s = now_s + timeouts.HEAD_S

    def _end_last(self, now_s: float) -> None:
        """Ends the last of the responses. A client that is still taking it has as long for it as
        for any other.
        """
        if self.transport.get_write_buffer_size() and now_s < self._last_s + timeouts.UNREAD_S:
            self.until_s = now_s + timeouts.LINGER_S
        else:
            self.transport.abort()

    def _end_body(self) -> None:
        if self.cycle.response_complete:
            self._end("slow_body")
        else:
            metrics.count_closed_connection("slow_body")
            self._refuse(
                InvalidRequest(
                    f"The body did not come whole within {timeouts.BODY_S:g} s.",
                    reason="body_too_slow",
                )
            )

    def _end(self, why: str) -> None:
        metrics.count_closed_connection(why)
        if self.transport.get_write_buffer_size():  # closing would wait for the client to read it
            self.transport.abort()
        else:
            self.transport.close()
