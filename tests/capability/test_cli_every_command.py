"""What is so of every command: what it says of a wrong directory, of a wrong secret key, and of a value that cannot be."""

from pathlib import Path

import click
import pytest

from heliograph.base.db import Database
from heliograph.entry.cli.values import FailedBy, Moment, Money, Number, OrWord, Past, Span, Whole
from tests.capability.commands import Run, runner
from tests.capability.every_command import Typed, every_command, write_files
from tests.capability.test_cli_nowhere import Shell, everything, shell
from tests.factories import open_account

COMMANDS = every_command()
NEEDS_NO_DATABASE = {"smsc"}
MAKES_ONE = {"demo", "serve", "migrate", "account create"}
# `migrate` reads no secret; `doctor` tells it among its findings; `demo` has a directory, and so a database and a key, of its own.
LOOKS_AT_NO_KEY = {"smsc", "migrate", "doctor", "demo"}
WANTS_POSTGRESQL = {"api", "worker", "scheduler", "carrier run"}
CHECKED = (click.Choice, FailedBy, Moment, Money, Number, OrWord, Past, Span, Whole)

__all__ = ["shell"]


@pytest.fixture
def files(tmp_path: Path) -> None:
    write_files(tmp_path)


@pytest.mark.usefixtures("files")
@pytest.mark.parametrize("typed", [each for each in COMMANDS if each.name not in NEEDS_NO_DATABASE | MAKES_ONE], ids=lambda typed: typed.name)
def test_in_a_wrong_directory_it_says_where_it_looked_and_leaves_nothing(typed: Typed, shell: Shell, tmp_path: Path) -> None:
    before = everything(tmp_path)
    said = shell(*typed.args(tmp_path), "--data-dir", str(tmp_path / "none"))
    assert (said.status, said.out, said.err.count("\n")) == (1, "", 1), said
    assert said.err.startswith(f"heliograph: There is no database {tmp_path}/none/heliograph.db; "), said.err
    assert everything(tmp_path) == before


@pytest.mark.usefixtures("files")
@pytest.mark.parametrize("typed", [each for each in COMMANDS if each.name not in LOOKS_AT_NO_KEY], ids=lambda typed: typed.name)
def test_with_a_wrong_secret_key_it_says_so_and_does_nothing(typed: Typed, sqlite_url: str, postgresql_url: str, tmp_path: Path) -> None:
    run = runner(postgresql_url if typed.name in WANTS_POSTGRESQL else sqlite_url, tmp_path)
    assert run("account", "list").status == 0  # the database knows its key now
    said = run(*typed.args(tmp_path), HELIOGRAPH_SECRET_KEY="w" * 32)
    assert (said.status, said.out, said.err.count("\n")) == (1, "", 1), said
    assert "HELIOGRAPH_SECRET_KEY" in said.err
    assert "w" * 32 not in said.err


def checked(typed: Typed) -> list[str]:
    return [param.opts[0] for param in typed.command.params if isinstance(param, click.Option) and isinstance(param.type, CHECKED)
            and not param.is_flag and param.name != "countries"]  # a list, which the account judges


@pytest.mark.usefixtures("files")
@pytest.mark.parametrize("typed", [each for each in COMMANDS if checked(each)], ids=lambda typed: typed.name)
def test_a_value_that_cannot_be_is_exit_status_2(typed: Typed, shell: Shell, tmp_path: Path) -> None:
    """Also in no directory at all, for it is judged first."""
    for option in checked(typed):
        for value in ("soon", "-1x", "٣", "1e999", "1_0"):
            said = shell(*typed.args(tmp_path), option, value)
            assert (said.status, said.out) == (2, ""), (option, value, said)
            assert option in said.err, (option, value, said.err)


@pytest.mark.parametrize("typed", COMMANDS, ids=lambda typed: typed.name)
def test_every_option_has_help(typed: Typed) -> None:
    assert [param.opts[0] for param in typed.command.params if isinstance(param, click.Option) and not param.help] == []


@pytest.fixture
def amina(database_url: str) -> None:
    db = Database(database_url)
    open_account(db)
    db.close()


@pytest.mark.usefixtures("files", "amina")
@pytest.mark.parametrize("typed", [each for each in COMMANDS if any(param.name == "country" for param in each.command.params)],
                         ids=lambda typed: typed.name)
def test_a_country_that_there_is_not_is_exit_status_2(typed: Typed, run: Run, tmp_path: Path) -> None:
    more = ["--numbers", str(tmp_path / "contacts.csv")] if typed.name == "campaign create" else []
    args = [arg for arg in typed.args(tmp_path) if arg != "--all" or not more]
    said = run(*args, *more, "--country", "ZZ")
    assert (said.status, "--country" in said.err) == (2, True) if typed.name != "campaign test" else said.status == 2, said
