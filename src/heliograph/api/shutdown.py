"""What answers HTTP ends in order: it says that it stops, sends clients elsewhere, and cuts
nobody off who has come already.
"""

import asyncio
import ctypes
import select
import signal
import socket
import struct
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from functools import partial
from typing import Any, Final
from typing import Protocol as Described

import uvicorn

from heliograph.api.client_address import Proxies
from heliograph.api.connection.connections import OpenConnections
from heliograph.api.connection.malformed import CLOSE
from heliograph.api.connection.protocol import Protocol
from heliograph.base import clock, open_files
from heliograph.base.log import Log
from heliograph.base.periodic import until

SHUTDOWN_S: Final = 8  # for requests under way when stopping
BACKLOG_MAX: Final = 2_048
# of the files: the whole queue may be accepted before the first of it is counted
# (api/connection/connections.py)
BACKLOG_SHARE: Final = 8
# unless set: a balancer that asks every second and believes the third answer has noticed after 3 s
API_GRACE_S: Final = 5.0
HANDSHAKE_S: Final = 0.1  # for connections whose client believes them made already
ALONE_S: Final = 2.0  # by then one of several has heard whether the others stay
# for taking those that wait in the socket's queue; a busy process takes a few thousand a second
QUEUE_S: Final = 1.0
FIRST_REQUEST_S: Final = 2.0  # for the request of a connection that has brought none yet
LOOK_S: Final = 0.01

SO_ATTACH_FILTER: Final = 26  # <asm-generic/socket.h>; the module socket has no name for it
# A filter of a listening socket sees each segment from its TCP header on (RFC 9293, 3.1). As (code,
# jump if true, if false, operand):
NO_SYN: Final = (
    (0x30, 0, 0, 13),  # octet 13: the flags
    (0x45, 0, 1, 0x02),  # SYN?
    (0x06, 0, 0, 0),  # nothing of it is taken: the client sends it again after a second
    (0x06, 0, 0, 0xFFFF_FFFF),  # all of it
)

log = Log(__name__)


class Served(Described):
    """Describes an application that a Server runs."""

    stopping: bool  # whoever distributes requests shall take others
    postgresql: bool
    proxies: Proxies

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None: ...


class Server(uvicorn.Server):
    """Runs uvicorn with a shutdown of its own, and without its signal handling, which would raise
    SIGTERM again after the stop, before the carriers are unbound. `ending` is set as soon as it was
    told to stop.
    """

    def __init__(self, app: Served, grace_s: float) -> None:
        connected = OpenConnections(app.proxies.is_ours)
        super().__init__(
            uvicorn.Config(
                app,
                # a class, or what makes its objects
                http=partial(Protocol, connected),  # type: ignore[arg-type]
                ws="none",
                loop="none",
                lifespan="off",
                access_log=False,
                log_config=None,
                server_header=False,
                proxy_headers=False,
                backlog=backlog(),
                timeout_graceful_shutdown=SHUTDOWN_S,
            )
        )
        self.app = app
        self._connected = connected
        self.ending = asyncio.Event()
        self._grace_s = grace_s
        self._grace_over: asyncio.TimerHandle | None = None

    async def serve(self, sockets: list[socket.socket] | None = None) -> None:
        watching = asyncio.create_task(self._connected.watch())
        try:
            await super().serve(sockets)
        finally:
            watching.cancel()

    @contextmanager
    def capture_signals(self) -> Iterator[None]:
        yield

    def install_signal_handlers(self) -> None:
        for number in (signal.SIGTERM, signal.SIGINT):
            asyncio.get_running_loop().add_signal_handler(number, self.handle_signal, number)

    def handle_signal(self, number: int) -> None:
        """Obeys a signal. After the first SIGTERM, requests are answered for a while yet. SIGINT,
        which comes from somebody at a terminal, stops at once, and so does a second SIGTERM.
        """
        if number == signal.SIGTERM and not self.app.stopping and not self.should_exit:
            self.app.stopping = True
            self._answer_on(self._grace_s)
        else:
            self.stop()

    def leave_shared_socket(self) -> None:
        """Stops after a while, with a /readyz that goes on answering 200: other processes have the
        same socket, and stay, unless `handle_signal` says otherwise meanwhile.
        """
        if not self.ending.is_set():
            self._answer_on(max(self._grace_s, ALONE_S))

    def stop(self) -> None:
        """Answers what is under way and stops; asked a second time, it does not wait for
        slow clients.
        """
        self.app.stopping = True
        self._close_connections()
        self.force_exit = self.should_exit
        self._end()

    def _answer_on(self, grace_s: float) -> None:
        """Goes on answering for a while. By its end, a proxy that distributes requests has noticed
        that this process stops, and clients have let go of their connections.
        """
        log.info("stopping", drain_s=grace_s)
        self._close_connections()
        if self._grace_over is not None:
            self._grace_over.cancel()
        self._grace_over = asyncio.get_running_loop().call_later(grace_s, self._end)

    def _end(self) -> None:
        self.should_exit = True

    def _close_connections(self) -> None:
        """Closes each connection, from now on, with its next answer. Requests under way have
        this list already.
        """
        if not self.ending.is_set():
            self.ending.set()
            self.server_state.default_headers.append(CLOSE)
            # what uvicorn makes that list from, every second
            self.config.encoded_headers = [*self.config.encoded_headers, CLOSE]

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        """Closes the listener and then the connections, but none whose first request is still to be
        read.
        """
        if self.app.stopping:  # otherwise the queue is for others to take
            for listener in sockets or []:
                await self._empty(listener)
        for server in self.servers:
            server.close()
        await self._until(
            FIRST_REQUEST_S,
            lambda: all(
                connection.cycle
                for connection in self.server_state.connections
                if isinstance(connection, Protocol)
            ),
        )
        await super().shutdown(sockets)

    async def _empty(self, listener: socket.socket) -> None:
        """Takes what has come into a socket's queue, until nothing more comes: closing the socket
        would reset the connections there.
        """
        refuse_new(listener)
        await self._until(HANDSHAKE_S, lambda: False)
        queue = select.poll()
        queue.register(listener, select.POLLIN)
        await self._until(QUEUE_S, lambda: not queue.poll(0))

    async def _until(self, within_s: float, condition: Callable[[], bool]) -> None:
        until_s = clock.monotonic_s() + within_s
        await until(
            lambda: self.force_exit or clock.monotonic_s() >= until_s or condition(),
            look_s=LOOK_S,
        )


def backlog() -> int:
    """Returns how many connections may wait to be accepted. Both the socket and uvicorn are told,
    because uvicorn makes the socket listen again.
    """
    return min(BACKLOG_MAX, open_files.limit() // BACKLOG_SHARE)


def refuse_new(listener: socket.socket) -> None:
    """Lets nobody connect any more, while those whose handshake is under way still can. Where the
    kernel has no such filters, one that comes between the last look at the queue and the closing of
    the socket is reset.
    """
    instructions = ctypes.create_string_buffer(
        b"".join(struct.pack("HBBI", *instruction) for instruction in NO_SYN)
    )
    with suppress(OSError):
        listener.setsockopt(
            socket.SOL_SOCKET,
            SO_ATTACH_FILTER,
            struct.pack("HP", len(NO_SYN), ctypes.addressof(instructions)),
        )
