"""The proxy does what rows of the matrix ask of it, seen from both of its ends."""

import socket
import threading
import time
from collections.abc import Iterator

import pytest

from tests.support.faults.proxy import COMMITTED, Proxy

SOON_S = 10.0
NEVER_S = 0.3  # nothing came within this time


class Ends:
    """Holds a client's socket, and the server's."""

    def __init__(self, proxy: Proxy, listener: socket.socket) -> None:
        self.client = socket.create_connection(("127.0.0.1", proxy.port), SOON_S)
        self.server, _ = listener.accept()
        self.server.settimeout(SOON_S)


@pytest.fixture
def listener() -> Iterator[socket.socket]:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        listener.settimeout(SOON_S)
        yield listener


@pytest.fixture
def proxy(listener: socket.socket) -> Iterator[Proxy]:
    with Proxy(listener.getsockname()[1]) as proxy:
        yield proxy


@pytest.fixture
def ends(proxy: Proxy, listener: socket.socket) -> Iterator[Ends]:
    ends = Ends(proxy, listener)
    yield ends
    ends.client.close()
    ends.server.close()


def silent(end: socket.socket) -> bool:
    end.settimeout(NEVER_S)
    try:
        end.recv(100)
    except TimeoutError:
        return True
    finally:
        end.settimeout(SOON_S)
    return False


def test_it_passes_on_what_both_say_and_that_they_have_ended(proxy: Proxy, ends: Ends) -> None:
    ends.client.sendall(b"hello")
    assert ends.server.recv(100) == b"hello"
    threading.Thread(target=ends.server.sendall, args=(b"x" * 1_000_000,)).start()
    with ends.client.makefile("rb") as file:
        assert file.read(1_000_000) == b"x" * 1_000_000
    ends.client.shutdown(socket.SHUT_WR)
    assert ends.server.recv(100) == b""
    assert (proxy.connected, proxy.open) == (1, 1)


@pytest.mark.parametrize("reset", [True, False])
def test_it_cuts_with_rst_or_fin(proxy: Proxy, ends: Ends, reset: bool) -> None:
    ends.client.sendall(b"hello")
    assert ends.server.recv(100) == b"hello"
    assert proxy.cut(reset=reset) == 1
    for end in (ends.client, ends.server):
        if reset:
            with pytest.raises(ConnectionResetError):
                end.recv(100)
        else:
            assert end.recv(100) == b""
    assert proxy.open == 0


def test_it_refuses_until_it_accepts(proxy: Proxy, ends: Ends, listener: socket.socket) -> None:
    ends.client.sendall(b"hello")
    assert ends.server.recv(100) == b"hello"
    assert proxy.refuse() == 1
    with pytest.raises(ConnectionRefusedError):
        socket.create_connection(("127.0.0.1", proxy.port), SOON_S)
    proxy.accept()
    again = Ends(proxy, listener)
    again.client.sendall(b"hello")
    assert again.server.recv(100) == b"hello"
    again.client.close()
    again.server.close()


def test_it_swallows_what_one_or_both_say_on_connections_that_there_are(
    proxy: Proxy, ends: Ends, listener: socket.socket
) -> None:
    proxy.swallow("client")
    ends.client.sendall(b"hello")
    assert silent(ends.server)
    ends.server.sendall(b"hello")
    assert ends.client.recv(100) == b"hello"
    proxy.swallow()
    ends.server.sendall(b"hello")
    assert silent(ends.client)
    later = Ends(proxy, listener)
    later.client.sendall(b"hello")
    assert later.server.recv(100) == b"hello"
    later.client.close()
    later.server.close()
    ends.client.close()
    with pytest.raises(ConnectionResetError):
        ends.server.recv(100)


def test_it_swallows_new_connections_too_if_told(proxy: Proxy, listener: socket.socket) -> None:
    proxy.swallow(new_ones_too=True)
    ends = Ends(proxy, listener)
    ends.client.sendall(b"hello")
    assert silent(ends.server)
    proxy.swallow_no_more()
    later = Ends(proxy, listener)
    later.client.sendall(b"hello")
    assert later.server.recv(100) == b"hello"
    for end in (ends.client, ends.server, later.client, later.server):
        end.close()


def test_it_delays_each_direction_for_itself(proxy: Proxy, ends: Ends) -> None:
    proxy.delay(server_s=0.5)
    ends.client.sendall(b"hello")
    assert ends.server.recv(100) == b"hello"
    began_s = time.monotonic()
    ends.server.sendall(b"hello")
    assert ends.client.recv(100) == b"hello"
    assert time.monotonic() - began_s >= 0.5


@pytest.mark.parametrize("then", ["cut", "swallow"])
def test_it_loses_the_reply_that_is_meant_and_no_other(proxy: Proxy, ends: Ends, then: str) -> None:
    loss = proxy.lose(
        lambda said, heard: COMMITTED in said and heard.endswith(b"this one"),
        said_by="server",
        then="cut" if then == "cut" else "swallow",
    )
    ends.client.sendall(b"another one")
    assert ends.server.recv(100) == b"another one"
    ends.server.sendall(COMMITTED)
    assert ends.client.recv(100) == COMMITTED
    ends.client.sendall(b"this one")
    assert ends.server.recv(100) == b"this one"
    ends.server.sendall(b"before " + COMMITTED)
    loss.wait()
    if then == "cut":
        with pytest.raises(ConnectionResetError):
            ends.client.recv(100)
    else:
        assert silent(ends.client)
