"""A PostgreSQL that falls silent: connections stay, what is asked is acknowledged, and no answer comes. Nobody may wait for it for ever."""

import asyncio
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path
from urllib.parse import urlsplit

import httpx
import psycopg
import pytest
import sqlalchemy as sa

from heliograph.base import postgres_engine, sessions
from heliograph.base.db import Database
from heliograph.base.errors import Unavailable
from heliograph.base.leases import LOOKED_WITHIN_S, Lease
from heliograph.base.postgres_engine import wait_for_it
from heliograph.entry.counting import API_LOCK
from tests.crash.processes import ServerProcess
from tests.factories import awaited, issue_key, open_account
from tests.faults.proxy import Proxy

ANSWER_WITHIN_S = 2.0
MORE_ON_A_BUSY_MACHINE_S = 1.0
BACK_WITHIN_S = 10.0
ENDED_WITHIN_S = 30.0
LIMIT_S = 0.5
HOLDERS = f"SELECT pid FROM pg_locks WHERE locktype = 'advisory' AND objid = {API_LOCK} AND database = " \
          "(SELECT oid FROM pg_database WHERE datname = current_database())"


@pytest.fixture
def proxy(postgresql_url: str) -> Iterator[Proxy]:
    with Proxy(urlsplit(postgresql_url).port or 5432) as started:
        yield started


@pytest.fixture
def through(postgresql_url: str, proxy: Proxy) -> str:
    """The same database, through the proxy."""
    parts = urlsplit(postgresql_url)
    return parts._replace(netloc=f"{parts.username}@127.0.0.1:{proxy.port}").geturl()


def until(condition: Callable[[], bool], what: str, within_s: float) -> None:
    until_s = time.monotonic() + within_s
    while not condition():
        assert time.monotonic() < until_s, f"not within {within_s} s: {what}"
        time.sleep(0.02)


def fall_silent_within(db: Database, proxy: Proxy) -> None:
    with db.write() as tx:
        tx.execute(sa.select(1))
        proxy.swallow("server")
        tx.execute(sa.select(1))


def test_no_statement_waits_for_ever_unless_it_may(proxy: Proxy, through: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(postgres_engine.ImpatientConnection, "answer_within_s", LIMIT_S)
    db = Database(through)
    longer = sa.select(sa.func.pg_sleep(2 * LIMIT_S))
    with db.read() as tx:
        wait_for_it(tx)
        tx.execute(longer)
    with pytest.raises(Unavailable), db.read() as tx:  # the same connection, given back meanwhile
        tx.execute(longer)
    with pytest.raises(Unavailable):
        fall_silent_within(db, proxy)
    with db.read() as tx:
        assert tx.execute(sa.select(1)).scalar() == 1
    db.close()


def test_a_connection_that_fell_silent_is_not_used_again(proxy: Proxy, through: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(postgres_engine, "POSTGRES_PING_S", LIMIT_S)
    db = Database(through)
    with db.read(), db.read(), db.read():
        assert proxy.open == 3
    proxy.swallow("server")
    began_s = time.monotonic()
    with db.read() as first, db.read() as second, db.read() as third:
        assert [tx.execute(sa.select(1)).scalar() for tx in (first, second, third)] == [1, 1, 1]
    assert time.monotonic() - began_s < 3 * LIMIT_S  # one was asked and gave no answer: then none of its age was asked
    db.close()


def test_the_api_answers_503_at_once_and_goes_on_with_new_connections(postgresql_url: str, proxy: Proxy, through: str, tmp_path: Path) -> None:
    db = Database(postgresql_url)
    key = issue_key(db, open_account(db))
    db.close()
    api = ServerProcess(through, tmp_path / "api", ["api"], REDIS_URL="")

    def answered(path: str) -> int:
        began_s = time.monotonic()
        status = httpx.get(api.address + path, headers={"Authorization": f"Bearer {key}"}, timeout=10).status_code
        assert time.monotonic() - began_s < ANSWER_WITHIN_S + MORE_ON_A_BUSY_MACHINE_S
        return status

    paths = ("/readyz", "/api/v1/balance")
    try:
        api.wait_until_ready()
        proxy.swallow(new_ones_too=True)
        time.sleep(sessions.CONNECT_TIMEOUT_S)  # what is remembered of the configuration may be used for 0.9 s more
        for path in (*paths, *paths):
            assert answered(path) == 503
        proxy.swallow_no_more()
        until(lambda: {answered(path) for path in paths} == {200}, "200 again", BACK_WITHIN_S)
    finally:
        assert api.end() == 0


@awaited
async def test_who_looks_at_the_leases_waits_for_no_silent_database(proxy: Proxy, through: str) -> None:
    db = Database(through)
    lease = Lease(db, "worker")
    lease.begin()
    await lease.looked()
    proxy.swallow(new_ones_too=True)
    for _ in range(2):
        began_s = time.monotonic()
        with pytest.raises(Unavailable):
            await lease.looked()
        assert time.monotonic() - began_s < LOOKED_WITHIN_S + MORE_ON_A_BUSY_MACHINE_S
    assert lease.may_write()  # for as long as its last beat allows: whoever asks is not held up
    proxy.swallow_no_more()
    async with asyncio.timeout(BACK_WITHIN_S):
        while True:
            with suppress(Unavailable):
                await lease.looked()
                break
    db.close()


def test_what_hangs_does_not_keep_a_process_from_its_end() -> None:
    hangs = "import threading; from heliograph.entry import ending; ending.GONE_WITHIN_S = 0.5; ending.gone_in_time();" \
            "threading.Thread(target=threading.Event().wait).start()"
    ended = subprocess.run([sys.executable, "-c", hangs], capture_output=True, timeout=ENDED_WITHIN_S, check=False)
    assert ended.returncode == 1
    assert b"not_ended_in_time" in ended.stdout + ended.stderr


def test_an_api_process_that_counts_alone_takes_its_lock_again(postgresql_url: str, tmp_path: Path) -> None:
    api = ServerProcess(postgresql_url, tmp_path / "api", ["api"], REDIS_URL="")
    try:
        api.wait_until_ready()
        with psycopg.connect(postgresql_url, autocommit=True) as sql:
            sql.execute(f"SELECT pg_terminate_backend(pid) FROM ({HOLDERS}) AS holders")
            api.wait_for_event("api_lock_held_again", BACK_WITHIN_S)
            assert len(sql.execute(HOLDERS).fetchall()) == 1
        assert httpx.get(f"{api.address}/readyz").status_code == 200
    finally:
        assert api.end() == 0


def test_an_api_process_that_counts_alone_ends_when_another_one_has_its_lock(postgresql_url: str, tmp_path: Path) -> None:
    api = ServerProcess(postgresql_url, tmp_path / "api", ["api"], REDIS_URL="")
    try:
        api.wait_until_ready()
        with psycopg.connect(postgresql_url, autocommit=True) as sql, psycopg.connect(postgresql_url, autocommit=True) as other, \
                ThreadPoolExecutor(1) as thread:
            waiting = thread.submit(other.execute, f"SELECT pg_advisory_lock({API_LOCK})")
            until(lambda: len(sql.execute(HOLDERS).fetchall()) == 2, "another one that waits", BACK_WITHIN_S)
            sql.execute(f"SELECT pg_terminate_backend(pid) FROM ({HOLDERS} AND granted) AS holders")
            waiting.result(BACK_WITHIN_S)
            assert api.process.wait(ENDED_WITHIN_S) == 1
        assert api.log.splitlines()[-1].startswith("heliograph: REDIS_URL: found nothing, beside another API process of this database")
    finally:
        api.process.kill()
        api.process.wait()
