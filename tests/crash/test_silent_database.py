"""A PostgreSQL falls silent: connections stay, what is asked is acknowledged, and no answer comes.
Nobody may wait for it for ever.
"""

import asyncio
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path
from urllib.parse import urlsplit

import psycopg
import pytest
import sqlalchemy as sa

from heliograph.base.errors import Unavailable
from heliograph.database import commits, sessions
from heliograph.database.commits import Unconfirmed
from heliograph.database.database import Database
from heliograph.database.leases import REFRESHED_WITHIN_S, Lease
from heliograph.database.postgresql import engine as postgres_engine
from heliograph.database.postgresql.answer_time import lift_answer_limit
from heliograph.processes.shared_limits import API_LOCK
from tests.support import plain_http
from tests.support.crash.processes import ServerProcess
from tests.support.factories import awaited, issue_key, open_account
from tests.support.faults.proxy import Proxy
from tests.support.polling import wait_until

ANSWER_WITHIN_S = 2.0
MORE_ON_A_BUSY_MACHINE_S = 1.0
BACK_WITHIN_S = 10.0
ENDED_WITHIN_S = 30.0
LIMIT_S = 0.5
SWITCHED_WITHIN_S = 3.0
HOLDERS = (
    f"SELECT pid FROM pg_locks WHERE locktype = 'advisory' AND objid = {API_LOCK} AND database = "
    "(SELECT oid FROM pg_database WHERE datname = current_database())"
)


@pytest.fixture
def proxy(postgresql_url: str) -> Iterator[Proxy]:
    with Proxy(urlsplit(postgresql_url).port or 5432) as started:
        yield started


@pytest.fixture
def through(postgresql_url: str, proxy: Proxy) -> str:
    """Returns the URL of the same database, through the proxy."""
    parts = urlsplit(postgresql_url)
    return parts._replace(netloc=f"{parts.username}@127.0.0.1:{proxy.port}").geturl()


@pytest.fixture
def other(postgresql_url: str) -> Iterator[Proxy]:
    with Proxy(urlsplit(postgresql_url).port or 5432) as started:
        yield started


@pytest.fixture
def through_either(through: str, other: Proxy) -> str:
    """Returns the URL of the same database at two addresses, the first of which is the proxy's."""
    parts = urlsplit(through)
    return parts._replace(netloc=f"{parts.netloc},127.0.0.1:{other.port}").geturl()


def fall_silent_within(db: Database, proxy: Proxy, *, new_ones_too: bool = False) -> None:
    with db.write() as tx:
        tx.execute(sa.select(1))
        proxy.swallow("server", new_ones_too=new_ones_too)
        tx.execute(sa.select(1))


def test_no_statement_waits_for_ever_unless_it_may(
    proxy: Proxy, through: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(postgres_engine.LimitedConnection, "answer_within_s", LIMIT_S)
    db = Database(through)
    longer = sa.select(sa.func.pg_sleep(2 * LIMIT_S))
    with db.read() as tx:
        lift_answer_limit(tx)
        tx.execute(longer)
    with pytest.raises(Unavailable), db.read() as tx:  # the same connection, given back meanwhile
        tx.execute(longer)
    with pytest.raises(Unavailable):
        fall_silent_within(db, proxy)
    with db.read() as tx:
        assert tx.execute(sa.select(1)).scalar() == 1
    db.close()


def test_a_connection_that_fell_silent_is_not_used_again(
    proxy: Proxy, through: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(postgres_engine, "POSTGRES_PING_S", LIMIT_S)
    db = Database(through)
    with db.read(), db.read(), db.read():
        assert proxy.open == 3
    proxy.swallow("server")
    began_s = time.monotonic()
    with db.read() as first, db.read() as second, db.read() as third:
        assert [tx.execute(sa.select(1)).scalar() for tx in (first, second, third)] == [1, 1, 1]
    # one was asked and gave no answer: then none of its age was asked
    assert time.monotonic() - began_s < 3 * LIMIT_S
    db.close()


def test_the_api_answers_503_at_once_and_goes_on_with_new_connections(
    postgresql_url: str, proxy: Proxy, through: str, tmp_path: Path
) -> None:
    db = Database(postgresql_url)
    key = issue_key(db, open_account(db))
    db.close()
    api = ServerProcess(through, tmp_path / "api", ["api"], REDIS_URL="")

    def answered(path: str) -> int:
        began_s = time.monotonic()
        status = plain_http.get(
            api.address + path, headers={"Authorization": f"Bearer {key}"}, timeout=10
        ).status_code
        assert time.monotonic() - began_s < ANSWER_WITHIN_S + MORE_ON_A_BUSY_MACHINE_S
        return status

    paths = ("/readyz", "/api/v1/balance")
    try:
        api.wait_until_ready()
        proxy.swallow(new_ones_too=True)
        # what is remembered of the configuration may be used for 0.9 s more
        time.sleep(sessions.CONNECT_TIMEOUT_S)
        for path in (*paths, *paths):
            assert answered(path) == 503
        proxy.swallow_no_more()
        wait_until(lambda: {answered(path) for path in paths} == {200}, "200 again", BACK_WITHIN_S)
    finally:
        assert api.end() == 0


def read(db: Database) -> int:
    with db.read() as tx:
        return int(tx.execute(sa.select(1)).scalar_one())


def test_a_read_asks_all_hosts_as_soon_as_the_first_gives_no_answer(
    proxy: Proxy, through_either: str
) -> None:
    db = Database(through_either)
    assert (read(db), proxy.connected > 0) == (1, True)
    proxy.swallow(new_ones_too=True)
    began_s = time.monotonic()
    assert read(db) == 1
    assert time.monotonic() - began_s < ANSWER_WITHIN_S
    db.close()


def test_where_there_is_no_other_host_a_read_is_refused_in_time(proxy: Proxy, through: str) -> None:
    db = Database(through)
    read(db)
    proxy.swallow(new_ones_too=True)
    for _ in range(2):
        began_s = time.monotonic()
        with pytest.raises(Unavailable):
            read(db)
        assert time.monotonic() - began_s < ANSWER_WITHIN_S
    proxy.swallow_no_more()
    assert read(db) == 1
    db.close()


def test_a_read_under_way_is_refused_in_time(proxy: Proxy, through: str) -> None:
    db = Database(through)
    began_s = time.monotonic()
    with pytest.raises(Unavailable):
        fall_silent_within(db, proxy, new_ones_too=True)
    assert time.monotonic() - began_s < ANSWER_WITHIN_S + MORE_ON_A_BUSY_MACHINE_S
    db.close()


async def asked_hot(
    db: Database,
    sql: str = "SELECT 1",
    meanwhile: Callable[[], None] = lambda: None,
    before_commit: Callable[[], None] = lambda: None,
) -> object:
    async with db.hot() as tx:
        meanwhile()
        answer = (await tx.fetch(sql))[0][0]
        before_commit()
    return answer


@awaited
async def test_a_hot_statement_gives_a_silent_host_up_and_the_next_one_finds_the_other(
    proxy: Proxy, through_either: str
) -> None:
    db = Database(through_either)
    await asked_hot(db)
    began_s = time.monotonic()
    with pytest.raises(Unavailable):
        await asked_hot(db, meanwhile=lambda: proxy.swallow(new_ones_too=True))
    assert time.monotonic() - began_s < ANSWER_WITHIN_S
    assert await asked_hot(db) == 1
    assert time.monotonic() - began_s < SWITCHED_WITHIN_S
    await db.close_hot()
    db.close()


@awaited
async def test_a_hot_commit_without_an_answer_holds_up_the_others_no_longer_than_a_silent_host_may(
    proxy: Proxy, through_either: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(commits, "CONFIRMED_WITHIN_S", 1.2)  # what it is in service
    db = Database(through_either)
    await asked_hot(db)
    began_s = time.monotonic()
    with pytest.raises(Unconfirmed):
        await asked_hot(db, before_commit=lambda: proxy.swallow("server", new_ones_too=True))
    assert time.monotonic() - began_s < ANSWER_WITHIN_S
    while True:
        with suppress(Unavailable):
            assert await asked_hot(db) == 1
            break
        await asyncio.sleep(0.02)
    assert time.monotonic() - began_s < SWITCHED_WITHIN_S + MORE_ON_A_BUSY_MACHINE_S
    await db.close_hot()
    db.close()


@awaited
async def test_where_there_is_no_other_host_hot_statements_are_refused_in_time(
    proxy: Proxy, through: str
) -> None:
    db = Database(through)
    await asked_hot(db)
    for _ in range(2):
        began_s = time.monotonic()
        with pytest.raises(Unavailable):
            await asked_hot(db, meanwhile=lambda: proxy.swallow(new_ones_too=True))
        assert time.monotonic() - began_s < ANSWER_WITHIN_S
    proxy.swallow_no_more()
    assert await asked_hot(db) == 1
    await db.close_hot()
    db.close()


@awaited
async def test_a_statement_that_takes_long_is_waited_for_where_its_host_shows_itself(
    through_either: str,
) -> None:
    db = Database(through_either)
    assert db.hosts is not None
    await asked_hot(db)
    turn = db.hosts.generation
    began_s = time.monotonic()
    assert await asked_hot(db, "SELECT 2 FROM pg_sleep(2.2)") == 2
    assert time.monotonic() - began_s > ANSWER_WITHIN_S
    assert db.hosts.generation == turn
    await db.close_hot()
    db.close()


@awaited
async def test_who_looks_at_the_leases_waits_for_no_silent_database(
    proxy: Proxy, through: str
) -> None:
    db = Database(through)
    lease = Lease(db, "worker")
    lease.begin()
    await lease.refresh_in_thread()
    proxy.swallow(new_ones_too=True)
    for _ in range(2):
        began_s = time.monotonic()
        with pytest.raises(Unavailable):
            await lease.refresh_in_thread()
        assert time.monotonic() - began_s < REFRESHED_WITHIN_S + MORE_ON_A_BUSY_MACHINE_S
    assert lease.may_write()  # for as long as its last beat allows: whoever asks is not held up
    proxy.swallow_no_more()
    async with asyncio.timeout(BACK_WITHIN_S):
        while True:
            with suppress(Unavailable):
                await lease.refresh_in_thread()
                break
    db.close()


def test_what_hangs_does_not_keep_a_process_from_its_end() -> None:
    hangs = (
        "import threading; from heliograph.processes import watchdog; watchdog.GONE_WITHIN_S = 0.5;"
        " watchdog.exit_in_time();threading.Thread(target=threading.Event().wait).start()"
    )
    ended = subprocess.run(
        [sys.executable, "-c", hangs], capture_output=True, timeout=ENDED_WITHIN_S, check=False
    )
    assert ended.returncode == 1
    assert b"not_ended_in_time" in ended.stdout + ended.stderr


def test_an_api_process_that_counts_alone_takes_its_lock_again(
    postgresql_url: str, tmp_path: Path
) -> None:
    api = ServerProcess(postgresql_url, tmp_path / "api", ["api"], REDIS_URL="")
    try:
        api.wait_until_ready()
        with psycopg.connect(postgresql_url, autocommit=True) as sql:
            sql.execute(f"SELECT pg_terminate_backend(pid) FROM ({HOLDERS}) AS holders")
            api.wait_for_event("api_lock_held_again", BACK_WITHIN_S)
            assert len(sql.execute(HOLDERS).fetchall()) == 1
        assert plain_http.get(f"{api.address}/readyz").status_code == 200
    finally:
        assert api.end() == 0


def test_an_api_process_that_counts_alone_ends_when_another_one_has_its_lock(
    postgresql_url: str, tmp_path: Path
) -> None:
    api = ServerProcess(postgresql_url, tmp_path / "api", ["api"], REDIS_URL="")
    try:
        api.wait_until_ready()
        with (
            psycopg.connect(postgresql_url, autocommit=True) as sql,
            psycopg.connect(postgresql_url, autocommit=True) as other,
            ThreadPoolExecutor(1) as thread,
        ):
            waiting = thread.submit(other.execute, f"SELECT pg_advisory_lock({API_LOCK})")
            wait_until(
                lambda: len(sql.execute(HOLDERS).fetchall()) == 2,
                "another one that waits",
                BACK_WITHIN_S,
            )
            sql.execute(f"SELECT pg_terminate_backend(pid) FROM ({HOLDERS} AND granted) AS holders")
            waiting.result(BACK_WITHIN_S)
            assert api.process.wait(ENDED_WITHIN_S) == 1
        assert api.log.splitlines()[-1].startswith(
            "heliograph: REDIS_URL: found no value, but another API process uses this database"
        )
    finally:
        api.process.kill()
        api.process.wait()
