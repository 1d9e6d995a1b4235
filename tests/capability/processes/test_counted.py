"""A process that answers nothing else answers `/metrics`."""

import socket
import threading
import time
from collections.abc import Iterator
from contextlib import suppress

import httpx
import pytest
from prometheus_client import CollectorRegistry, Metric

from heliograph.base import metrics
from heliograph.base.settings import SettingError
from heliograph.processes import metrics_server as counted
from heliograph.processes.metrics_server import CONNECTIONS_MAX, REQUEST_S, serve_metrics
from tests.support import plain_http
from tests.support.services import free_port

TOKEN = "t" * 32
PLACES = 16


def read(host: str, port: int, token: bytes = b"") -> httpx.Response:
    headers = [(b"authorization", b"Bearer " + token)] if token else []
    return plain_http.get(
        f"http://{f'[{host}]' if ':' in host else host}:{port}/metrics", headers=headers, timeout=10
    )


@pytest.mark.parametrize("host", ["127.0.0.1", "::1", "localhost"])
def test_on_this_machine_it_is_shown_without_a_token(host: str) -> None:
    port = free_port()
    with serve_metrics(host, port, None):
        assert (read(host, port).status_code, "heliograph_" in read(host, port).text) == (200, True)
    with pytest.raises(httpx.ConnectError):
        read(host, port)


def test_whoever_reads_shows_the_token_if_there_is_one() -> None:
    port = free_port()
    with serve_metrics("0.0.0.0", port, TOKEN):
        for wrong in (b"", TOKEN[:-1].encode(), TOKEN.encode() + b"t", b"\xfc"):
            refused = read("127.0.0.1", port, wrong)
            assert refused.status_code == 403
            assert "heliograph_" not in refused.text
        assert read("127.0.0.1", port, TOKEN.encode()).status_code == 200


@pytest.mark.parametrize("host", ["0.0.0.0", "::", "192.0.2.1", "metrics.example"])
def test_without_a_token_nobody_else_can_read_it(host: str) -> None:
    with (
        pytest.raises(SettingError, match=r"--metrics-host.*HELIOGRAPH_METRICS_TOKEN"),
        serve_metrics(host, free_port(), None),
    ):
        pass


def test_an_address_that_cannot_be_had_is_named() -> None:
    port = free_port()
    with serve_metrics("127.0.0.1", port, None):
        for host, taken in (("127.0.0.1", port), ("192.0.2.1", free_port())):
            with (
                pytest.raises(SettingError, match=rf"--metrics-port.*{taken} on {host}"),
                serve_metrics(host, taken, TOKEN),
            ):
                pass


def test_a_reader_that_never_ends_keeps_nobody() -> None:
    port = free_port()
    began_s = time.monotonic()
    with (
        serve_metrics("127.0.0.1", port, None),
        plain_http.stream("GET", f"http://127.0.0.1:{port}/metrics", timeout=10),
    ):
        assert any(thread.name == "metrics" for thread in threading.enumerate())
    assert time.monotonic() - began_s < 5
    assert not any(thread.name == "metrics" for thread in threading.enumerate())


@pytest.mark.parametrize(
    "said", [b"", b"GET /metrics HTTP/1.1\r\nHost: x\r\nX: "], ids=["nothing", "half a request"]
)
def test_who_only_holds_connections_keeps_no_reader_away(
    said: bytes, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(counted, "CONNECTIONS_MAX", PLACES)
    port = free_port()
    idle: list[socket.socket] = []
    with serve_metrics("127.0.0.1", port, None):
        threads = threading.active_count()
        for _ in range(5 * PLACES):
            idle.append(socket.create_connection(("127.0.0.1", port), timeout=10))
            idle[-1].sendall(said)
        began_s = time.monotonic()
        assert read("127.0.0.1", port).status_code == 200
        assert time.monotonic() - began_s < REQUEST_S
        assert threading.active_count() == threads  # nor does it take a thread for each
        ended = [connection for connection in idle if is_closed(connection)]
        assert len(ended) >= 4 * PLACES
    for connection in idle:
        connection.close()


def test_of_many_connections_those_end_that_have_not_asked(monkeypatch: pytest.MonkeyPatch) -> None:
    """Beside others who only come, a reader that has asked is given the whole answer,
    however long it takes to arrive.
    """
    monkeypatch.setattr(metrics, "registry", lambda: Long())
    port = free_port()
    with (
        serve_metrics("127.0.0.1", port, None),
        socket.create_connection(("127.0.0.1", port), timeout=10) as reader,
    ):
        reader.sendall(b"GET /metrics HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n")
        got = len(reader.recv(1))  # the answer has begun, and is more than stands in the socket
        for _ in range(2 * CONNECTIONS_MAX):
            socket.create_connection(("127.0.0.1", port), timeout=10).close()
        while part := reader.recv(1 << 20):
            got += len(part)
    assert got > Long.OCTETS


def test_two_host_fields_are_no_host() -> None:
    """A page that a browser believes to be the first one's may not read as the second one's."""
    port = free_port()
    with (
        serve_metrics("127.0.0.1", port, None),
        socket.create_connection(("127.0.0.1", port), timeout=10) as reader,
    ):
        reader.sendall(b"GET /metrics HTTP/1.1\r\nHost: 127.0.0.1\r\nHost: evil.example\r\n\r\n")
        assert reader.recv(1024).split()[1] == b"403"


class Long(CollectorRegistry):
    """Has more to tell than a socket takes at once."""

    OCTETS = 16 << 20

    def collect(self) -> Iterator[Metric]:
        yield Metric("long", "x" * self.OCTETS, "gauge")


def test_a_request_has_so_long_to_come(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(counted, "REQUEST_S", 0.3)
    port = free_port()
    with (
        serve_metrics("127.0.0.1", port, None),
        socket.create_connection(("127.0.0.1", port), timeout=0.05) as client,
    ):
        until_s = time.monotonic() + 10
        with suppress(ConnectionError):
            while time.monotonic() < until_s and not is_closed(client):
                client.sendall(b"G")
        assert time.monotonic() < until_s


@pytest.mark.parametrize(
    "head", [b"\r\n\r\n", b"GET\r\n\r\n", b"\xff\xfe \x00\r\n:\r\n\r\n", b"GET /" + b"x" * 9_000]
)
def test_what_is_no_request_ends_its_connection_and_nothing_else(head: bytes) -> None:
    port = free_port()
    with (
        serve_metrics("127.0.0.1", port, TOKEN),
        socket.create_connection(("127.0.0.1", port), timeout=10) as client,
    ):
        client.sendall(head)
        with suppress(ConnectionError):
            while said := client.recv(65_536):
                assert b"heliograph_" not in said
        assert read("127.0.0.1", port, TOKEN.encode()).status_code == 200


def is_closed(connection: socket.socket) -> bool:
    connection.settimeout(0.05)
    try:
        return not connection.recv(1, socket.MSG_PEEK)
    except TimeoutError:
        return False
    except ConnectionError:
        return True
