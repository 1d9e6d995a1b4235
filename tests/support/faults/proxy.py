"""Runs a TCP proxy of our own: it cuts, refuses, swallows, delays and loses what two parties say to
each other.
"""

import asyncio
import socket
import struct
import threading
from collections.abc import Callable, Coroutine
from contextlib import suppress
from typing import Any, Final, Literal, Self, TypeVar

from tests.support.loops import LoopThread

Party = Literal["client", "server"]
# what was said just now, what the other one has said on this connection → whether it is lost
When = Callable[[bytes, bytes], bool]

# how PostgreSQL answers COMMIT: CommandComplete (its protocol, "Message Formats")
COMMITTED: Final = b"C\0\0\0\x0bCOMMIT\0"
WITHIN_S: Final = 10.0
_DIRECTIONS: Final[tuple[tuple[Party, Party], ...]] = (("client", "server"), ("server", "client"))
_LOOK_BACK_OCTETS: Final = 65_536
_AT_ONCE_OCTETS: Final = 65_536
_CHUNKS_ON_THE_WAY_MAX: Final = 256
T = TypeVar("T")


class Loss:
    """Describes something that is to be lost; `wait` returns once it was."""

    def __init__(
        self, when: When, said_by: Party, times: int, then: Literal["cut", "swallow"]
    ) -> None:
        self.when = when
        self.said_by = said_by
        self.left = times
        self.then = then
        self._happened = threading.Event()

    def happens(self) -> None:
        self.left -= 1
        if not self.left:
            self._happened.set()

    def wait(self, within_s: float = WITHIN_S) -> None:
        assert self._happened.wait(within_s), f"nothing was lost within {within_s} s"


class Proxy:
    """Listens on a free port of 127.0.0.1, or of another address of this machine, in a thread of
    its own, from `with` to its end. Every method is for other threads, and has had its effect when
    it returns. `connected` counts the connections that there were, and `open` those that there are.
    """

    def __init__(self, port: int, host: str = "127.0.0.1", listens_at: str = "127.0.0.1") -> None:
        self._target = (host, port)
        self.host = listens_at
        self._thread = LoopThread("proxy")
        self._server: asyncio.Server | None = None
        self._connections: dict[_Connection, None] = {}  # oldest first
        self._connecting = 0
        self._swallows_new = False
        self._losses: list[Loss] = []
        self.delay_s: dict[Party, float] = {"client": 0.0, "server": 0.0}
        self.port = 0
        self.connected = 0

    @property
    def open(self) -> int:
        return len(self._connections)

    # --- the faults

    def cut(self, *, reset: bool = True, oldest: int | None = None) -> int:
        """Ends all connections, or so many: with RST, or with FIN. It returns how many there
        were.
        """
        return self._do(self._cut(reset, oldest))

    def refuse(self, *, reset: bool = True) -> int:
        """Acts as if the server is down: connections end, and new ones are refused until
        `accept`.
        """
        return self._do(self._refuse(reset))

    def refuse_new(self) -> None:
        """Acts as if the server cannot be reached: the connections that are there stay as they are,
        and new ones are refused until `accept`.
        """
        self._do(self._close())

    def accept(self) -> None:
        self._do(self._listen())

    def swallow(self, *said_by: Party, new_ones_too: bool = False) -> None:
        """Leaves connections half-open: they stay, and nothing that is said on them by these
        (default: both) arrives any more. When one party ends such a connection, the other's is
        reset.
        """
        self._do(self._swallow(said_by or ("client", "server"), new_ones_too))

    def swallow_no_more(self) -> None:
        """Makes new connections whole from now on."""
        self._swallows_new = False

    def delay(self, *, client_s: float = 0.0, server_s: float = 0.0) -> None:
        """Lets what is said by each arrive so much later."""
        self.delay_s = {"client": client_s, "server": server_s}

    def lose(
        self, when: When, *, said_by: Party, times: int = 1, then: Literal["cut", "swallow"] = "cut"
    ) -> Loss:
        """Loses what fulfils `when`, the first `times` times; then its connection is cut, or says
        nothing any more.

        The reply to COMMIT is lost with `lose(lambda said, heard: COMMITTED in said,
        said_by="server")`, where a condition on `heard` chooses which.
        """
        loss = Loss(when, said_by, times, then)
        self._losses.append(loss)
        return loss

    def lead_to(self, port: int) -> None:
        """Leads new connections to this port of the same host."""
        self._target = (self._target[0], port)

    # --- its life

    def __enter__(self) -> Self:
        self._thread.__enter__()
        self._do(self._listen())
        return self

    def __exit__(self, *_: object) -> None:
        self._do(self._refuse(reset=True))
        self._thread.__exit__()

    def _do(self, work: Coroutine[Any, Any, T]) -> T:
        return self._thread.run(work, WITHIN_S)

    async def _listen(self) -> None:
        if self._server is None:
            self._server = await asyncio.start_server(self._connect, self.host, self.port)
            self.port = self._server.sockets[0].getsockname()[1]

    async def _close(self) -> None:
        if self._server is not None:
            self._server.close()
            self._server = None

    async def _refuse(self, reset: bool) -> int:
        await self._close()
        return await self._cut(reset)

    async def _all_made(self) -> None:
        """Waits for connections that are being made: they count as made."""
        while self._connecting:
            await asyncio.sleep(0.001)

    async def _cut(self, reset: bool, oldest: int | None = None) -> int:
        await self._all_made()
        connections = list(self._connections)[:oldest]
        for connection in connections:
            connection.end(reset=reset)
        while any(connection in self._connections for connection in connections):
            await asyncio.sleep(0.001)
        return len(connections)

    async def _swallow(self, said_by: tuple[Party, ...], new_ones_too: bool) -> None:
        await self._all_made()
        self._swallows_new = new_ones_too
        for connection in self._connections:
            connection.swallowed.update(said_by)

    async def _connect(
        self, client_reader: asyncio.StreamReader, client_writer: asyncio.StreamWriter
    ) -> None:
        self.connected += 1
        self._connecting += 1
        try:
            server_reader, server_writer = await asyncio.open_connection(*self._target)
        except OSError:
            _end(client_writer, reset=True)
            return
        finally:
            self._connecting -= 1
        connection = _Connection(
            self, (client_reader, client_writer), (server_reader, server_writer)
        )
        if self._swallows_new:
            connection.swallowed.update(("client", "server"))
        self._connections[connection] = None
        try:
            await connection.run()
        finally:
            self._connections.pop(connection, None)

    def loss_of(self, said_by: Party, said: bytes, heard: bytes) -> Loss | None:
        """Returns what is to be lost now, if anything."""
        return next(
            (
                loss
                for loss in self._losses
                if loss.left and loss.said_by == said_by and loss.when(said, heard)
            ),
            None,
        )


class _Connection:
    """Holds two sockets, and what is on its way between them."""

    def __init__(
        self,
        proxy: Proxy,
        client: tuple[asyncio.StreamReader, asyncio.StreamWriter],
        server: tuple[asyncio.StreamReader, asyncio.StreamWriter],
    ) -> None:
        self._proxy = proxy
        self._readers: dict[Party, asyncio.StreamReader] = {
            "client": client[0],
            "server": server[0],
        }
        self._writers: dict[Party, asyncio.StreamWriter] = {
            "client": client[1],
            "server": server[1],
        }
        self._said: dict[Party, bytes] = {"client": b"", "server": b""}
        self._tasks: list[asyncio.Task[None]] = []
        self.swallowed: set[Party] = set()

    async def run(self) -> None:
        for said_by, to in _DIRECTIONS:
            on_the_way = asyncio.Queue[tuple[float, bytes]](_CHUNKS_ON_THE_WAY_MAX)
            self._tasks += [
                asyncio.create_task(self._hear(said_by, to, on_the_way)),
                asyncio.create_task(self._say(said_by, to, on_the_way)),
            ]
        await asyncio.gather(*self._tasks, return_exceptions=True)
        self.end(reset=bool(self.swallowed))

    def end(self, *, reset: bool) -> None:
        for task in self._tasks:
            task.cancel()
        for writer in self._writers.values():
            _end(writer, reset=reset)

    async def _hear(
        self, said_by: Party, to: Party, on_the_way: "asyncio.Queue[tuple[float, bytes]]"
    ) -> None:
        loop = asyncio.get_running_loop()
        with suppress(OSError):
            while octets := await self._readers[said_by].read(_AT_ONCE_OCTETS):
                if said_by in self.swallowed:
                    continue
                loss = self._proxy.loss_of(said_by, octets, self._said[to])
                self._said[said_by] = (self._said[said_by] + octets)[-_LOOK_BACK_OCTETS:]
                if loss is None:
                    await on_the_way.put((loop.time() + self._proxy.delay_s[said_by], octets))
                elif loss.then == "cut":
                    self.end(reset=True)
                    loss.happens()
                else:
                    self.swallowed.update(("client", "server"))
                    loss.happens()
        if self.swallowed:
            self.end(reset=True)
        await on_the_way.put((0.0, b""))

    async def _say(
        self, said_by: Party, to: Party, on_the_way: "asyncio.Queue[tuple[float, bytes]]"
    ) -> None:
        loop, writer = asyncio.get_running_loop(), self._writers[to]
        with suppress(OSError):
            while True:
                due_s, octets = await on_the_way.get()
                if due_s > loop.time():
                    await asyncio.sleep(due_s - loop.time())
                if not octets:
                    writer.write_eof()
                    return
                if said_by not in self.swallowed:
                    writer.write(octets)
                    await writer.drain()


def _end(writer: asyncio.StreamWriter, *, reset: bool) -> None:
    if writer.transport.is_closing():
        return
    if reset:  # a socket that lingers for 0 s says RST
        writer.get_extra_info("socket").setsockopt(
            socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0)
        )
        writer.transport.abort()
    else:
        writer.close()
