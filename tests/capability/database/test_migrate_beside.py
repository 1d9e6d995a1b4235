"""`heliograph migrate` on PostgreSQL runs beside others. It says whose transactions keep it from
its locks, and who would not survive it.
"""

import shutil
import sys
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import psycopg
import pytest
import sqlalchemy as sa

import heliograph.migrations
from heliograph.base import clock
from heliograph.base.errors import Unavailable
from heliograph.base.settings import Settings
from heliograph.database import migrate, schema
from heliograph.database.database import Database
from heliograph.database.partitions import make_months, missing_months
from heliograph.processes.checks.doctor import examine
from tests.support.factories import SECRET_KEY
from tests.support.polling import wait_until

LATER = "later_migrations"
CONTRACT = '''
"""Takes the column away that nobody needs since {needs}."""

from alembic import op

revision = "9999"
down_revision = "{before}"
contracts = "nobody reads it since {needs}"
readable_by = "{needs}"


def upgrade() -> None:
    op.drop_column("accounts", "time_zone")
'''

INDEX = '''
"""An index of a table that is there."""

from alembic import op

revision = "9999"
down_revision = "{before}"
transactional = False


def upgrade() -> None:
    op.create_index(
        "sends_by_later", "sends", ["reference"], if_not_exists=True, postgresql_concurrently=True
    )
'''
END_BUILDING = """
    SELECT pg_terminate_backend(pid) FROM pg_stat_progress_create_index
    WHERE datname = current_database() AND phase LIKE 'waiting%%'"""


@pytest.fixture
def database(new_database: Callable[[str], str]) -> Iterator[Database]:
    db = Database(new_database("postgresql"))
    yield db
    db.close()


@pytest.fixture
def later(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[[str], None]]:
    """Makes this version one that has a migration more: a contracting one, which needs the
    schema that it is called with, or another `text`.
    """
    package = tmp_path / LATER
    shutil.copytree(
        Path(heliograph.migrations.__path__[0]),
        package,
        ignore=shutil.ignore_patterns("__pycache__"),
    )
    monkeypatch.syspath_prepend(tmp_path)

    def begin(needs: str, text: str = CONTRACT) -> None:
        (package / "versions" / "9999_less.py").write_text(
            text.format(needs=needs, before=schema.newest_version())
        )
        monkeypatch.setattr(migrate, "MIGRATIONS", LATER)
        monkeypatch.setattr(schema, "_VERSIONS", f"{LATER}.versions")
        schema.newest_version.cache_clear()
        migrate._scripts.cache_clear()

    yield begin
    schema.newest_version.cache_clear()
    migrate._scripts.cache_clear()
    for name in [name for name in sys.modules if name.startswith(LATER)]:
        del sys.modules[name]


def test_a_migration_that_does_not_get_its_lock_gives_up_in_time_and_says_who_keeps_it(
    database: Database, later: Callable[[str], None], monkeypatch: pytest.MonkeyPatch
) -> None:
    before = schema.newest_version()
    later(before)
    monkeypatch.setattr(migrate, "TRIES", 2)
    monkeypatch.setattr(migrate, "AGAIN_S", 0.2)
    said: list[str] = []
    with psycopg.connect(database.url, application_name="a report") as reader:
        reader.execute("SELECT count(*) FROM accounts")
        with pytest.raises(
            Unavailable,
            match=(
                r"9999 did not get a lock in 2 tries of 100 ms: a report \(PostgreSQL's process"
                r" \d+\)"
            ),
        ):
            migrate.upgrade(database.url, said.append)
    assert any("9999 waits for a lock: a report" in line for line in said)
    with database.read() as tx:
        assert schema.stored_version(tx) == before
    migrate.upgrade(database.url, said.append)
    with database.read() as tx:
        assert (
            schema.stored_version(tx),
            tx.execute(sa.select(schema.installation.c.readable_by)).scalar_one(),
        ) == (
            "9999",
            before,
        )


def test_a_migration_that_a_running_process_would_not_survive_is_refused(
    database: Database, later: Callable[[str], None]
) -> None:
    before = schema.newest_version()
    older = f"{int(before) - 1:04}"
    later(before)
    with (
        psycopg.connect(database.url, application_name=f"heliograph worker {older} 77@elsewhere"),
        pytest.raises(
            Unavailable,
            match=(
                rf"heliograph worker \(process 77 on elsewhere, schema {older}\) does not\. Bring"
            ),
        ),
    ):
        migrate.upgrade(database.url)
    said: list[str] = []
    with psycopg.connect(database.url, application_name=f"heliograph worker {before} 77@elsewhere"):
        for _ in range(2):  # also when there is nothing to do but a month's partition
            migrate.upgrade(database.url, said.append)
    assert (
        sum("beside it runs heliograph worker (process 77 on elsewhere" in line for line in said)
        == 2
    ), said


def test_an_index_whose_building_was_broken_off_is_built_again(
    database: Database, later: Callable[..., None], tmp_path: Path
) -> None:
    later("", INDEX)
    ended: list[BaseException] = []

    def migrate_until_it_ends() -> None:
        try:
            migrate.upgrade(database.url)
        except sa.exc.OperationalError as error:
            ended.append(error)

    with (
        psycopg.connect(database.url, autocommit=True) as other,
        psycopg.connect(database.url) as reader,
    ):
        reader.isolation_level = psycopg.IsolationLevel.REPEATABLE_READ
        # what it waits for, with the index there already
        reader.execute("SELECT count(*) FROM routes")
        thread = threading.Thread(target=migrate_until_it_ends)
        thread.start()
        wait_until(lambda: _invalid(other) == ["sends_by_later"], "the index is being built")
        wait_until(
            lambda: bool(other.execute(END_BUILDING).fetchone()), "it has waited, and is ended"
        )
        thread.join()
    assert ended
    said: list[str] = []
    migrate.upgrade(database.url, said.append)
    assert said == [
        "index sends_by_later is invalid, because building it was interrupted; it is built again"
    ]
    with psycopg.connect(database.url, autocommit=True) as other:
        valid = "SELECT indisvalid FROM pg_index WHERE indexrelid = 'sends_by_later'::regclass"
        assert other.execute(valid).fetchone() == (True,)
        other.execute(
            "UPDATE pg_index SET indisvalid = false WHERE indexrelid = 'sends_by_later'::regclass"
        )
        found = {
            each.check: each for each in examine(Settings(tmp_path, database.url, SECRET_KEY))
        }["indexes"]
        assert (found.verdict, "sends_by_later" in found.found) == ("failure", True)
        # which has nothing else to do: one that earlier versions have left
        migrate.upgrade(database.url)
        assert other.execute(valid).fetchone() == (True,)


def _invalid(sql: "psycopg.Connection[tuple[str]]") -> list[str]:
    query = (
        "SELECT relname FROM pg_index JOIN pg_class c ON c.oid = indexrelid WHERE NOT indisvalid"
    )
    return [name for (name,) in sql.execute(query).fetchall()]


def test_a_month_is_made_beside_a_reader_without_holding_anybody_up(database: Database) -> None:
    now_ms = clock.now_ms() + 366 * 86_400_000
    slowest_s = 0.0
    over = threading.Event()

    def look() -> None:
        nonlocal slowest_s
        with psycopg.connect(database.url, autocommit=True) as sql:
            while not over.wait(0.005):
                began_s = time.monotonic()
                sql.execute("SELECT count(*) FROM messages")
                slowest_s = max(slowest_s, time.monotonic() - began_s)

    thread = threading.Thread(target=look)
    with psycopg.connect(database.url) as reader:
        reader.execute("SELECT count(*) FROM messages")
        thread.start()
        wanted = len(make_months(database, now_ms))
        assert wanted == 4
        time.sleep(0.1)
        over.set()
        thread.join()
    assert (
        slowest_s < 1.0
        # four tries of 50 ms, on a machine that others use too; the reader would have kept it for
        # ever
    )
    assert make_months(database, now_ms) == []
    with database.read() as tx:
        assert missing_months(tx, now_ms) == []
