"""`/metrics` of a process that answers nothing else."""

import threading
import time

import httpx
import pytest

from heliograph.base.settings import SettingError
from heliograph.entry.counted import showing_metrics
from tests.services import free_port

TOKEN = "t" * 32


def read(host: str, port: int, token: bytes = b"") -> httpx.Response:
    headers = [(b"authorization", b"Bearer " + token)] if token else []
    return httpx.get(f"http://{f'[{host}]' if ':' in host else host}:{port}/metrics", headers=headers, timeout=10)


@pytest.mark.parametrize("host", ["127.0.0.1", "::1", "localhost"])
def test_on_this_machine_it_is_shown_without_a_token(host: str) -> None:
    port = free_port()
    with showing_metrics(host, port, None):
        assert (read(host, port).status_code, "heliograph_" in read(host, port).text) == (200, True)
    with pytest.raises(httpx.ConnectError):
        read(host, port)


def test_whoever_reads_shows_the_token_if_there_is_one() -> None:
    port = free_port()
    with showing_metrics("0.0.0.0", port, TOKEN):
        for wrong in (b"", TOKEN[:-1].encode(), TOKEN.encode() + b"t", b"\xfc"):
            refused = read("127.0.0.1", port, wrong)
            assert refused.status_code == 403
            assert "heliograph_" not in refused.text
        assert read("127.0.0.1", port, TOKEN.encode()).status_code == 200


@pytest.mark.parametrize("host", ["0.0.0.0", "::", "192.0.2.1", "metrics.example"])
def test_without_a_token_nobody_else_can_read_it(host: str) -> None:
    with pytest.raises(SettingError, match=r"--metrics-host.*HELIOGRAPH_METRICS_TOKEN"), showing_metrics(host, free_port(), None):
        pass


def test_an_address_that_cannot_be_had_is_named() -> None:
    port = free_port()
    with showing_metrics("127.0.0.1", port, None):
        for host, taken in (("127.0.0.1", port), ("192.0.2.1", free_port())):
            with pytest.raises(SettingError, match=rf"--metrics-port.*{taken} on {host}"), showing_metrics(host, taken, TOKEN):
                pass


def test_a_reader_that_never_ends_keeps_nobody() -> None:
    port = free_port()
    began_s = time.monotonic()
    with showing_metrics("127.0.0.1", port, None), httpx.stream("GET", f"http://127.0.0.1:{port}/metrics", timeout=10):
        assert any(thread.name == "metrics" for thread in threading.enumerate())
    assert time.monotonic() - began_s < 5
    assert not any(thread.name == "metrics" for thread in threading.enumerate())
