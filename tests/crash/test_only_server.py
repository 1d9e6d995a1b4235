"""A database has one server, also when the connection that holds its lock is lost: nothing is
claimed that another one may have.
"""

import signal
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import NamedTuple

import psycopg
import pytest

from heliograph.database.database import Database
from heliograph.messages.carrier.turn import POLL_S
from heliograph.processes.exclusive import DATABASE_LOCK
from heliograph.processes.shared_limits import API_LOCK
from tests.support import plain_http
from tests.support.crash.processes import ServerProcess
from tests.support.crash.remembering_smsc import RememberingSmsc, remembering_smsc
from tests.support.crash.sends import send
from tests.support.factories import issue_key, open_account, open_carrier

NOTICED_WITHIN_S = 5.0
HELD_AGAIN_WITHIN_S = 10.0
HOLDER = (
    f"SELECT pid FROM pg_locks WHERE locktype = 'advisory' AND objid = {DATABASE_LOCK} AND granted"
    " AND database = (SELECT oid FROM pg_database WHERE datname = current_database())"
)


class ServedDatabase(NamedTuple):
    """A served database is a PostgreSQL database with an account and a carrier."""

    url: str
    key: str
    smsc: RememberingSmsc
    sql: "psycopg.Connection[tuple[int]]"

    def terminate_holder(self, lock: int = DATABASE_LOCK) -> None:
        held = HOLDER.replace(str(DATABASE_LOCK), str(lock))
        row = self.sql.execute(
            f"SELECT pg_terminate_backend(pid, 5000) FROM ({held}) AS holder"
        ).fetchone()
        assert row is not None, "nobody holds the lock"

    def send(self, server: ServerProcess, number: int) -> str:
        to = [str(233_200_000_000 + number)]
        [message_id] = send(server, self.key, to, message=f"order {number}")
        return message_id

    def status(self, server: ServerProcess, message_id: str) -> str:
        answer = plain_http.get(
            f"{server.address}/api/v1/messages/{message_id}",
            headers={"Authorization": f"Bearer {self.key}"},
            timeout=10,
        )
        return str(answer.json()["data"]["status"])

    def wait_until_delivered(self, server: ServerProcess, message_id: str) -> None:
        until_s = time.monotonic() + HELD_AGAIN_WITHIN_S
        while (status := self.status(server, message_id)) != "delivered":
            assert time.monotonic() < until_s, f"still {status}:\n{server.log[-2_000:]}"
            time.sleep(0.02)


@pytest.fixture
def served(new_database: Callable[[str], str]) -> Iterator[ServedDatabase]:
    url = new_database("postgresql")
    db = Database(url)
    with remembering_smsc() as smsc, psycopg.connect(url, autocommit=True) as sql:
        open_carrier(db, port=smsc.port)
        yield ServedDatabase(url, issue_key(db, open_account(db, credits=100)), smsc, sql)
    db.close()


@pytest.fixture
def server(served: ServedDatabase, tmp_path: Path) -> Iterator[ServerProcess]:
    started = ServerProcess(served.url, tmp_path / "first")
    try:
        started.wait_until_ready()
        yield started
    finally:
        started.process.send_signal(signal.SIGCONT)
        started.end()


def test_a_lost_lock_is_taken_again_and_the_queue_goes_on(
    served: ServedDatabase, server: ServerProcess, tmp_path: Path
) -> None:
    served.wait_until_delivered(server, served.send(server, 1))
    served.terminate_holder()
    server.wait_for_event("server_lock_held_again", HELD_AGAIN_WITHIN_S)
    served.wait_until_delivered(server, served.send(server, 2))
    second = ServerProcess(served.url, tmp_path / "second")
    assert second.process.wait(30) == 1
    assert second.log == "heliograph: Another server or worker uses this database.\n"
    assert server.end() == 0


def test_while_somebody_else_has_the_lock_sends_are_accepted_and_nothing_is_claimed(
    served: ServedDatabase, server: ServerProcess
) -> None:
    served.wait_until_delivered(server, served.send(server, 1))
    with psycopg.connect(served.url, autocommit=True) as other, ThreadPoolExecutor(1) as thread:
        waiting = thread.submit(other.execute, f"SELECT pg_advisory_lock({DATABASE_LOCK})")
        _wait_for_waiter(served)
        served.terminate_holder()  # whoever waits has it then, before the server can take it again
        waiting.result(5)
        server.wait_for_event("server_lock_lost", NOTICED_WITHIN_S)
        message_id = served.send(server, 2)
        # a turn looks at the queue in each: that it takes nothing is the test
        time.sleep(4 * POLL_S)
        assert served.status(server, message_id) == "queued"
        assert len(served.smsc.submits) == 1
    served.wait_until_delivered(server, message_id)
    assert len(served.smsc.submits) == 2


def _wait_for_waiter(served: ServedDatabase) -> None:
    waiters = HOLDER.replace("AND granted", "AND NOT granted")
    until_s = time.monotonic() + NOTICED_WITHIN_S
    while served.sql.execute(waiters).fetchone() is None:
        assert time.monotonic() < until_s
        time.sleep(0.01)


def test_a_second_server_that_starts_in_the_gap_keeps_the_database_and_the_first_one_ends(
    served: ServedDatabase, server: ServerProcess, tmp_path: Path
) -> None:
    served.wait_until_delivered(server, served.send(server, 1))
    server.process.send_signal(signal.SIGSTOP)
    for lock in (DATABASE_LOCK, API_LOCK):
        served.terminate_holder(lock)
    second = ServerProcess(served.url, tmp_path / "second")
    try:
        second.wait_until_ready()
        served.send(second, 2)
        server.process.send_signal(signal.SIGCONT)
        last = [served.send(second, number) for number in range(3, 40)][-1]
        assert server.process.wait(30) == 1
        assert (
            server.log.splitlines()[-1]
            == "heliograph: Another server or worker uses this database."
        )
        served.wait_until_delivered(second, last)
        assert sorted(submit.text for submit in served.smsc.submits) == sorted(
            f"order {number}" for number in range(1, 40)
        )
    finally:
        assert second.end() == 0


@pytest.mark.parametrize("signal_number", [signal.SIGTERM, signal.SIGKILL])
def test_on_sqlite_the_data_directory_is_held_until_its_server_is_gone(
    signal_number: int, sqlite_url: str, tmp_path: Path
) -> None:
    first = ServerProcess(sqlite_url, tmp_path / "data")
    try:
        first.wait_until_ready()
        second = ServerProcess(sqlite_url, tmp_path / "data")
        assert second.process.wait(30) == 1
        assert (
            f"heliograph: Another server (process {first.process.pid}) uses the data directory"
            f" {tmp_path / 'data'}." in first.log.splitlines()
        )
        first.process.send_signal(signal_number)
        first.process.wait(60)
        third = ServerProcess(sqlite_url, tmp_path / "data")
        third.wait_until_ready()
        assert third.end() == 0
    finally:
        first.process.kill()
        first.process.wait()
