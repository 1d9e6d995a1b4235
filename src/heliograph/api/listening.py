"""Listens for HTTP requests: opens the socket, and runs uvicorn on it."""

import asyncio
import socket
from collections.abc import Callable, Coroutine, Iterable, Iterator
from contextlib import contextmanager
from typing import Final, TypeAlias

from heliograph.api.shutdown import Server, backlog
from heliograph.base.log import Log
from heliograph.base.periodic import until

STARTING_POLL_S: Final = 0.005

WhenReady: TypeAlias = Callable[[int], Coroutine[None, None, bool]]

log = Log(__name__)


class AddressInUse(Exception):
    """The address cannot be listened on."""


@contextmanager
def listen(host: str, port: int) -> Iterator[socket.socket]:
    """Opens the socket that a server listens on, and closes it at the end. Raises AddressInUse."""
    try:
        listener = socket.create_server(
            (host, port),
            family=socket.AF_INET6 if ":" in host else socket.AF_INET,
            backlog=backlog(),
        )
    except OSError as error:
        # without the address, which create_server repeats
        why = (error.strerror or "").partition(" (while")[0]
        raise AddressInUse(
            f"Cannot listen on {host} port {port}: {why}. Name another with --host or --port."
        ) from error
    with listener:
        yield listener


def address_of(host: str, port: int) -> str:
    """Returns an address such as `http://127.0.0.1:8080` or `http://[::1]:8080` (RFC 3986,
    3.2.2).
    """
    return f"http://[{host}]:{port}" if ":" in host else f"http://{host}:{port}"


async def serve_until_stopped(
    server: Server,
    listener: socket.socket,
    keeping: "Iterable[asyncio.Task[None]]",
    when_ready: WhenReady | None = None,
) -> None:
    """Answers requests until the server is told to stop, or until one of `keeping` ends: then this
    process may not go on. `when_ready(port)` runs once requests are answered; when it returns
    False, that is the end too.
    """
    for task in keeping:
        # cancelled by whoever has stopped it: all is well
        task.add_done_callback(lambda ended: None if ended.cancelled() else server.stop())
    serving = asyncio.create_task(server.serve(sockets=[listener]))
    await until(lambda: server.started or serving.done(), look_s=STARTING_POLL_S)
    host, port, *_ = listener.getsockname()
    log.info(
        "serving",
        address=address_of(host, port),
        database="postgresql" if server.app.postgresql else "sqlite",
    )
    if when_ready is not None and not await _unless_stopped(when_ready(port), serving):
        server.stop()
    await serving


async def _unless_stopped(
    ready: Coroutine[None, None, bool], serving: "asyncio.Task[None]"
) -> bool:
    """Returns what `when_ready` returns, or False when the server was told to stop before it
    had.
    """
    readiness = asyncio.create_task(ready)
    await asyncio.wait({readiness, serving}, return_when=asyncio.FIRST_COMPLETED)
    if readiness.done():
        return readiness.result()
    readiness.cancel()
    await asyncio.gather(readiness, return_exceptions=True)
    return False
