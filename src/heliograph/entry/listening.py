"""What listens for HTTP requests: the socket, and uvicorn on it."""

import asyncio
import logging
import signal
import socket
from collections.abc import Callable, Coroutine, Iterator
from contextlib import contextmanager
from typing import Final, TypeAlias

import structlog
import uvicorn

from heliograph.entry.app import App
from heliograph.entry.malformed import Protocol, not_told_twice

SHUTDOWN_S: Final = 8  # for requests under way when stopping
KEEP_ALIVE_S: Final = 65  # longer than the 60 s after which common proxies close an idle connection themselves
BACKLOG: Final = 2_048
STARTING_POLL_S: Final = 0.005

WhenReady: TypeAlias = Callable[[int], Coroutine[None, None, bool]]

log = structlog.get_logger(__name__)


class AddressInUse(Exception):
    """The address cannot be listened on."""


@contextmanager
def listening(host: str, port: int) -> Iterator[socket.socket]:
    """Raises AddressInUse."""
    try:
        listener = socket.create_server((host, port), family=socket.AF_INET6 if ":" in host else socket.AF_INET, backlog=BACKLOG)
    except OSError as error:
        why = (error.strerror or "").partition(" (while")[0]  # without the address, which create_server repeats
        raise AddressInUse(f"Cannot listen on {host} port {port}: {why}. Name another with --host or --port.") from error
    with listener:
        yield listener


def address_of(host: str, port: int) -> str:
    """`http://127.0.0.1:8080`, `http://[::1]:8080` (RFC 3986, 3.2.2)."""
    return f"http://[{host}]:{port}" if ":" in host else f"http://{host}:{port}"


class _Server(uvicorn.Server):
    """uvicorn without its signal handling: it would raise SIGTERM anew when it has stopped, before the carriers are unbound."""

    @contextmanager
    def capture_signals(self) -> Iterator[None]:
        yield

    def stop(self) -> None:
        """Answers what is under way and stops; asked a second time, it does not wait for slow clients."""
        self.force_exit = self.should_exit
        self.should_exit = True


async def answer(app: App, listener: socket.socket, keeping: "asyncio.Task[None]", when_ready: WhenReady | None = None) -> None:
    """Answers requests until a signal, or the end of `keeping`: then this process may not go on. `when_ready(port)` runs once requests are
    answered; when it returns False, that is the end too."""
    server = _Server(uvicorn.Config(
        app, http=Protocol, ws="none", loop="none", lifespan="off", access_log=False, log_config=None, server_header=False, proxy_headers=False,
        backlog=BACKLOG, timeout_graceful_shutdown=SHUTDOWN_S, timeout_keep_alive=KEEP_ALIVE_S))
    logging.getLogger("uvicorn.error").addFilter(not_told_twice)
    for signal_number in (signal.SIGTERM, signal.SIGINT):
        asyncio.get_running_loop().add_signal_handler(signal_number, server.stop)
    keeping.add_done_callback(lambda _: server.stop())
    serving = asyncio.create_task(server.serve(sockets=[listener]))
    while not server.started and not serving.done():
        await asyncio.sleep(STARTING_POLL_S)
    host, port, *_ = listener.getsockname()
    log.info("serving", address=address_of(host, port), database="postgresql" if app.postgresql else "sqlite")
    if when_ready is not None and not await _unless_stopped(when_ready(port), serving):
        server.stop()
    await serving


async def _unless_stopped(ready: Coroutine[None, None, bool], serving: "asyncio.Task[None]") -> bool:
    """What `when_ready` returns; False when the server was told to stop before it had."""
    told = asyncio.create_task(ready)
    await asyncio.wait({told, serving}, return_when=asyncio.FIRST_COMPLETED)
    if told.done():
        return told.result()
    told.cancel()
    await asyncio.gather(told, return_exceptions=True)
    return False
