"""The tests ask what commands say and do while PostgreSQL does not confirm commits: nothing hangs
with locks, and nothing is promised that is not so.
"""

import json
import time
from collections.abc import Iterator
from pathlib import Path

import psycopg
import pytest

from heliograph.base.errors import Unavailable
from heliograph.database import commits, migrate, schema
from heliograph.database.database import Database
from tests.support.capability.commands import Run, runner
from tests.support.capability.unreplicated import Unreplicated
from tests.support.factories import open_account
from tests.support.polling import wait_until
from tests.support.services.postgres import PrivatePostgres

LOCKS = "SELECT count(*) FROM pg_locks WHERE mode = 'AccessExclusiveLock' AND relation IS NOT NULL"

UNCHANGED_COMMIT_S = migrate.COMMIT_S


class Impatient(Unreplicated):
    """Lets others wait briefly while it confirms nothing. While it confirms, a busy machine may
    take its time.
    """

    def __init__(self, server: PrivatePostgres) -> None:
        super().__init__(server)
        self._limits = pytest.MonkeyPatch()

    def lose(self) -> None:
        super().lose()
        self._limits.setattr(commits, "CONFIRMED_WITHIN_S", 0.3)
        self._limits.setattr(migrate, "COMMIT_S", 0.5)

    def confirm(self) -> None:
        self._limits.undo()
        super().confirm()


@pytest.fixture(scope="module")
def server() -> Iterator[PrivatePostgres]:
    with PrivatePostgres() as made:
        yield made


@pytest.fixture
def standby(server: PrivatePostgres) -> Iterator[Unreplicated]:
    made = Impatient(server)
    yield made
    made.confirm()


def test_a_migration_is_not_begun_while_no_standby_confirms(
    standby: Unreplicated, monkeypatch: pytest.MonkeyPatch
) -> None:
    url = standby.server.url
    standby.lose()
    began_s = time.monotonic()
    with pytest.raises(
        Unavailable, match="does not confirm what it stores, so no migration is begun"
    ):
        migrate.upgrade(url)
    assert time.monotonic() - began_s < UNCHANGED_COMMIT_S
    assert _count(url, LOCKS) == 0
    standby.confirm()
    is_confirmed = migrate._require_confirmed

    def lost_just_then(url: str) -> None:
        is_confirmed(url)
        if found_version(url) is not None:
            standby.lose()

    monkeypatch.setattr(migrate, "_require_confirmed", lost_just_then)
    with pytest.raises(
        Unavailable, match=r"Migration \d+ is stored, and no synchronous standby confirms it"
    ):
        migrate.upgrade(url)
    monkeypatch.undo()
    standby.confirm()
    wait_until(lambda: _count(url, LOCKS) == 0, "the commit has ended")
    migrate.upgrade(url)
    assert found_version(url) == schema.newest_version()


@pytest.fixture
def run(standby: Unreplicated, tmp_path: Path) -> Run:
    migrate.upgrade(standby.server.url)
    return runner(standby.server.url, tmp_path)


def test_a_command_says_how_to_find_out_whether_it_was_applied(
    standby: Unreplicated, run: Run
) -> None:
    db = Database(standby.server.url)
    open_account(db, "amina", credits=10)
    db.close()
    run("account", "list")  # the first command of all makes its secret key the database's
    grant = ("credits", "grant", "--account", "amina", "--credits", 5, "--reason", "x")
    standby.lose()
    for words, told in (
        ((*grant, "--reference", "inv-17"), "repeat the command with the same --reference"),
        (
            ("account", "create", "bilal", "--country", "GH", "--currency", "GHS"),
            "see whether it was applied before you repeat the command",
        ),
    ):
        said = run(*words)
        assert (said.status, said.out, said.err.count("\n")) == (1, "", 1), said
        assert told in said.err
        assert "Idempotency-Key" not in said.err
        assert "may have been applied" in said.err
    standby.confirm()
    wait_until(
        lambda: run("account", "show", "amina", "--json").json["sms_credits"] == 15,
        "it was applied after all",
    )
    assert run(*grant, "--reference", "inv-17", "--json").json["applied"] is False
    standby.lose()
    assert "without a --reference it is applied again" in run(*grant).err


def test_doctor_says_that_nothing_can_be_stored(standby: Unreplicated, run: Run) -> None:
    assert ("stored", "ok") in _findings(run)
    standby.lose()
    assert ("stored", "failure") in _findings(run)
    assert run("doctor").status == 1


def _findings(run: Run) -> list[tuple[str, str]]:
    return [
        (finding["check"], finding["verdict"])
        for finding in json.loads(run("doctor", "--json").out)
    ]


def found_version(url: str) -> str | None:
    db = Database(url)
    try:
        with db.read() as tx:
            return schema.stored_version(tx)
    finally:
        db.close()


def _count(url: str, query: str) -> int:
    with psycopg.connect(url, autocommit=True) as connection:
        row = connection.execute(query.encode()).fetchone()
        assert row is not None
        return int(row[0])
