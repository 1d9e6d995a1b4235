"""Nobody but their owner reads the database, the secret key, the settings, and what commands write, whatever the umask."""

import os
import stat
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from heliograph.base import private
from heliograph.base.db import Database
from tests.capability.commands import Run
from tests.factories import open_account

HELIOGRAPH = Path(sys.executable).with_name("heliograph")


@pytest.fixture(autouse=True)
def generous_umask() -> Iterator[None]:
    before = os.umask(0o022)
    yield
    os.umask(before)


def mode(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


def heliograph(data_dir: Path, *words: str) -> str:
    """What it says, in a process of its own: on SQLite in the data directory."""
    env = {name: value for name, value in os.environ.items() if name != "DATABASE_URL" and not name.startswith("HELIOGRAPH_")}
    done = subprocess.run([HELIOGRAPH, *words, "--data-dir", data_dir], env=env, capture_output=True, text=True, check=False, timeout=120)
    assert done.returncode in (0, 1), done.stderr
    return done.stdout


def test_what_others_may_read_is_told_by_doctor_and_made_private_by_the_next_command(tmp_path: Path) -> None:
    heliograph(tmp_path, "account", "create", "amina", "--country", "GH", "--currency", "GHS")
    made = sorted(path.name for path in tmp_path.iterdir())
    assert {"heliograph.db", "secret.key"} <= set(made)
    assert {mode(tmp_path / name) for name in made} == {0o600}, made
    (tmp_path / "heliograph.toml").write_text("log_format = 'json'\n")
    (tmp_path / "notes.txt").write_text("not ours\n")
    for name in ("heliograph.db", "secret.key"):
        (tmp_path / name).chmod(0o644)
    told = heliograph(tmp_path, "doctor")
    [line] = [line for line in told.splitlines() if " files " in line]
    assert line.startswith("warning")
    assert all(str(tmp_path / name) in line for name in ("heliograph.db", "secret.key", "heliograph.toml"))
    assert "notes.txt" not in line
    heliograph(tmp_path, "account", "list")
    assert {name: mode(tmp_path / name) for name in ("heliograph.db", "secret.key", "heliograph.toml", "notes.txt")} == {
        "heliograph.db": 0o600, "secret.key": 0o600, "heliograph.toml": 0o600, "notes.txt": 0o644}


def test_files_beside_a_database_take_its_mode(tmp_path: Path) -> None:
    database = tmp_path / "heliograph.db"
    private.make_private(tmp_path, database)
    db = Database(f"sqlite:///{database}")
    with db.write() as tx:
        tx.exec_driver_sql("CREATE TABLE t (x)")
        modes = {path.name: mode(path) for path in tmp_path.iterdir()}
    assert modes == dict.fromkeys(("heliograph.db", "heliograph.db-wal", "heliograph.db-shm"), 0o600)
    db.close()


def test_another_users_settings_that_our_group_may_read_are_not_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    settings = tmp_path / "heliograph.toml"
    settings.write_text("")
    monkeypatch.setattr(os, "geteuid", lambda: settings.stat().st_uid + 1)
    for open_to, told in ((0o640, []), (0o644, [settings])):
        settings.chmod(open_to)
        assert private.open_to_others(tmp_path, None) == told


@pytest.mark.parametrize("there", [False, True])
def test_what_commands_write_is_for_its_owner(run: Run, db: Database, tmp_path: Path, there: bool) -> None:
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
    run("contact", "import", wrong, "--account", "amina", "--country", "GH", "--bad-rows", rest, *force)
    assert (mode(exported), mode(rest)) == (0o600, 0o600)
