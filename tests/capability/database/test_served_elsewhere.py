"""Some copies of a database are told from the database that was served, and nothing starts on such
a copy.
"""

import json
import os
import shutil
import sqlite3
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from heliograph.base import clock
from heliograph.base.settings import SettingError
from heliograph.database import migrate, restored_copy
from heliograph.database.database import Database
from heliograph.database.sessions import sqlite_path
from heliograph.processes.exclusive import begin_serving_here
from tests.support import warm
from tests.support.capability.commands import Run
from tests.support.capability.sending import House
from tests.support.factories import SECRET_KEY
from tests.support.services.postgres import find_programs


def test_a_copy_of_a_sqlite_database_is_told_and_one_that_stays_is_not(
    sqlite_url: str, tmp_path: Path
) -> None:
    db = Database(sqlite_url)
    for _ in range(3):
        begin_serving_here(db, tmp_path)
    for name in ("elsewhere", "of before the last start"):
        (tmp_path / name).mkdir()
        with (
            sqlite3.connect(sqlite_path(sqlite_url)) as source,
            sqlite3.connect(tmp_path / name / "copy.db") as copied,
        ):
            source.backup(copied)
    begin_serving_here(db, tmp_path)
    shutil.copy(
        f"{sqlite_path(sqlite_url)}{restored_copy.SUFFIX}",
        tmp_path / "of before the last start" / "copy.db.home",
    )
    for name in ("elsewhere", "of before the last start"):
        copy = Database(f"sqlite:///{tmp_path / name}/copy.db")
        with pytest.raises(SettingError, match="restore-check"):
            begin_serving_here(copy, tmp_path)
        restored_copy.mark_as_served_here(copy, tmp_path)
        begin_serving_here(copy, tmp_path)
        copy.close()
    db.close()


@pytest.mark.parametrize("how", ["tar", "cp over it"])
def test_a_copy_of_the_whole_data_directory_is_told_on_sqlite(tmp_path: Path, how: str) -> None:
    directory, url = tmp_path / "data", f"sqlite:///{tmp_path}/data/heliograph.db"
    directory.mkdir()
    migrate.upgrade(url)
    db = Database(url)
    begin_serving_here(db, directory)
    db.close()
    subprocess.run(["tar", "-cf", tmp_path / "copy.tar", "-C", tmp_path, "data"], check=True)
    begin_serving_here(db, directory)  # the second life
    db.close()
    if how == "tar":
        shutil.rmtree(directory)
        subprocess.run(["tar", "-xf", tmp_path / "copy.tar", "-C", tmp_path], check=True)
    else:
        (tmp_path / "copy").mkdir()
        subprocess.run(["tar", "-xf", tmp_path / "copy.tar", "-C", tmp_path / "copy"], check=True)
        subprocess.run(["cp", "-a", f"{tmp_path}/copy/data/.", directory], check=True)
    with pytest.raises(SettingError, match="restore-check"):
        begin_serving_here(db, directory)
    restored_copy.mark_as_served_here(db, directory)
    shutil.move(directory, tmp_path / "renamed")  # what is not a copy
    (tmp_path / "renamed" / "heliograph.db").chmod(0o600)
    moved = Database(f"sqlite:///{tmp_path}/renamed/heliograph.db")
    begin_serving_here(moved, tmp_path / "renamed")
    moved.close()
    db.close()


def test_a_copy_of_a_minute_ago_is_told_where_it_is_written_over_a_running_database(
    sqlite_url: str, tmp_path: Path
) -> None:
    db = Database(sqlite_url)
    begin_serving_here(db, tmp_path)
    with (
        sqlite3.connect(sqlite_path(sqlite_url)) as source,
        sqlite3.connect(tmp_path / "copy.db") as copied,
    ):
        source.backup(copied)
    restored_copy.mark_as_served_here(db, tmp_path)  # as every minute, and at a stop
    with (
        sqlite3.connect(tmp_path / "copy.db") as source,
        sqlite3.connect(sqlite_path(sqlite_url)) as copied,
    ):
        source.backup(copied)
    with pytest.raises(SettingError, match="restore-check"):
        begin_serving_here(db, tmp_path)
    db.close()


@pytest.mark.parametrize(
    "options", [["--clean", "--if-exists"], ["--data-only", "--table=installation"]]
)
def test_what_pg_restore_writes_into_the_same_database_is_told(
    new_database: Callable[[str], str], tmp_path: Path, options: list[str]
) -> None:
    db, programs = Database(new_database("postgresql")), find_programs()
    assert programs is not None
    begin_serving_here(db, tmp_path)
    begin_serving_here(db, tmp_path)
    subprocess.run(
        [programs / "pg_dump", "--format=custom", f"--file={tmp_path}/copy.dump", db.url],
        check=True,
    )
    if "--data-only" in options:
        with db.write() as tx:
            tx.exec_driver_sql("DELETE FROM installation")
    restore: list[str | Path] = [
        programs / "pg_restore",
        *options,
        f"--dbname={db.url}",
        tmp_path / "copy.dump",
    ]
    subprocess.run(restore, check=False)  # it grumbles over constraints of partitions, and goes on
    with pytest.raises(SettingError, match="restore-check"):
        begin_serving_here(db, tmp_path)
    restored_copy.mark_as_served_here(db, tmp_path, checked_s=1)
    begin_serving_here(db, tmp_path)
    db.close()


def test_a_copy_of_a_whole_server_is_told_by_what_the_data_directory_remembers(
    postgresql_house: House, tmp_path: Path
) -> None:
    db = postgresql_house.db
    begin_serving_here(db, tmp_path)
    other = tmp_path / "of another machine"
    other.mkdir()
    remembered = tmp_path / restored_copy.FILE
    later = _later(remembered.read_text())  # as if the server were older than what was seen of it
    for directory in (tmp_path, other):
        (directory / restored_copy.FILE).write_text(later)
    with pytest.raises(SettingError, match="restore-check"):
        begin_serving_here(db, tmp_path)
    begin_serving_here(db, other, anew=True)  # a process that runs, after a fail-over
    (other / restored_copy.FILE).write_text(later)
    restored_copy.mark_as_served_here(db, tmp_path, checked_s=clock.now_ms() // 1_000)
    begin_serving_here(db, tmp_path)
    begin_serving_here(db, other)  # what was remembered before the restore is past


def _later(text: str) -> str:
    place, transaction = text.rsplit("/", 1)
    return f"{place}/{int(transaction) + 1_000_000}\n"


def test_a_migration_leaves_the_mark(postgresql_house: House, tmp_path: Path) -> None:
    db = postgresql_house.db
    begin_serving_here(db, tmp_path)
    with db.write() as tx:
        migrate.store_readable_by(tx, "0010")
    begin_serving_here(db, tmp_path)


def test_a_database_that_was_restored_beside_is_told(
    house: House, run: Run, tmp_path: Path
) -> None:
    begin_serving_here(house.db, tmp_path)
    if house.db.postgresql:
        with house.db.write() as tx:
            tx.exec_driver_sql("UPDATE installation SET home = '1/2/0/' || txid_current()")
    else:
        sqlite_path(house.db.url).with_name("heliograph.db.home").unlink()
    with pytest.raises(SettingError, match="restore-check"):
        begin_serving_here(house.db, tmp_path)
    found = {finding["check"]: finding["verdict"] for finding in _doctor(run)}
    assert found["restored copy"] == "failure"
    assert run("restore-check", "--since", "1m").status == 0
    begin_serving_here(house.db, tmp_path)
    assert "restored copy" not in {finding["check"] for finding in _doctor(run)}


def test_no_process_that_answers_or_sends_starts_on_a_copy(
    postgresql_house: House, tmp_path: Path, redis_url: str
) -> None:
    db = postgresql_house.db
    begin_serving_here(db, tmp_path)
    with db.write() as tx:
        tx.exec_driver_sql("UPDATE installation SET home = '1/2/0/' || txid_current()")
    env = {
        **os.environ,
        "DATABASE_URL": db.url,
        "HELIOGRAPH_SECRET_KEY": SECRET_KEY,
        "REDIS_URL": redis_url,
    }
    for words in (("api", "--port", "0"), ("worker",)):
        done = warm.run([*words, "--data-dir", tmp_path], timeout=60, env=env)
        assert (done.returncode, done.stderr.count("\n")) == (1, 1), done.stderr
        assert "heliograph restore-check --since T" in done.stderr


def _doctor(run: Run) -> list[dict[str, str]]:
    said = run("doctor", "--json")
    return list(json.loads(said.out))
