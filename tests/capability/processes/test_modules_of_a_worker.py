"""A worker loads what it delivers and sends with. The jobs that one process does for all work in
nearly every room, and only that process loads them.
"""

import asyncio
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any, Self

import pytest
from structlog.testing import capture_logs

from heliograph.base import clock
from heliograph.base.settings import Settings
from heliograph.database.cache import ConfigCache
from heliograph.database.database import Database
from heliograph.messages.queue import FairQueue
from heliograph.processes import sending as sends
from heliograph.processes.exclusive import COLLECT_AFTER
from heliograph.processes.sending import Sending
from heliograph.webhooks.events import Event, emit, load_listeners
from tests.support.capability.webhooks import endpoint
from tests.support.factories import SECRET_KEY, awaited, open_account
from tests.support.polling import until, wait_until
from tests.support.wire.webhook_receiver import OK, receiver_in_a_thread

WITHIN_S = 30.0
JOBS = "heliograph.processes.common_jobs"
# What a worker that only delivers and sends does without, each with a part of a second.
NOT_LOADED = {
    JOBS,
    "alembic",  # changes the schema
    "babel",
    "fido2",  # passkeys
    "heliograph.alerts",
    "heliograph.api.api",
    "heliograph.api.openapi",
    "heliograph.audit",
    "heliograph.campaigns",
    "heliograph.connect",
    "heliograph.console",
    "heliograph.contacts",
    "heliograph.jobs",
    "heliograph.plugin",
    "heliograph.portal",
    "heliograph.pricing",
    "heliograph.users",
    "httptools",
    "jinja2",
    "phonenumbers",
    "pyotp",  # second factors of people
    "redis",  # without REDIS_URL
    "starlette",
    "uvicorn",
}
OUR_MODULES_MAX = 365
MODULES_MAX = 1_110
# Runs a command. For each line of its standard input it tells which modules are loaded, and after
# how many new objects it looks for garbage.
PROGRAM = """
import gc, json, sys, threading
from heliograph.cli import main

def tell():
    for _ in sys.stdin:
        print(json.dumps([[*sys.modules], gc.get_threshold()]), flush=True)

threading.Thread(target=tell, daemon=True).start()
main()
"""


class RealProcess:
    """Runs a command as a process of its own, which has loaded nothing yet."""

    def __init__(self, url: str, directory: Path, command: str, *options: str) -> None:
        self._log = directory / f"{command}.log"
        with self._log.open("w") as log:
            self._process = subprocess.Popen(
                [sys.executable, "-c", PROGRAM, command, "--data-dir", directory, *options],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=log,
                text=True,
                env={
                    "PATH": os.environ["PATH"],
                    "DATABASE_URL": url,
                    "HELIOGRAPH_SECRET_KEY": SECRET_KEY,
                    "HELIOGRAPH_WEBHOOKS_ALLOW_LOOPBACK": "true",
                },
            )

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._process.kill()
        self._process.communicate()

    def has_logged(self, event: str) -> bool:
        return f'"event": "{event}"' in self._log.read_text()

    def loaded(self) -> set[str]:
        """Returns the names of the modules that it has loaded."""
        return set(self._tell()[0])

    def collects_after(self) -> tuple[int, ...]:
        return tuple(self._tell()[1])

    def _tell(self) -> list[Any]:
        assert self._process.stdin
        assert self._process.stdout
        print(file=self._process.stdin, flush=True)
        told: list[Any] = json.loads(self._process.stdout.readline())
        return told

    def stop(self) -> None:
        self._process.send_signal(signal.SIGTERM)
        assert self._process.wait(WITHIN_S) == 0, self._log.read_text()


@pytest.fixture
def postgres_db(postgresql_url: str) -> Iterator[Database]:
    db = Database(postgresql_url)
    yield db
    db.close()


async def _accept(writer: asyncio.StreamWriter) -> None:
    writer.write(OK)


async def happened(db: Database, account_id: str) -> None:
    """Stores an event of an account."""
    event = Event(account_id, False, "message.delivered", clock.now_ms(), {"id": "msg_1"})
    async with db.hot() as tx:
        await emit(tx, await load_listeners(tx, [account_id]), [event])
    await db.close_hot()


def test_a_worker_loads_what_it_delivers_with_and_the_jobs_when_they_are_its_own(
    postgres_db: Database, tmp_path: Path
) -> None:
    with ExitStack() as running, receiver_in_a_thread(_accept) as receiver:
        account_id = open_account(postgres_db)
        endpoint(postgres_db, account_id, receiver.url())
        scheduler = running.enter_context(RealProcess(postgres_db.url, tmp_path, "scheduler"))
        wait_until(lambda: JOBS in scheduler.loaded(), "the scheduler begins the jobs")
        worker = running.enter_context(RealProcess(postgres_db.url, tmp_path, "worker"))
        wait_until(lambda: worker.has_logged("working"), "the worker works")
        asyncio.run(happened(postgres_db, account_id))
        wait_until(lambda: receiver.bodies, "the event is posted")
        time.sleep(2 * sends.JOBS_LOOK_S)  # it has asked whether they are its own
        loaded = worker.loaded()
        assert {"aiohttp", "heliograph.webhooks.http.post"} <= loaded
        assert not loaded & NOT_LOADED
        assert sum(name.startswith("heliograph.") for name in loaded) <= OUR_MODULES_MAX
        assert len(loaded) <= MODULES_MAX

        scheduler.stop()
        wait_until(lambda: JOBS in worker.loaded(), "the worker begins the jobs")
        worker.stop()


@awaited
async def test_jobs_that_could_not_be_begun_are_begun_by_a_later_try(
    postgres_db: Database, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sends, "JOBS_LOOK_S", 0.05)
    monkeypatch.setattr(sends, "COMMON_JOBS", "heliograph.processes.jobs_that_are_not_there")
    cache = ConfigCache(postgres_db)
    sending = Sending(
        postgres_db,
        cache,
        Settings(tmp_path, postgres_db.url, SECRET_KEY),
        FairQueue(),
        kind="worker",
    )
    await sending.take_queue()
    await cache.refresh()
    loop = asyncio.get_running_loop()
    try:
        with capture_logs() as logs:
            await sending.start()
            await until(lambda: "jobs_not_begun" in {line["event"] for line in logs}, "it is told")
            assert "keep_pruning" not in str(asyncio.all_tasks())
            monkeypatch.setattr(sends, "COMMON_JOBS", JOBS)
            await until(lambda: "keep_pruning" in str(asyncio.all_tasks(loop)), "jobs are done")
    finally:
        await sending.stop()
        await sending.release()
        await postgres_db.close_hot()
    assert "keep_pruning" not in str(asyncio.all_tasks())


@pytest.mark.parametrize(
    ("command", "options"),
    [
        ("worker", []),
        ("serve", ["--port", "0"]),
        ("console", ["--port", "0"]),
    ],
)
def test_a_process_that_has_begun_collects_garbage_as_one_that_serves(
    command: str, options: list[str], postgresql_url: str, tmp_path: Path
) -> None:
    """`scheduler` and `carrier run` begin as a worker does, and `demo` as `serve` does."""
    with RealProcess(postgresql_url, tmp_path, command, *options) as process:
        wait_until(lambda: process.collects_after() == COLLECT_AFTER, "it has begun")


def test_a_server_has_loaded_the_jobs_before_it_answers(
    postgresql_url: str, tmp_path: Path
) -> None:
    with RealProcess(postgresql_url, tmp_path, "serve", "--port", "0") as process:
        wait_until(lambda: process.collects_after() == COLLECT_AFTER, "it has begun to send")
        assert JOBS in process.loaded()
