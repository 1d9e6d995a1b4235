"""The database is lost, and an older copy of it restored: what had left since does not leave again,
and what is told again is known again.
"""

import json
import os
import shutil
import sqlite3
import subprocess
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest
import sqlalchemy as sa

from heliograph.base import clock
from heliograph.base.clock import rfc3339
from heliograph.database.database import Database
from heliograph.database.sessions import sqlite_path
from heliograph.messages.tables import messages
from tests.support import plain_http, warm
from tests.support.crash.processes import ServerProcess
from tests.support.factories import SECRET_KEY, SENDER
from tests.support.faults.deployment import ALONE, Deployment, Seen
from tests.support.faults.matrix import quick_or_long
from tests.support.faults.receivers import OPEN, Hearing, hearing
from tests.support.services.postgres import find_programs

EACH = round(quick_or_long(12, 244))  # messages to each of two carriers
WINDOW = 2
DELAY_MS = 300  # of an answer: so six or seven a second leave for each carrier
SENT_WITHIN_S = 120.0
KEPT = "kept"  # the carrier whose messages are canceled in the end


@contextmanager
def copy_of(deployment: Deployment, directory: Path) -> Iterator[Callable[[], str]]:
    """Makes a backup as docs/operations.md says. What it yields restores it, and returns the copy's
    URL.
    """
    if deployment.kind == "sqlite":
        backup = directory / "heliograph-backup.db"
        target = sqlite3.connect(backup)
        with sqlite3.connect(sqlite_path(deployment.db.url)) as source:
            source.backup(target)
        source.close()
        target.close()

        def restore() -> str:
            shutil.copy(backup, directory / "heliograph.db")
            return f"sqlite:///{directory}/heliograph.db"

        yield restore
        return
    programs = find_programs()
    assert programs is not None
    dump, name = directory / "heliograph.dump", f"{urlsplit(deployment.db.url).path[1:]}_restored"
    server = urlsplit(deployment.db.url)._replace(path="/postgres").geturl()
    url = urlsplit(deployment.db.url)._replace(path=f"/{name}").geturl()
    subprocess.run(
        [programs / "pg_dump", "--format=custom", f"--file={dump}", deployment.db.url], check=True
    )

    def restored() -> str:
        subprocess.run([programs / "createdb", f"--maintenance-db={server}", name], check=True)
        subprocess.run([programs / "pg_restore", f"--dbname={url}", dump], check=True)
        return url

    try:
        yield restored
    finally:
        subprocess.run(
            [programs / "dropdb", "--if-exists", "--force", f"--maintenance-db={server}", name],
            check=True,
        )


class Restored:
    """Holds the copy, and what is started on it."""

    def __init__(self, deployment: Deployment, url: str, directory: Path) -> None:
        self.db = Database(url)
        self._env = {"DATABASE_URL": url, "HELIOGRAPH_SECRET_KEY": SECRET_KEY, **deployment.env}
        self._directory = directory / "data"
        self._directory.mkdir()
        self._url, self._deployment_env = url, deployment.env

    def command(self, *words: str) -> "subprocess.CompletedProcess[str]":
        return warm.run(
            [*words, "--data-dir", self._directory], env={**os.environ, **self._env}, timeout=120
        )

    def said(self, *words: str) -> Any:
        done = self.command(*words, "--json")
        assert done.returncode == 0, done.stderr
        return json.loads(done.stdout)

    def serve(self) -> ServerProcess:
        return ServerProcess(self._url, self._directory, ("serve",), None, **self._deployment_env)

    def count(self, status: str) -> int:
        """Returns how many messages have this status."""
        with self.db.read() as tx:
            return int(
                tx.execute(
                    sa.select(sa.func.count()).where(messages.c.status == status)
                ).scalar_one()
            )


def send(deployment: Deployment, recipients: list[str], address: str = "") -> None:
    """Sends one request, so that all of it is queued at once."""
    answer = plain_http.post(
        f"{address or deployment.api.address}/api/v1/sms/send",
        headers=deployment.clients.headers,
        timeout=30,
        json={"sender": SENDER, "message": "order", "recipients": recipients},
    )
    assert answer.status_code == 200, answer.text


def told(heard: Hearing) -> dict[tuple[str, str], set[str]]:
    """Returns the ids under which each change was told."""
    found: dict[tuple[str, str], set[str]] = {}
    for event in heard.events:
        found.setdefault((event["data"]["id"], event["event"]), set()).add(event["id"])
    return found


@pytest.mark.fault(43)
def test_what_a_restored_copy_has_queued_waits_for_a_word_and_its_events_are_known(
    deployment: Deployment, tmp_path: Path
) -> None:
    deployment.env |= OPEN
    going = deployment.carrier(
        "--answer-delay-ms", str(DELAY_MS), name="going", prefix="23320", window=WINDOW
    )
    deployment.carrier("--answer-delay-ms", str(DELAY_MS), name=KEPT, prefix="23324", window=WINDOW)
    away = tmp_path / "restored"
    away.mkdir()
    with hearing(deployment) as heard:
        deployment.start(ALONE)
        for prefix in ("23320", "23324"):
            send(deployment, [f"{prefix}{number:06d}5" for number in range(EACH)])
        deployment.until(going.submits, "some of it is on the wire")
        with copy_of(deployment, away) as restore:
            since_ms = clock.now_ms()
            deployment.until(
                lambda: len(told(heard)) == 4 * EACH,
                "the lost one has sent all, and told all",
                SENT_WITHIN_S,
            )
            before = told(heard)
            deployment.sender.process.kill()
            deployment.sender.process.wait()
            copy = Restored(deployment, restore(), away)
            _holds(deployment, copy, heard, before, rfc3339(since_ms))


def _decide(
    deployment: Deployment,
    copy: Restored,
    address: str,
    held: dict[str, int],
    submitted: dict[str, int],
) -> None:
    """Decides about what was held. What is new goes out at once; what was kept is let go, of one
    carrier, or canceled. `submitted` is what each carrier had got before the copy was served.
    """
    going, kept = deployment.carriers["going"], deployment.carriers[KEPT]
    deployment.until(
        lambda: len(going.events("bind")) == len(kept.events("bind")) == 2, "bound again"
    )
    send(deployment, ["233209999995"], address)
    deployment.until(lambda: len(going.submits()) == submitted["going"] + 1, "what is new goes out")
    assert {carrier.name: len(carrier.submits()) for carrier in (going, kept)} == submitted | {
        "going": submitted["going"] + 1
    }
    assert copy.said("restore-check", "send", "--carrier", "going") == {
        "sent": held["going"],
        "kept": held[KEPT],
    }
    deployment.until(
        lambda: len(going.submits()) == submitted["going"] + 1 + held["going"],
        "what was let go has left again",
        SENT_WITHIN_S,
    )
    assert copy.said("restore-check", "cancel") == {"canceled": held[KEPT], "kept": 0}
    deployment.until(
        lambda: copy.count("queued") == copy.count("sent") == 0, "all of it is delivered"
    )


def _holds(
    deployment: Deployment,
    copy: Restored,
    heard: Hearing,
    before: dict[tuple[str, str], set[str]],
    since: str,
) -> None:
    going, kept = deployment.carriers["going"], deployment.carriers[KEPT]
    submitted = {carrier.name: len(carrier.submits()) for carrier in (going, kept)}
    forgotten = copy.serve()  # somebody forgets to say that it is a copy
    assert forgotten.process.wait(60) == 1
    assert "restore-check" in forgotten.log
    found = copy.said("restore-check", "--since", since)
    held = {row["carrier"]: row["messages"] for row in found["kept"]}
    assert (found["campaigns"], sum(held.values()) > EACH) == ([], True)
    server = copy.serve()
    try:
        server.wait_until_ready()
        assert copy.command("restore-check", "--since", since).returncode == 1, "a process runs"
        _decide(deployment, copy, server.address, held, submitted)
        deployment.until(
            lambda: len([key for key in told(heard) if key not in before]) == 2 + held[KEPT],
            "all is told",
        )
    finally:
        status = server.end()
    assert status == 0, server.log[-2_000:]
    after = told(heard)
    assert {key: after[key] for key in before} == before, (
        "a change that was told again had another id"
    )
    assert (
        len([key for key in after if key not in before and key[1] == "message.failed"])
        == held[KEPT]
        == copy.count("failed")
    )
    assert len(kept.submits()) == submitted[KEPT]
    assert copy.command("ledger", "verify").returncode == 0
    deployment.seen = Seen(
        2 * EACH,
        0,
        0,
        held[KEPT],
        None,
        f"a copy with {sum(held.values())} of {2 * EACH} messages still to be sent, all of which"
        " left afterwards, is restored: it is not served before `restore-check`, then 0 go out"
        f" again; those of one carrier after `send`, and their {2 * held['going']} events carry the"
        " ids of before; those of the other are paid back after `cancel`",
    )
    copy.db.close()
