"""The handbook's HAProxy lets one address hold only so much: its connections keep nobody
else out.
"""

import re
import socket
import time
from collections.abc import Callable
from contextlib import ExitStack, suppress
from pathlib import Path

from tests.support.crash.balancer import handbook_haproxy
from tests.support.crash.processes import ServerProcess
from tests.support.services import free_port
from tests.support.services.haproxy import HAProxy

GREEDY, OTHER = "127.0.0.30", "127.0.0.99"
PLACES = 250  # of the frontend here, instead of the handbook's 5,000
ASKED = b"GET /healthz HTTP/1.1\r\nHost: x\r\n\r\n"
ANSWERED_WITHIN_S = 3.0


def test_one_address_that_holds_connections_keeps_nobody_else_out(
    new_database: Callable[[str], str], tmp_path: Path
) -> None:
    port = free_port()
    configuration = handbook_haproxy(port, free_port())
    allowed = int(next(iter(re.findall(r"sc0_conn_cur gt (\d+)", configuration)), 0))
    assert configuration.count("maxconn 5000") == 1
    assert allowed < PLACES
    server = ServerProcess(
        new_database("sqlite"),
        tmp_path / "data",
        ["serve"],
        port,
        HELIOGRAPH_TRUSTED_PROXIES="127.0.0.1",
    )
    try:
        server.wait_until_ready()
        with (
            HAProxy(configuration.replace("maxconn 5000", f"maxconn {PLACES}")) as balancer,
            ExitStack() as held,
        ):
            greedy = [ask(held, balancer.port, GREEDY) for _ in range(PLACES + 50)]
            began_s = time.monotonic()
            assert answer(ask(held, balancer.port, OTHER)).startswith(b"HTTP/1.1 200 ")
            assert time.monotonic() - began_s < ANSWERED_WITHIN_S
            assert (
                sum(answer(connection).startswith(b"HTTP/1.1 200 ") for connection in greedy)
                == allowed
            )
    finally:
        assert server.end() == 0


def ask(held: ExitStack, port: int, source: str) -> socket.socket:
    """Returns a connection that asks, unless it is refused."""
    connection = held.enter_context(socket.socket())
    connection.settimeout(ANSWERED_WITHIN_S)
    connection.bind((source, 0))
    with suppress(OSError):
        connection.connect(("127.0.0.1", port))
        connection.sendall(ASKED)
    return connection


def answer(connection: socket.socket) -> bytes:
    with suppress(OSError):
        return connection.recv(65_536)
    return b""
