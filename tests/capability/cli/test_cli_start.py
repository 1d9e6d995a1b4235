"""Commands run as processes of their own, where nothing is yet."""

import json
import os
import resource
import subprocess
import sys
from pathlib import Path
from typing import Final

import pytest

from heliograph import wallet
from heliograph.base import open_files
from heliograph.database.database import Database
from tests.support import warm
from tests.support.factories import open_account

EXECUTABLE: Final = str(Path(sys.executable).parent / "heliograph")


def test_a_real_process_begins_in_an_empty_directory(tmp_path: Path) -> None:
    executable = Path(sys.executable).parent / "heliograph"
    env = {"PATH": os.environ["PATH"], "HELIOGRAPH_DATA_DIR": str(tmp_path / "data")}
    command = [
        str(executable),
        "account",
        "create",
        "amina",
        "--country",
        "GH",
        "--currency",
        "GHS",
        "--credits",
        "5",
        "--json",
    ]
    done = subprocess.run(command, capture_output=True, text=True, env=env, timeout=60, check=True)
    assert json.loads(done.stdout)["sms_credits"] == 5
    database = Database(f"sqlite:///{tmp_path}/data/heliograph.db")
    with database.read() as tx:
        assert wallet.verify(tx) == []
        assert wallet.size(tx) == {"wallets": 1, "ledger_entries": 1}
    database.close()
    assert (tmp_path / "data" / "secret.key").stat().st_mode & 0o777 == 0o600


@pytest.mark.parametrize(
    "arguments",
    [("account", "list"), ("account", "list", "--json"), ("account", "--help"), ("--help",)],
)
def test_what_cannot_be_printed_ends_a_command_with_one_line(
    sqlite_url: str, tmp_path: Path, arguments: tuple[str, ...]
) -> None:
    """The output goes to a full disk."""
    with open("/dev/full", "w") as full:
        done = subprocess.run(
            [EXECUTABLE, *arguments],
            stdout=full,
            stderr=subprocess.PIPE,
            text=True,
            env=_env(sqlite_url),
            cwd=tmp_path,
            check=False,
        )
    assert (done.returncode, done.stderr) == (1, "heliograph: No space left on device.\n")


def test_a_command_works_with_its_output_closed(sqlite_url: str, tmp_path: Path) -> None:
    done = subprocess.run(
        ["sh", "-c", f"{EXECUTABLE} account list >&-"],
        stderr=subprocess.PIPE,
        text=True,
        env=_env(sqlite_url),
        cwd=tmp_path,
        check=False,
    )
    assert (done.returncode, done.stderr) == (0, "")


@pytest.mark.parametrize(
    ("command", "says"),
    [
        ("smsc --password-file -", "--password-file: the first line is empty"),
        ("contact import - --account amina", "it has nothing."),
    ],
)
def test_a_closed_standard_input_is_an_empty_one(
    sqlite_url: str, tmp_path: Path, command: str, says: str
) -> None:
    db = Database(sqlite_url)
    open_account(db)
    db.close()
    done = subprocess.run(
        ["sh", "-c", f"{EXECUTABLE} {command} <&-"],
        capture_output=True,
        text=True,
        env=_env(sqlite_url),
        cwd=tmp_path,
        check=False,
    )
    assert says in done.stderr.splitlines()[-1], done.stderr
    assert done.returncode in (1, 2)


def test_a_file_that_the_system_does_not_let_be_opened_is_one_line(tmp_path: Path) -> None:
    """A disk that is mounted read only has such files."""
    lock = tmp_path / "data" / "serve.lock"
    lock.mkdir(parents=True)
    env = {**os.environ, "HELIOGRAPH_DATA_DIR": str(tmp_path / "data")}
    done = warm.run(["serve", "--port", "0"], timeout=60, cwd=tmp_path, env=env)
    assert done.returncode == 1
    assert done.stderr.splitlines()[-1] == f"heliograph: {lock}: Is a directory."
    assert "Traceback" not in done.stderr


@pytest.mark.parametrize(
    ("place", "why"),
    [
        ("127.0.0.1:1/x", "Connection refused"),
        ("127.0.0.1:5432/no_such_database", 'database "no_such_database" does not exist'),
    ],
)
def test_a_database_that_is_not_reachable_is_told_with_the_cause(
    tmp_path: Path, place: str, why: str
) -> None:
    env = {**os.environ, **_env(f"postgresql://postgres:hunter2@{place}")}
    done = warm.run(["account", "list"], timeout=60, cwd=tmp_path, env=env)
    assert done.returncode == 1
    assert done.stderr.startswith("heliograph: The database is not reachable: ")
    assert f"{why}. It was looked for at postgresql://postgres@{place}.\n" in done.stderr
    assert "hunter2" not in done.stderr


def _env(database_url: str) -> dict[str, str]:
    return {
        "PATH": os.environ["PATH"],
        "DATABASE_URL": database_url,
        "HELIOGRAPH_SECRET_KEY": "s" * 32,
    }


def test_several_that_begin_at_once_on_an_empty_file_all_find_it_migrated(tmp_path: Path) -> None:
    url = f"sqlite:///{tmp_path}/new.db"
    code = (
        "from heliograph.database import migrate; print('ready', flush=True); input();"
        f" migrate.upgrade({url!r})"
    )
    started = [
        subprocess.Popen(
            [sys.executable, "-c", code],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        for _ in range(4)
    ]
    for process in started:
        assert process.stdout is not None
        assert process.stdout.readline() == "ready\n"
    for process in started:
        assert process.stdin is not None
        process.stdin.write("go\n")
        process.stdin.flush()
    assert [process.communicate(timeout=60)[1] for process in started] == [""] * 4


def test_a_process_that_stays_may_open_as_many_files_as_the_system_allows_it(
    tmp_path: Path,
) -> None:
    executable = Path(sys.executable).parent / "heliograph"
    hard = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    with subprocess.Popen(
        [str(executable), "smsc", "--port", "0", "--json"],
        stdout=subprocess.PIPE,
        env={"PATH": os.environ["PATH"]},
        cwd=tmp_path,
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_NOFILE, (256, hard)),
    ) as process:
        assert process.stdout is not None
        assert process.stdout.readline()
        limits = resource.prlimit(process.pid, resource.RLIMIT_NOFILE)
        process.terminate()
    assert limits == (
        min(hard, open_files.FILES_MAX) if hard != resource.RLIM_INFINITY else open_files.FILES_MAX,
        hard,
    )
