"""Whatever the server is set to, a COMMIT that a session of ours has heard of is on the disk; and
doctor looks.
"""

import asyncio
from collections.abc import Iterator
from pathlib import Path

import psycopg
import pytest
import sqlalchemy as sa

from heliograph.base.settings import SettingError, Settings, load
from heliograph.database import migrate
from heliograph.database.database import Database
from heliograph.database.postgresql.advisory_lock import AdvisoryLock
from heliograph.processes.checks.doctor import CheckResult, examine
from tests.support.factories import SECRET_KEY, awaited
from tests.support.services.postgres import PrivatePostgres

SHOW = "SHOW synchronous_commit"


@pytest.fixture
def lazy_url(postgresql_url: str) -> Iterator[str]:
    """Yields the URL of a database that answers COMMIT before anything is stored, unless it is
    asked to do otherwise.
    """
    with psycopg.connect(postgresql_url, autocommit=True) as admin:
        [(name,)] = admin.execute("SELECT current_database()").fetchall()
        admin.execute(f'ALTER DATABASE "{name}" SET synchronous_commit = off')
        yield postgresql_url
        admin.execute(f'ALTER DATABASE "{name}" RESET synchronous_commit')


@pytest.mark.parametrize("wanted", ["on", "remote_apply", "local"])
@awaited
async def test_every_session_has_what_is_wanted_whatever_the_database_has(
    lazy_url: str, wanted: str
) -> None:
    db = Database(lazy_url, wanted)
    assert db.hosts is not None
    lock = AdvisoryLock(db.hosts, 7)
    with psycopg.connect(lazy_url) as other:
        assert other.execute(SHOW).fetchone() == ("off",)
    with db.write() as tx:
        assert tx.execute(sa.text(SHOW)).scalar_one() == wanted
    with db.read() as tx:
        assert tx.execute(sa.text(SHOW)).scalar_one() == wanted
    async with db.hot() as tx_hot:
        assert (await tx_hot.fetch(SHOW))[0][0] == wanted
    assert await lock.take()
    assert await lock._ask(SHOW) == "on"  # it writes nothing
    lock.release()
    await db.close_hot()
    db.close()


def test_a_process_that_was_told_otherwise_is_told_what_is_allowed(tmp_path: Path) -> None:
    environment = {"HELIOGRAPH_SYNCHRONOUS_COMMIT": "local"}
    assert load(tmp_path, environment).synchronous_commit == "local"
    for wrong in ("off", "remote_write", "On"):
        with pytest.raises(
            SettingError,
            match=(
                f"HELIOGRAPH_SYNCHRONOUS_COMMIT: found '{wrong}'; allowed: on, remote_apply, local"
            ),
        ):
            load(tmp_path, environment | {"HELIOGRAPH_SYNCHRONOUS_COMMIT": wrong})


def found_of(url: str, directory: Path) -> dict[str, CheckResult]:
    settings = Settings(directory, url, SECRET_KEY)
    return {
        finding.check: finding
        for finding in examine(settings)
        if finding.check in ("synchronous_commit", "fsync", "full_page_writes")
    }


def test_doctor_says_when_the_server_does_not_wait_for_its_disk(
    private_postgres: PrivatePostgres, tmp_path: Path
) -> None:
    migrate.upgrade(private_postgres.url)
    with psycopg.connect(private_postgres.url, autocommit=True) as admin:
        admin.execute("ALTER SYSTEM SET synchronous_commit = off")
        admin.execute("SELECT pg_reload_conf()")
        assert {
            check: finding.verdict
            for check, finding in found_of(private_postgres.url, tmp_path).items()
        } == {"synchronous_commit": "ok", "fsync": "ok", "full_page_writes": "ok"}
        for name in ("fsync", "full_page_writes"):
            admin.execute(f"ALTER SYSTEM SET {name} = off")
        admin.execute("SELECT pg_reload_conf()")

        async def seen() -> dict[str, CheckResult]:
            async with asyncio.timeout(10):
                while (found := await asyncio.to_thread(found_of, private_postgres.url, tmp_path))[
                    "fsync"
                ].verdict == "ok":
                    await asyncio.sleep(0.05)
            return found

        found = asyncio.run(seen())
    assert {check: finding.verdict for check, finding in found.items()} == {
        "synchronous_commit": "ok",
        "fsync": "failure",
        "full_page_writes": "failure",
    }
    assert "ALTER SYSTEM SET fsync = on" in (found["fsync"].remedy or "")
