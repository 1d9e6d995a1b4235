"""Serves `/metrics` for a process that answers nothing else, to those who may read it.

Its connections are no way to do the process harm, which needs its files for carriers and webhooks:
there are few, each is for one request, and each has little time. One more than there may be ends
the oldest that has not brought its request yet. So nobody keeps readers away by holding
connections, or by making new ones all the time.
"""

import asyncio
import hmac
import ipaddress
import socket
import threading
from collections.abc import Callable, Iterable, Iterator
from contextlib import AbstractContextManager, contextmanager, suppress
from typing import Any, Final, TypeAlias

from prometheus_client import make_wsgi_app

from heliograph.api.client_address import names_this_machine
from heliograph.base import clock, metrics, open_files
from heliograph.base.addresses import ListenAddress
from heliograph.base.log import Log
from heliograph.base.settings import SettingError

REFUSED: Final = (
    b"Metrics need the token of HELIOGRAPH_METRICS_TOKEN. If no token is set, Host must name a"
    b" loopback address.\n"
)
# a few readers, every few seconds; beside 5,000 new connections a second one has 25 ms to bring its
# request
CONNECTIONS_MAX: Final = 128
# a sixteenth of the files that a process may open: API and webhooks have seven eighths
FILES_SHARE: Final = 16
BACKLOG: Final = 128  # past it a reader would be let in a second later, when it asks again
HEAD_OCTETS_MAX: Final = 8_192
REQUEST_S: Final = 5.0  # from the connection to the end of the request's head
ANSWER_S: Final = 5.0  # for the answer to be taken
TOLD_S: Final = 60.0  # how often the log says that connections were ended for newer ones

Application: TypeAlias = Callable[[dict[str, Any], Callable[..., Any]], Iterable[bytes]]

log = Log(__name__)


def serve_metrics_at(
    address: ListenAddress | None, token: str | None
) -> AbstractContextManager[None]:
    """Shows the metrics at HELIOGRAPH_METRICS_ADDRESS, if it is set."""
    host, port = address or ("", None)
    return serve_metrics(
        host, port, token, "HELIOGRAPH_METRICS_ADDRESS", "HELIOGRAPH_METRICS_ADDRESS"
    )


@contextmanager
def serve_metrics(
    host: str,
    port: int | None,
    token: str | None,
    host_named: str = "--metrics-host",
    port_named: str = "--metrics-port",
) -> Iterator[None]:
    """Shows metrics while the block lasts, in a thread of its own; with `port` None nowhere.
    Readers have to show the token, if there is one. Raises SettingError for an address that
    cannot be listened on, and for one that other machines reach while there is no token.
    """
    if port is None:
        yield
        return
    if not token and not _is_loopback(host):
        raise SettingError(
            host_named, host, "127.0.0.1 or ::1, or another with HELIOGRAPH_METRICS_TOKEN set"
        )
    try:
        listener = socket.create_server(
            (host, port), family=socket.AF_INET6 if ":" in host else socket.AF_INET, backlog=BACKLOG
        )
    except OSError as error:
        # without the address, which create_server repeats
        why = (error.strerror or "").partition(" (while")[0]
        raise SettingError(
            port_named, f"{port} on {host} ({why})", "a free port of an address of this machine"
        ) from error
    readers = _Readers(_require_token(token))
    thread = threading.Thread(
        target=asyncio.run, args=(readers.serve(listener),), name="metrics", daemon=True
    )
    thread.start()
    try:
        yield
    finally:
        readers.end()
        thread.join()


class _Readers:
    """Lists those who are connected, the oldest first, and which of them have sent their request.

    `serve` runs in a thread of its own until `end`, which is for any other thread.
    """

    def __init__(self, application: Application) -> None:
        self._application = application
        self._most = max(1, min(CONNECTIONS_MAX, open_files.limit() // FILES_SHARE))
        self._connected: dict[asyncio.StreamWriter, asyncio.Task[Any] | None] = {}
        self._logged_s = float("-inf")
        self._asked: dict[asyncio.StreamWriter, None] = {}
        self._started = threading.Event()

    async def serve(self, listener: socket.socket) -> None:
        self._loop, self._ended = asyncio.get_running_loop(), asyncio.Event()
        server = await asyncio.start_server(self._handle, sock=listener, limit=HEAD_OCTETS_MAX)
        self._started.set()
        await self._ended.wait()
        server.close()
        for writer in self._connected:
            writer.transport.abort()
        await asyncio.gather(*filter(None, self._connected.values()), return_exceptions=True)

    def end(self) -> None:
        self._started.wait()
        self._loop.call_soon_threadsafe(self._ended.set)

    async def _handle(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        if len(self._connected) >= self._most:
            self._end_oldest()
        self._connected[writer] = asyncio.current_task()
        try:
            await self._answer(reader, writer)
        except (OSError, TimeoutError, asyncio.IncompleteReadError, asyncio.LimitOverrunError):
            writer.transport.abort()  # no request came, or nobody took the answer
        finally:
            self._connected.pop(writer, None)
            self._asked.pop(writer, None)
            writer.close()

    def _end_oldest(self) -> None:
        oldest = next(
            (writer for writer in self._connected if writer not in self._asked), None
        ) or next(iter(self._connected))
        del self._connected[oldest]
        self._asked.pop(oldest, None)
        oldest.transport.abort()
        if clock.monotonic_s() - self._logged_s >= TOLD_S:
            self._logged_s = clock.monotonic_s()
            log.warning("metrics_connections_ended", connections=self._most)

    async def _answer(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        async with asyncio.timeout(REQUEST_S):
            head = await reader.readuntil(b"\r\n\r\n")
        if writer not in self._connected:  # ended meanwhile
            return
        self._asked[writer] = None
        writer.write(_answer_octets(self._application, head.decode("latin-1")))
        async with asyncio.timeout(ANSWER_S):
            await writer.drain()
            writer.close()
            with suppress(ConnectionError):
                await writer.wait_closed()


def _answer_octets(application: Application, head: str) -> bytes:
    """Returns the whole answer to a request with this head, after which the connection is
    closed.
    """
    request, *lines = head.split("\r\n")
    method, _, rest = request.partition(" ")
    path, _, query = rest.partition(" ")[0].partition("?")
    environ: dict[str, Any] = {"REQUEST_METHOD": method, "PATH_INFO": path, "QUERY_STRING": query}
    for line in lines:
        name, _, value = line.partition(":")
        field = "HTTP_" + name.upper().replace("-", "_")
        # two of Host are no host (RFC 9110, 5.3)
        environ[field] = f"{environ[field]}, {value.strip()}" if field in environ else value.strip()
    started: list[str] = []

    def start(status: str, headers: list[tuple[str, str]]) -> None:
        started.extend(
            (
                f"HTTP/1.1 {status}",
                *(
                    f"{name}: {value}"
                    for name, value in headers
                    if name.lower() != "content-length"
                ),
            )
        )

    body = b"".join(application(environ, start))
    return (
        "\r\n".join([*started, f"Content-Length: {len(body)}", "Connection: close", "", ""]).encode(
            "latin-1"
        )
        + body
    )


def _is_loopback(host: str) -> bool:
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


def _require_token(token: str | None) -> Application:
    metrics_app = make_wsgi_app(metrics.registry())

    def answer(environ: dict[str, Any], start: Callable[..., Any]) -> Iterable[bytes]:
        given = environ.get("HTTP_AUTHORIZATION", "").encode("latin-1")
        host = environ.get("HTTP_HOST", "")
        if not (
            hmac.compare_digest(given, b"Bearer " + token.encode())
            if token
            else names_this_machine(host)
        ):
            start("403 Forbidden", [("Content-Type", "text/plain; charset=utf-8")])
            return [REFUSED]
        found: Iterable[bytes] = metrics_app(environ, start)
        return found

    return answer
