"""`/metrics` of a process that answers nothing else: what it has counted, for whoever may read it."""

import hmac
import ipaddress
import socket
import threading
from collections.abc import Callable, Iterable, Iterator
from contextlib import AbstractContextManager, contextmanager
from socketserver import TCPServer, ThreadingMixIn
from typing import Any, Final
from wsgiref.simple_server import WSGIRequestHandler, WSGIServer

from prometheus_client import make_wsgi_app

from heliograph.base import metrics
from heliograph.base.addresses import ListenAddress
from heliograph.base.settings import SettingError
from heliograph.entry.client import names_this_machine

REFUSED: Final = b"Metrics need the token of HELIOGRAPH_METRICS_TOKEN or, while there is none, a loopback address in Host.\n"


class _Server(ThreadingMixIn, WSGIServer):
    daemon_threads = True  # a reader that never ends must not keep the process

    def __init__(self, host: str, port: int) -> None:
        self.address_family = socket.AF_INET6 if ":" in host else socket.AF_INET
        super().__init__((host, port), _Silent)

    def server_bind(self) -> None:
        """Without asking a name server what this machine is called."""
        TCPServer.server_bind(self)
        self.server_name, self.server_port = str(self.server_address[0]), int(self.server_address[1])
        self.setup_environ()


class _Silent(WSGIRequestHandler):
    def log_message(self, format: str, *args: Any) -> None:  # noqa: A002  the base class's name of it
        """Nothing: who reads metrics does so every few seconds."""


def showing_metrics_at(address: ListenAddress | None, token: str | None) -> AbstractContextManager[None]:
    """The same at HELIOGRAPH_METRICS_ADDRESS, if it is set."""
    host, port = address or ("", None)
    return showing_metrics(host, port, token, "HELIOGRAPH_METRICS_ADDRESS", "HELIOGRAPH_METRICS_ADDRESS")


@contextmanager
def showing_metrics(host: str, port: int | None, token: str | None, host_named: str = "--metrics-host",
                    port_named: str = "--metrics-port") -> Iterator[None]:
    """While the block lasts, in a thread of its own; with `port` None nowhere. Whoever reads has to show the token, if there is one. Raises
    SettingError for an address that cannot be listened on, and for one that other machines reach while there is no token."""
    if port is None:
        yield
        return
    if not token and not _is_loopback(host):
        raise SettingError(host_named, host, "127.0.0.1 or ::1, or another with HELIOGRAPH_METRICS_TOKEN set")
    try:
        server = _Server(host, port)
    except OSError as error:
        raise SettingError(port_named, f"{port} on {host} ({error.strerror})", "a free port of an address of this machine") from error
    server.set_app(_guarded(token))
    thread = threading.Thread(target=server.serve_forever, name="metrics", daemon=True)
    thread.start()
    try:
        yield
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


def _is_loopback(host: str) -> bool:
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


def _guarded(token: str | None) -> Callable[[dict[str, Any], Callable[..., Any]], Iterable[bytes]]:
    shown = make_wsgi_app(metrics.registry())

    def answer(environ: dict[str, Any], start: Callable[..., Any]) -> Iterable[bytes]:
        given = environ.get("HTTP_AUTHORIZATION", "").encode("latin-1")
        host = environ.get("HTTP_HOST", "")
        if not (hmac.compare_digest(given, b"Bearer " + token.encode()) if token else names_this_machine(host)):
            start("403 Forbidden", [("Content-Type", "text/plain; charset=utf-8"), ("Content-Length", str(len(REFUSED)))])
            return [REFUSED]
        found: Iterable[bytes] = shown(environ, start)
        return found

    return answer
