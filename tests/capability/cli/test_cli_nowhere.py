"""Commands that find nothing where they look say so in one line, end with exit status 1, and leave
nothing behind.
"""

import os
import sqlite3
from pathlib import Path

import pytest

from tests.support.capability.commands import SECRET_KEY
from tests.support.capability.every_command import Shell, everything

COMMANDS = (
    ["account", "list"],
    ["account", "show", "amina"],
    ["carrier", "list"],
    ["key", "create", "--account", "amina", "--mode", "live", "--permissions", "all"],
    ["ledger", "verify"],
    ["doctor"],
    ["restore-check"],
    ["secret", "rotate"],
    ["secret", "rotate", "--lost"],
    ["webhook", "list"],
    ["api"],
    ["worker"],
    ["listen", "--account", "amina", "--forward", "http://127.0.0.1:9/"],
)
CREATE = ["account", "create", "amina", "--country", "GH", "--currency", "GHS", "--json"]


@pytest.mark.parametrize("command", COMMANDS, ids=" ".join)
def test_in_a_wrong_directory_a_command_says_where_it_looked_and_leaves_nothing(
    command: list[str], shell: Shell, tmp_path: Path
) -> None:
    (tmp_path / "there").mkdir()
    (tmp_path / "file").write_text("mine")
    (tmp_path / "notes").mkdir()
    (tmp_path / "notes" / "todo.txt").write_text("mine")
    before = everything(tmp_path)
    for place in ("none", "there", "notes", "file"):
        said = shell(*command, "--data-dir", str(tmp_path / place))
        assert (said.status, said.out, said.err.count("\n")) == (1, "", 1), said
        assert said.err.startswith(
            f"heliograph: There is no database {tmp_path / place}/heliograph.db; the data directory"
            f" is {tmp_path / place}. "
        )
    assert f"the data directory is {tmp_path}/here/heliograph-data. " in shell(*command).err
    assert (
        f"no database {tmp_path}/none.db;"
        in shell(
            *command, DATABASE_URL=f"sqlite:///{tmp_path}/none.db", HELIOGRAPH_SECRET_KEY=SECRET_KEY
        ).err
    )
    assert everything(tmp_path) == before


def test_an_account_is_the_first_thing_in_an_empty_directory_only(
    shell: Shell, tmp_path: Path
) -> None:
    (tmp_path / "notes").mkdir()
    (tmp_path / "notes" / "todo.txt").write_text("mine")
    refused = shell(*CREATE, "--data-dir", str(tmp_path / "notes"))
    assert (
        refused.status,
        refused.err.startswith(f"heliograph: There is no database {tmp_path}/notes/heliograph.db;"),
    ) == (1, True)
    assert os.listdir(tmp_path / "notes") == ["todo.txt"]
    (tmp_path / "ready").mkdir()
    (tmp_path / "ready" / "heliograph.toml").write_text('log_level = "error"\n')
    for place in ("ready", "none"):
        assert shell(*CREATE, "--data-dir", str(tmp_path / place)).json["name"] == "amina"
        assert (
            len(shell("account", "list", "--json", "--data-dir", str(tmp_path / place)).json) == 1
        )
    # which says that it makes one
    assert shell("migrate", "--data-dir", str(tmp_path / "notes")).status == 0


def test_a_file_that_is_no_database_of_ours_is_named_and_stays_as_it_is(
    shell: Shell, tmp_path: Path
) -> None:
    files = {"letter.db": b"Dear Amina, " * 100, "empty.db": b""}
    for name, octets in files.items():
        (tmp_path / name).write_bytes(octets)
    other = sqlite3.connect(tmp_path / "other.db")
    other.execute("CREATE TABLE mine (id INTEGER)")
    other.close()
    before = (tmp_path / "other.db").read_bytes()
    for name, why in (
        ("letter.db", f"{tmp_path}/letter.db is not an SQLite database: file is not a database."),
        ("empty.db", f"There is no database of Heliograph in {tmp_path}/empty.db;"),
        ("other.db", f"There is no database of Heliograph in {tmp_path}/other.db;"),
    ):
        said = shell(
            "account",
            "list",
            DATABASE_URL=f"sqlite:///{tmp_path}/{name}",
            HELIOGRAPH_SECRET_KEY=SECRET_KEY,
        )
        assert (
            said.status,
            said.out,
            said.err.count("\n"),
            said.err.startswith(f"heliograph: {why}"),
        ) == (1, "", 1, True), said
    assert (tmp_path / "letter.db").read_bytes() == files["letter.db"]
    tables = sqlite3.connect(tmp_path / "other.db")
    assert tables.execute("SELECT name FROM sqlite_master").fetchall() == [("mine",)]
    tables.close()
    assert len((tmp_path / "other.db").read_bytes()) == len(before)


def test_a_key_is_not_made_for_a_database_that_is_there(
    shell: Shell, sqlite_url: str, tmp_path: Path
) -> None:
    said = shell("account", "list", DATABASE_URL=sqlite_url)
    assert (said.status, said.err) == (
        1,
        (
            "heliograph: HELIOGRAPH_SECRET_KEY: found no value, and no file"
            f" {tmp_path}/here/heliograph-data/secret.key; allowed: the key of this database\n"
        ),
    )
    assert os.listdir(tmp_path / "here") == []


@pytest.mark.parametrize(
    "command", [["account", "list"], ["migrate"], ["carrier", "list"]], ids=" ".join
)
def test_a_postgresql_that_is_not_there_is_named_without_its_password(
    command: list[str], shell: Shell, tmp_path: Path
) -> None:
    said = shell(
        *command,
        DATABASE_URL="postgresql://amina:opensesame@127.0.0.1:9/heliograph",
        HELIOGRAPH_SECRET_KEY=SECRET_KEY,
        HELIOGRAPH_DATA_DIR=str(tmp_path / "data"),
    )
    assert (said.status, said.out, said.err.count("\n")) == (1, "", 1), said
    assert "127.0.0.1" in said.err
    assert "opensesame" not in said.err


def test_settings_are_read_from_the_file_that_is_named(
    shell: Shell, sqlite_url: str, tmp_path: Path
) -> None:
    path = tmp_path / "heliograph.env"
    path.write_text(
        f"# for systemd too\nDATABASE_URL={sqlite_url}\nHELIOGRAPH_SECRET_KEY='{SECRET_KEY}'\n"
        f'HELIOGRAPH_DATA_DIR="{tmp_path}/data"\n'
    )
    assert shell("account", "list", "--env-file", str(path)).status == 0
    assert shell(*CREATE, HELIOGRAPH_ENV_FILE=str(path)).json["name"] == "amina"
    assert len(shell("account", "list", "--json", HELIOGRAPH_ENV_FILE=str(path)).json) == 1
    # the environment wins
    elsewhere = shell(
        "account", "list", "--env-file", str(path), DATABASE_URL=f"sqlite:///{tmp_path}/none.db"
    )
    assert elsewhere.err.startswith(
        f"heliograph: There is no database {tmp_path}/none.db; the data directory is"
        f" {tmp_path}/data. "
    )
    path.write_text(f"{path.read_text()}HELIOGRAPH_METRICS_TOKN=hunter2\n")
    assert shell("account", "list", "--env-file", str(path)).err.startswith(
        "heliograph: HELIOGRAPH_METRICS_TOKN: found no such setting;"
    )
    path.write_text("DATABASE_URL\n")
    bad = shell("account", "list", "--env-file", str(path))
    assert (
        bad.status,
        bad.err.startswith(f"heliograph: {path}, line 1: found a line without =; "),
    ) == (1, True)
    assert "DATABASE_URL" not in os.environ


@pytest.mark.parametrize("wrong", [["--country", "ZZ"], ["--currency", "ZZZ"]])
def test_an_account_that_cannot_be_made_leaves_no_database(
    shell: Shell, wrong: list[str], tmp_path: Path
) -> None:
    refused = shell(*CREATE, *wrong)
    assert (refused.status, wrong[0] in refused.err) == (2, True)
    assert everything(tmp_path / "here") == {}
