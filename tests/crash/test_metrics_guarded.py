"""The handbook's HAProxy guards `/metrics`: nobody outside reads it, however the request is spelt.
At an address of its own it is read.
"""

import socket
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

import pytest

from tests.support import plain_http
from tests.support.crash.balancer import handbook_haproxy
from tests.support.crash.processes import ServerProcess
from tests.support.services import free_port
from tests.support.services.haproxy import HAProxy

TRIES = 10
# as which the proxy then takes a client of this machine
OUTSIDE = b"PROXY TCP4 203.0.113.9 127.0.0.1 5555 80\r\n"
SPELLINGS = (
    b"/metrics",
    b"/%6detrics",
    b"/metrics?x",
    b"//metrics",
    b"/metrics#x",
    b"/./metrics",
    b"http://127.0.0.1/metrics",
    b"/metrics/",
)
FORGED = (
    b"X-Forwarded-For: 127.0.0.1\r\n",
    b"X-Forwarded-For: ::1\r\n",
    b"Forwarded: for=127.0.0.1\r\n",
    b"Host: 127.0.0.1\r\n",
)


def outside(port: int, spelling: bytes, header: bytes, trailer: bytes) -> bytes:
    """Returns what a client from elsewhere is answered."""
    with socket.create_connection(("127.0.0.1", port), timeout=10) as connection:
        connection.sendall(
            OUTSIDE
            + b"GET %b HTTP/1.1\r\nHost: 127.0.0.1\r\nConnection: close\r\n%bTransfer-Encoding:"
            b" chunked\r\n\r\n0\r\n%b\r\n" % (spelling, header, trailer)
        )
        answer = b""
        with suppress(OSError):
            while part := connection.recv(65_536):
                answer += part
        return answer


@pytest.mark.parametrize("own_address", [False, True])
def test_nobody_outside_reads_metrics_through_the_handbooks_haproxy(
    new_database: Callable[[str], str], tmp_path: Path, own_address: bool
) -> None:
    metrics_port, port, for_outside = free_port(), free_port(), free_port()
    env = {"HELIOGRAPH_METRICS_ADDRESS": f"127.0.0.1:{metrics_port}"} if own_address else {}
    server = ServerProcess(
        new_database("sqlite"),
        tmp_path / "data",
        ["serve"],
        port,
        HELIOGRAPH_TRUSTED_PROXIES="127.0.0.1",
        **env,
    )
    configuration = handbook_haproxy(port, free_port()).replace(
        "    bind 127.0.0.1:8080\n",
        f"    bind 127.0.0.1:8080\n    bind 127.0.0.1:{for_outside} accept-proxy\n",
    )
    try:
        server.wait_until_ready()
        with HAProxy(configuration) as balancer:
            assert outside(for_outside, b"/readyz", b"", b"").startswith(b"HTTP/1.1 200 ")
            answers = [
                outside(for_outside, spelling, header, trailer)
                for spelling in SPELLINGS
                for header in (b"", *FORGED)
                for trailer in FORGED
            ]
            answers += [
                outside(for_outside, b"/%6detrics", b"", b"X-Forwarded-For: ::1\r\n")
                for _ in range(TRIES)
            ]
            assert not [
                answer
                for answer in answers
                if b"heliograph_" in answer or answer.startswith(b"HTTP/1.1 200")
            ]
            assert plain_http.get(f"{balancer.address}/metrics").status_code == 404
        direct = plain_http.get(f"{server.address}/metrics")
        if own_address:
            assert direct.status_code == 404
            assert (
                "heliograph_requests_total"
                in plain_http.get(f"http://127.0.0.1:{metrics_port}/metrics").text
            )
            assert (
                plain_http.get(
                    f"http://127.0.0.1:{metrics_port}/metrics", headers={"Host": "rebound.example"}
                ).status_code
                == 403
            )
    finally:
        assert server.end() == 0
