"""Answers the requests of one connection, one after the other, and brings the last response to the
client. It is a part of `api/connection/protocol.py`.
"""

import asyncio
import math
from abc import ABC, abstractmethod
from typing import Any

from uvicorn import Config
from uvicorn._types import ASGI3Application
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol, RequestResponseCycle
from uvicorn.server import ServerState

from heliograph.api.bodies import REFUSAL, Headers
from heliograph.api.connection import timeouts
from heliograph.api.connection.connections import ClientAddress, OpenConnections
from heliograph.api.connection.flow_control import Flow
from heliograph.api.connection.heads import invalid_http
from heliograph.api.connection.malformed import answer_not_read
from heliograph.base.errors import ServiceError

NOTHING, HEAD, BODY = range(3)  # what is being read


class RespondingProtocol(HttpToolsProtocol, ABC):
    """Holds a connection's state, and writes what goes out on it. `until_s` and `unread_until_s`
    say, by the loop's clock, when it will have taken too long.
    """

    flow: Flow

    def __init__(
        self,
        connected: OpenConnections,
        config: Config,
        server_state: ServerState,
        app_state: dict[str, Any],
        _loop: asyncio.AbstractEventLoop | None = None,
    ) -> None:
        super().__init__(config, server_state, app_state, _loop)
        self.peer: ClientAddress | None = None
        self.until_s = self.unread_until_s = math.inf
        self._connected = connected
        self._reading = NOTHING
        self._unbroken = 0
        self._pieces = 0
        self._framing: Headers = []  # of a request that asks for another protocol, and has a body
        self._thrown_away = 0
        self._buffered = b""  # what has come and waits to be parsed
        # octets of the body that is being read or answered; those, and the buffered ones, as they
        # were last counted
        self._taken = self._reported = 0
        self._goes_on = False  # with what is buffered, at the loop's next turn
        # the request that is being answered, or was last
        self._answering: RequestResponseCycle | None = None
        self._why: ServiceError = invalid_http()
        # what the last response says, once there is something to refuse
        self._refusal: ServiceError | None = None
        self._last_s = math.inf  # when the last response was written
        self._is_over = False  # nothing more is parsed

    @abstractmethod
    def _read_on(self) -> None:
        """Goes on with what is buffered, or else reads."""

    @abstractmethod
    def overdue(self) -> None:
        """Ends what has taken too long; it is called when `until_s` or `unread_until_s` has
        passed.
        """

    # --- answering

    def _start_asgi_task(self, cycle: RequestResponseCycle, app: ASGI3Application) -> None:
        if self.flow.write_paused:
            self.pipeline.append((cycle, app))
            self.flow.block()
        else:
            self._answering = cycle
            super()._start_asgi_task(cycle, app)

    def on_response_complete(self) -> None:
        """Goes on with the next request. It replaces uvicorn's own, which sets a timer for each
        request.
        """
        self.server_state.total_requests += 1
        # nobody has read it, and nobody will
        if self._answering is not None and self._answering.body:
            self._answering.body.clear()
        self._taken = 0
        if self._reported:
            self._report_buffered()
        if self._last_s == math.inf and self.transport.is_closing():  # the client wants no more
            self._mark_over()
        if self._last_s == math.inf:
            self._answer_next()
        else:
            self._update_count()

    def _answer_next(self) -> None:
        if self.pipeline:
            self._start_asgi_task(*self.pipeline.pop())
        if self.pipeline:
            return
        if not self._is_over:
            self._read_on()
        if self._is_answered():
            self._wait()

    def _wait(self) -> None:
        if self._refusal is not None:
            self._send_refusal(self._refusal)
            return
        self._update_count()
        if self._reading == NOTHING:
            self.until_s = self.loop.time() + timeouts.KEEP_ALIVE_S

    def _is_answered(self) -> bool:
        return not self.pipeline and (self.cycle is None or self.cycle.response_complete)

    def _update_count(self) -> None:
        """Counts the connection as one that waits for its client, also while that does not take
        its responses, or as one at work.
        """
        if self.peer is None:
            return
        if self.flow.write_paused or self._last_s != math.inf or self._is_answered():
            self._connected.note_waiting(self, self.peer)
        else:
            self._connected.note_working(self, self.peer)

    def _report_buffered(self) -> None:
        """Tells how much of what has come is in memory."""
        self._reported = self._taken + len(self._buffered)
        self._connected.note_buffered(self, self._reported)

    def _drop_next(self) -> None:
        """Lets go of what would have been parsed next."""
        if self._buffered:
            self._buffered = b""
            self._report_buffered()

    # --- refusing

    def _refuse(self, why: ServiceError) -> None:
        """Parses nothing more, and says why once all is answered that was asked before. A request
        whose body is being read says so itself, unless it has its response.
        """
        self._is_over = True
        self._drop_next()
        self.flow.block()
        self.until_s = math.inf  # the responses end it, or `unread_until_s`
        if self._reading == BODY and self.cycle.response_complete:
            self._linger()
        elif self._reading == BODY:
            # ours, beside what ASGI has
            self.scope[REFUSAL] = why  # type: ignore[typeddict-unknown-key]
            self.cycle.keep_alive = False
            self.cycle.message_event.set()
        else:
            self._refusal = why
            if self._is_answered():
                self._send_refusal(why)

    def _send_refusal(self, why: ServiceError) -> None:
        self._refusal = None
        self.transport.write(answer_not_read(why, self.client and self.client[0]))
        self._linger()

    # --- ending

    def _close(self) -> None:
        """Closes the connection after its last response. `until_s` ends what its client does not
        take.
        """
        if self._reading == NOTHING and not self.pipeline and not self._buffered:
            self._mark_over()
            self.transport.close()
        else:
            self._linger()

    def _mark_over(self) -> None:
        self._is_over = True
        self._drop_next()
        self._last_s = self.loop.time()
        self.until_s = self._last_s + timeouts.UNREAD_S

    def _linger(self) -> None:
        """Shuts the connection for writing, and throws away what still comes, before it is
        closed.
        """
        self._is_over = True
        self._drop_next()
        self.pipeline.clear()
        self._last_s = self.loop.time()
        self.until_s = self._last_s + timeouts.LINGER_S
        self._update_count()
        if not self.transport.is_closing():
            self.transport.write_eof()
            if self._thrown_away <= timeouts.LINGER_OCTETS:
                self.flow.unblock()

    def make_room(self) -> None:
        """Closes the connection at once."""
        self._is_over = True
        self.transport.abort()
