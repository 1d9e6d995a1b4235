"""When the port is closed, nobody new comes in, and nobody who was in is cut off."""

import asyncio
import socket
import struct
import threading
import time
from pathlib import Path

import pytest

from heliograph.api.app import App
from heliograph.api.listening import listen, serve_until_stopped
from heliograph.api.shutdown import Server, refuse_new
from heliograph.base import open_files
from heliograph.base.settings import load
from heliograph.database.database import Database
from tests.support.factories import awaited

LATE = 200
ANSWERED_WITHIN_S = 10.0
# octets before it in <linux/tcp.h>'s tcp_info: of a listening socket, tcpi_sacked
LONGEST_QUEUE = 28


def test_who_was_there_is_accepted_and_who_comes_is_not() -> None:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        address = listener.getsockname()
        with socket.create_connection(address, timeout=5) as first:
            refuse_new(listener)
            with pytest.raises(TimeoutError):
                socket.create_connection(address, timeout=0.2).close()
            accepted, _ = listener.accept()
            with accepted:
                first.sendall(b"hello")
                assert accepted.recv(5) == b"hello"
            listener.setblocking(False)
            with pytest.raises(BlockingIOError):
                listener.accept()


class Crowded(Server):
    """Lets many clients come when it is about to close its port. They say what they want when it
    has closed it.
    """

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        address = (sockets or [])[0].getsockname()
        # the loop can take none of them meanwhile
        late = [socket.create_connection(address, timeout=ANSWERED_WITHIN_S) for _ in range(LATE)]
        self.answers: list[bytes] = []
        self.clients = threading.Thread(target=self._ask, args=(late,))
        self.clients.start()
        await super().shutdown(sockets)

    def _ask(self, late: list[socket.socket]) -> None:
        while self.servers[0].is_serving():
            time.sleep(0.01)
        for client in late:
            client.sendall(b"GET /healthz HTTP/1.1\r\nHost: heliograph\r\n\r\n")
        for client in late:
            with client:
                self.answers.append(client.makefile("rb").read())


@awaited
async def test_those_in_the_queue_are_answered_when_the_port_is_closed(
    sqlite_url: str, tmp_path: Path
) -> None:
    db = Database(sqlite_url)
    app = App(load(tmp_path, {"DATABASE_URL": sqlite_url}), db, lambda _: None)
    await app.start()
    server = Crowded(app, 0.0)
    with listen("127.0.0.1", 0) as listener:
        asyncio.get_running_loop().call_later(0.1, server.stop)
        await serve_until_stopped(
            server, listener, [asyncio.create_task(asyncio.sleep(ANSWERED_WITHIN_S))]
        )
    await asyncio.to_thread(server.clients.join)
    await app.stop()
    await db.close_hot()
    db.close()
    assert [line.partition(b"\r\n")[0] for line in server.answers] == [b"HTTP/1.1 200 OK"] * LATE
    assert all(b"connection: close\r\n" in answered for answered in server.answers)


@awaited
async def test_the_queue_of_the_socket_is_a_part_of_the_files_also_while_requests_are_answered(
    sqlite_url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(open_files, "limit", lambda: 800)
    db = Database(sqlite_url)
    app = App(load(tmp_path, {"DATABASE_URL": sqlite_url}), db, lambda _: None)
    await app.start()
    found = []
    with listen("127.0.0.1", 0) as listener:

        async def when_ready(_: int) -> bool:
            found.append(
                struct.unpack_from(
                    "=I",
                    listener.getsockopt(socket.IPPROTO_TCP, socket.TCP_INFO, 64),
                    LONGEST_QUEUE,
                )[0]
            )
            return False

        await serve_until_stopped(Server(app, 0.0), listener, [], when_ready)
    await app.stop()
    await db.close_hot()
    db.close()
    assert found == [100]
