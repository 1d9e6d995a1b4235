"""Nobody but their owner reads the files in the data directory, the database, and the files that
commands write, whatever the umask.
"""

import os
import re
import stat
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from heliograph.base import private_files
from heliograph.base.settings import load
from heliograph.carriers.smsc import Journal
from heliograph.database import migrate
from heliograph.database.database import Database
from tests.support import warm
from tests.support.capability.commands import Run
from tests.support.factories import open_account


@pytest.fixture(autouse=True)
def generous_umask() -> Iterator[None]:
    before = os.umask(0o022)
    yield
    os.umask(before)


def mode(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


def heliograph(data_dir: Path, *words: str) -> str:
    """Returns what the command says, in a process of its own: on SQLite in the data directory."""
    env = {
        name: value
        for name, value in os.environ.items()
        if name != "DATABASE_URL" and not name.startswith("HELIOGRAPH_")
    }
    done = warm.run([*words, "--data-dir", data_dir], env=env, timeout=120)
    assert done.returncode in (0, 1), done.stderr
    return done.stdout


def files_line(data_dir: Path) -> str:
    """Returns what `doctor` says of files."""
    lines = heliograph(data_dir, "doctor").splitlines()
    [line] = [line for line in lines if line.split()[1:2] == ["files"]]
    return line


def test_what_others_may_read_is_told_by_doctor_and_made_private_by_the_next_command(
    tmp_path: Path,
) -> None:
    data_dir, outside = tmp_path / "data", tmp_path / "outside.txt"
    heliograph(data_dir, "account", "create", "amina", "--country", "GH", "--currency", "GHS")
    made = sorted(path.name for path in data_dir.iterdir())
    assert {"heliograph.db", "secret.key"} <= set(made)
    assert {mode(data_dir / name) for name in made} == {0o600}, made
    (data_dir / "backups" / "old").mkdir(parents=True)
    copies = (
        "heliograph-backup.db",
        "secret.key.bak",
        "contacts-export.csv",
        "heliograph.db.home",
        "backups/old/heliograph.dump",
    )
    for name in copies:
        (data_dir / name).write_text("what nobody else may read\n")
    (data_dir / "heliograph.toml").write_text("log_format = 'json'\n")
    outside.write_text("somebody else's\n")
    (data_dir / "link").symlink_to(outside)
    for name in ("heliograph.db", "secret.key"):
        (data_dir / name).chmod(0o644)
    data_dir.chmod(0o755)
    closed = [
        data_dir / name for name in ("heliograph.db", "secret.key", "heliograph.toml", *copies)
    ]
    told = files_line(data_dir)
    assert told.startswith("warning")
    folders = [data_dir, data_dir / "backups", data_dir / "backups" / "old"]
    assert {*map(str, [*closed, *folders])} - {*re.split(r"[, ]+", told)} == set()
    assert "link" not in told
    heliograph(data_dir, "account", "list")
    assert {path.name: mode(path) for path in closed} == {path.name: 0o600 for path in closed}
    assert [mode(path) for path in (*folders, outside)] == [0o700, 0o700, 0o700, 0o644]
    assert files_line(data_dir).startswith("ok")


def test_doctor_names_some_of_many_files_and_counts_the_others(tmp_path: Path) -> None:
    migrate.upgrade(f"sqlite:///{tmp_path}/heliograph.db")
    load(tmp_path)
    for number in range(24):
        (tmp_path / f"export-{number:02}.csv").touch(0o644)
    told = files_line(tmp_path)
    assert ("export-19.csv" in told, "export-20.csv" in told, " and 4 more" in told) == (
        True,
        False,
        True,
    )


def test_a_directory_full_of_other_things_is_told_and_only_the_services_own_files_change(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(private_files, "ENTRIES_MAX", 2)
    for name in ("a.txt", "b.txt", "secret.key"):
        (tmp_path / name).touch(0o644)
    assert private_files.find_public_files(tmp_path, None) == ([tmp_path / "secret.key"], False)
    private_files.make_private(tmp_path, None)
    assert [mode(tmp_path / name) for name in ("a.txt", "secret.key")] == [0o644, 0o600]


def test_what_an_owner_may_do_with_a_file_he_still_may(tmp_path: Path) -> None:
    script, shown, link = tmp_path / "backup.sh", tmp_path / "shown", tmp_path / "data"
    script.touch(0o755)
    shown.touch(0o444)
    link.symlink_to(tmp_path, target_is_directory=True)
    private_files.make_private(link, None)
    assert (mode(script), mode(shown)) == (0o700, 0o400)


def test_a_log_of_the_smsc_becomes_private(tmp_path: Path) -> None:
    """It holds phone numbers in full."""
    log = tmp_path / "smsc.jsonl"
    log.touch(0o644)
    with Journal(log):
        assert mode(log) == 0o600


def test_files_beside_a_database_take_its_mode(tmp_path: Path) -> None:
    database = tmp_path / "heliograph.db"
    private_files.make_private(tmp_path, database)
    db = Database(f"sqlite:///{database}")
    with db.write() as tx:
        tx.exec_driver_sql("CREATE TABLE t (x)")
        modes = {path.name: mode(path) for path in tmp_path.iterdir()}
    assert modes == dict.fromkeys(
        ("heliograph.db", "heliograph.db-wal", "heliograph.db-shm"), 0o600
    )
    db.close()


def test_another_users_settings_that_our_group_may_read_are_not_told(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    settings = tmp_path / "heliograph.toml"
    settings.write_text("")
    monkeypatch.setattr(os, "geteuid", lambda: settings.stat().st_uid + 1)
    for open_to, told in ((0o640, []), (0o644, [settings])):
        settings.chmod(open_to)
        assert private_files.find_public_files(tmp_path, None) == (told, True)


@pytest.mark.parametrize("there", [False, True])
def test_what_commands_write_is_for_its_owner(
    run: Run, db: Database, tmp_path: Path, there: bool
) -> None:
    open_account(db)
    exported, rest, wrong = tmp_path / "out.csv", tmp_path / "rest.csv", tmp_path / "in.csv"
    wrong.write_text("phone\nnone\n")
    if there:
        for path in (exported, rest):
            path.write_text("old")
            path.chmod(0o644)
    force: list[Any] = ["--force"] if there else []
    done = run("contact", "export", exported, "--account", "amina", *force)
    assert done.status == 0, done.err
    run(
        "contact",
        "import",
        wrong,
        "--account",
        "amina",
        "--country",
        "GH",
        "--bad-rows",
        rest,
        *force,
    )
    assert (mode(exported), mode(rest)) == (0o600, 0o600)
