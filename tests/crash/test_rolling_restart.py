"""API processes are stopped and started anew under load: behind the handbook's HAProxy no request
fails, and without one none is cut off.
"""

import os
import signal
import socket
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import NamedTuple

import psycopg
import pytest

from heliograph.database.database import Database
from tests.support import plain_http
from tests.support.crash.balancer import handbook_haproxy
from tests.support.crash.clients import FIRST_RECIPIENT, PATH, load, order_to
from tests.support.crash.processes import ServerProcess
from tests.support.crash.remembering_smsc import remembering_smsc
from tests.support.factories import issue_key, open_account, open_carrier, open_route
from tests.support.polling import wait_until
from tests.support.services import free_port
from tests.support.services.haproxy import HAProxy

ROUNDS = 1
GONE_WITHIN_S = 30.0
NOTICED_WITHIN_S = 10.0
WAITING = 100  # in a socket's queue


class RestartedDeployment(NamedTuple):
    """A deployment is a database with an account that may send, and what its API processes are
    told.
    """

    url: str
    redis: dict[str, str]
    key: str
    directory: Path
    started: list[ServerProcess]

    def api(self, *options: str, port: int | None = None, drain_s: str = "") -> ServerProcess:
        """Starts `heliograph api`, and returns it when it is ready. No drain is set, unless
        `drain_s` says one.
        """
        started = ServerProcess(
            self.url,
            self.directory / f"api-{port}",
            ["api", *options],
            port,
            **self.redis,
            HELIOGRAPH_DRAIN_S=drain_s,
        )
        self.started.append(started)
        started.wait_until_ready()
        return started

    def stored(self) -> Counter[int]:
        """Returns how many messages there are to each recipient."""
        with psycopg.connect(self.url) as sql:
            return Counter(
                recipient for (recipient,) in sql.execute("SELECT recipient FROM messages")
            )


@pytest.fixture
def deployment(
    new_database: Callable[[str], str], redis_url: str, tmp_path: Path
) -> Iterator[RestartedDeployment]:
    url = new_database("postgresql")
    db = Database(url)
    open_route(db)
    key = issue_key(db, open_account(db, credits=1_000_000))
    db.close()
    deployment = RestartedDeployment(url, {"REDIS_URL": redis_url}, key, tmp_path, [])
    yield deployment
    for api in deployment.started:
        api.process.kill()
        api.process.wait()


def read_all(connection: socket.socket) -> bytes:
    connection.settimeout(NOTICED_WITHIN_S)
    parts = []
    while part := connection.recv(65_536):
        parts.append(part)
    return b"".join(parts)


def test_two_api_processes_are_restarted_in_turn_and_no_request_fails(
    deployment: RestartedDeployment,
) -> None:
    ports = [free_port(), free_port()]
    apis = {port: deployment.api(port=port) for port in ports}
    with (
        HAProxy(handbook_haproxy(*ports)) as balancer,
        load(balancer.address, deployment.key) as kinds,
    ):
        for port in ports * ROUNDS:
            apis[port].process.terminate()
            assert apis[port].process.wait(GONE_WITHIN_S) == 0, apis[port].log[-2_000:]
            apis[port] = deployment.api(port=port)
    print([len(clients.answered) for clients in kinds], Counter(kinds[0].failed + kinds[1].failed))
    for api in apis.values():
        api.process.send_signal(signal.SIGINT)
        assert api.process.wait(GONE_WITHIN_S) == 0
    assert [clients.failed for clients in kinds] == [[], []]
    assert all(len(clients.answered) > 200 for clients in kinds)
    assert deployment.stored() == Counter(kinds[0].answered + kinds[1].answered)


@pytest.mark.parametrize(
    "to", ["the one that was started", "all of them, as a service manager does"]
)
def test_while_it_drains_all_are_answered_and_afterwards_nobody_is_cut_off(
    deployment: RestartedDeployment, to: str
) -> None:
    api = deployment.api("--workers", "2", drain_s="2")
    api.wait_for_event("serving", NOTICED_WITHIN_S, times=2)
    told = [api.process.pid, *(process.pid for process in api.answering())][
        : 1 if to == "the one that was started" else None
    ]
    with load(api.address, deployment.key) as kinds:
        for pid in told:
            os.kill(pid, signal.SIGTERM)
        wait_until(
            lambda: plain_http.get(f"{api.address}/readyz").status_code == 503,
            "it is not ready",
            NOTICED_WITHIN_S,
        )
        answered = [len(clients.answered) for clients in kinds]
        ready = plain_http.get(f"{api.address}/readyz")
        assert (
            ready.status_code,
            ready.json()["error"]["reason"],
            ready.headers["connection"],
        ) == (503, "stopping", "close")
        assert plain_http.get(f"{api.address}/healthz").headers["connection"] == "close"
        assert api.process.wait(GONE_WITHIN_S) == 0
    for clients, before in zip(kinds, answered, strict=True):
        assert len(clients.answered) > before + 20
        assert set(clients.failed) == {"ConnectionRefusedError"}
    assert deployment.stored() == Counter(kinds[0].answered + kinds[1].answered)


@pytest.mark.parametrize("workers", [1, 2])
def test_one_of_the_processes_is_replaced_and_no_request_fails(
    deployment: RestartedDeployment, workers: int
) -> None:
    api = deployment.api("--workers", str(workers), drain_s="1")
    api.wait_for_event("serving", NOTICED_WITHIN_S, times=workers)
    with load(api.address, deployment.key) as kinds:
        api.answering()[0].terminate()
        until_s = time.monotonic() + GONE_WITHIN_S
        while api.log.count('"serving"') <= workers:
            assert time.monotonic() < until_s, api.log[-2_000:]
            assert plain_http.get(f"{api.address}/readyz", timeout=10).status_code == 200
            time.sleep(0.1)
    assert '"status": 0' in api.log
    assert api.end() == 0
    assert [clients.failed for clients in kinds] == [[], []]
    assert deployment.stored() == Counter(kinds[0].answered + kinds[1].answered)


@pytest.mark.parametrize("first", [signal.SIGTERM, signal.SIGINT])
def test_who_is_at_a_terminal_or_asks_twice_does_not_wait(
    deployment: RestartedDeployment, first: signal.Signals
) -> None:
    api = deployment.api("--workers", "2", drain_s="15")
    api.wait_for_event("serving", NOTICED_WITHIN_S, times=2)
    began_s = time.monotonic()
    api.process.send_signal(first)
    if first == signal.SIGTERM:
        api.wait_for_event("stopping", NOTICED_WITHIN_S, times=2)
        api.process.send_signal(signal.SIGTERM)
    assert api.process.wait(GONE_WITHIN_S) == 0
    assert time.monotonic() - began_s < 10


@contextmanager
def serving(url: str, directory: Path, drain_s: str) -> Iterator[tuple[ServerProcess, str]]:
    """Yields `heliograph serve` with an account that may send, and its key."""
    db = Database(url)
    key = issue_key(db, open_account(db, credits=1_000))
    server = ServerProcess(url, directory / "serve", HELIOGRAPH_DRAIN_S=drain_s)
    try:
        server.wait_until_ready()
        yield server, key
        assert server.process.wait(GONE_WITHIN_S) == 0, server.log[-2_000:]
    finally:
        db.close()
        server.process.kill()
        server.process.wait()


def test_carriers_are_unbound_while_requests_are_still_answered(
    sqlite_url: str, tmp_path: Path
) -> None:
    with remembering_smsc() as smsc:
        db = Database(sqlite_url)
        open_carrier(db, port=smsc.port)
        db.close()
        with serving(sqlite_url, tmp_path, drain_s="4") as (server, key):
            wait_until(lambda: smsc.sessions, "a bind", NOTICED_WITHIN_S)
            told_s = time.monotonic()
            server.process.terminate()
            wait_until(lambda: not smsc.sessions, "no bind is left", NOTICED_WITHIN_S)
            answer = plain_http.post(
                server.address + PATH,
                content=order_to(FIRST_RECIPIENT),
                headers={"Authorization": f"Bearer {key}"},
            )
            assert (answer.status_code, answer.headers["connection"]) == (200, "close")
        assert time.monotonic() - told_s >= 4


def test_those_in_the_queue_of_a_server_that_stops_are_answered(
    sqlite_url: str, tmp_path: Path
) -> None:
    db = Database(sqlite_url)
    open_route(db)
    db.close()
    with serving(sqlite_url, tmp_path, drain_s="") as (server, key), ExitStack() as closed_after:
        server.process.send_signal(signal.SIGSTOP)
        waiting = [
            closed_after.enter_context(
                socket.create_connection(("127.0.0.1", int(server.address.rpartition(":")[2])))
            )
            for _ in range(WAITING)
        ]
        server.process.terminate()
        server.process.send_signal(signal.SIGCONT)
        for number, connection in enumerate(waiting):  # they send only now
            body = order_to(FIRST_RECIPIENT + number)
            connection.sendall(
                f"POST {PATH} HTTP/1.1\r\nHost: heliograph\r\nAuthorization: Bearer {key}\r\n"
                f"Content-Length: {len(body)}\r\n\r\n".encode()
                + body
            )
        answers = [read_all(connection) for connection in waiting]
    assert {answer.partition(b"\r\n")[0] for answer in answers} == {b"HTTP/1.1 200 OK"}
    assert all(b"connection: close\r\n" in answer for answer in answers)
