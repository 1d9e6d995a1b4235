"""Every command answers in the same way to a wrong directory, to a wrong secret key, and to a value
that cannot be.
"""

from pathlib import Path
from typing import Any

import click
import pytest

from heliograph.cli.checked_values import CheckedType, MaybeEmpty
from heliograph.cli.values import (
    Duration,
    FailedBy,
    Moment,
    Money,
    Number,
    OrWord,
    Past,
    WholeNumber,
)
from tests.support.capability.commands import Run, runner
from tests.support.capability.every_command import (
    Shell,
    Typed,
    every_command,
    everything,
    write_files,
)

COMMANDS = every_command()
NEEDS_NO_DATABASE = {"smsc"}
MAKES_ONE = {"demo", "serve", "migrate", "account create"}
# `migrate` reads no secret; `doctor` tells it among its findings; `demo` has a directory, and so a
# database and a key, of its own.
LOOKS_AT_NO_KEY = {"smsc", "migrate", "doctor", "demo"}
WANTS_POSTGRESQL = {"api", "worker", "scheduler", "carrier run"}
CHECKED = (click.Choice, FailedBy, Moment, Money, Number, OrWord, Past, Duration, WholeNumber)


@pytest.fixture
def files(tmp_path: Path) -> None:
    write_files(tmp_path)


@pytest.mark.usefixtures("files")
@pytest.mark.parametrize(
    "typed",
    [each for each in COMMANDS if each.name not in NEEDS_NO_DATABASE | MAKES_ONE],
    ids=lambda typed: typed.name,
)
def test_in_a_wrong_directory_it_says_where_it_looked_and_leaves_nothing(
    typed: Typed, shell: Shell, tmp_path: Path
) -> None:
    before = everything(tmp_path)
    said = shell(*typed.args(tmp_path), "--data-dir", str(tmp_path / "none"))
    assert (said.status, said.out, said.err.count("\n")) == (1, "", 1), said
    assert said.err.startswith(
        f"heliograph: There is no database {tmp_path}/none/heliograph.db; "
    ), said.err
    assert everything(tmp_path) == before


@pytest.mark.usefixtures("files")
@pytest.mark.parametrize(
    "typed",
    [each for each in COMMANDS if each.name not in LOOKS_AT_NO_KEY],
    ids=lambda typed: typed.name,
)
def test_with_a_wrong_secret_key_it_says_so_and_does_nothing(
    typed: Typed, sqlite_url: str, postgresql_url: str, tmp_path: Path
) -> None:
    run = runner(postgresql_url if typed.name in WANTS_POSTGRESQL else sqlite_url, tmp_path)
    assert run("account", "list").status == 0  # the database knows its key now
    said = run(*typed.args(tmp_path), HELIOGRAPH_SECRET_KEY="w" * 32)
    assert (said.status, said.out, said.err.count("\n")) == (1, "", 1), said
    assert "HELIOGRAPH_SECRET_KEY" in said.err
    assert "w" * 32 not in said.err


def checked(typed: Typed) -> list[str]:
    return [
        param.opts[0]
        for param in typed.command.params
        if isinstance(param, click.Option)
        and isinstance(param.type, CHECKED)
        and not param.is_flag
        and param.name != "countries"
    ]  # a list, which the account judges


@pytest.mark.usefixtures("files")
@pytest.mark.parametrize(
    "typed", [each for each in COMMANDS if checked(each)], ids=lambda typed: typed.name
)
def test_a_value_that_cannot_be_is_exit_status_2(
    typed: Typed, shell: Shell, tmp_path: Path
) -> None:
    """The same holds in no directory at all, for the value is judged first."""
    for option in checked(typed):
        for value in ("soon", "-1x", "٣", "1e999", "1_0"):
            said = shell(*typed.args(tmp_path), option, value)
            assert (said.status, said.out) == (2, ""), (option, value, said)
            assert option in said.err, (option, value, said.err)


def with_value(typed: Typed, param: click.Parameter, value: str, tmp_path: Path) -> list[str]:
    """Returns the command with this value in place of the option's or argument's."""
    args = typed.args(tmp_path)
    if isinstance(param, click.Option):
        at = args.index(param.opts[0]) + 1 if param.opts[0] in args else len(args)
        return [*args[:at], *([] if at < len(args) else [param.opts[0]]), value, *args[at + 1 :]]
    before = typed.command.params[: typed.command.params.index(param)]
    at = len(typed.name.split()) + sum(
        1 if isinstance(each, click.Argument) else 2 * each.required for each in before
    )
    return [*args[:at], value, *args[at + 1 :]]


def valued(
    typed: Typed, kind: type[click.ParamType[Any]] = click.ParamType
) -> list[click.Parameter]:
    return [
        param
        for param in typed.command.params
        if isinstance(_inner(param.type), kind) and not getattr(param, "is_flag", False)
    ]


def _inner(kind: click.ParamType[Any]) -> click.ParamType[Any]:
    return kind.inner if isinstance(kind, OrWord) else kind


@pytest.mark.usefixtures("files")
@pytest.mark.parametrize("typed", COMMANDS, ids=lambda typed: typed.name)
def test_an_empty_value_is_exit_status_2(typed: Typed, shell: Shell, tmp_path: Path) -> None:
    for param in valued(typed):
        if not isinstance(param.type, MaybeEmpty):
            said = shell(*with_value(typed, param, "", tmp_path))
            assert (said.status, said.out) == (2, ""), (param.name, said)


def test_a_route_of_all_numbers_and_no_system_type_are_the_values_that_may_be_empty() -> None:
    found = {
        f"{typed.name} {param.name}" for typed in COMMANDS for param in valued(typed, MaybeEmpty)
    }
    assert found == {
        "route set prefix",
        "route remove prefix",
        "cost set prefix",
        "cost remove prefix",
        "carrier add system_type",
        "carrier set system_type",
    }


@pytest.mark.usefixtures("files")
@pytest.mark.parametrize(
    "typed", [each for each in COMMANDS if valued(each, CheckedType)], ids=lambda typed: typed.name
)
def test_a_text_that_cannot_be_is_exit_status_2_though_nothing_is_there(
    typed: Typed, shell: Shell, tmp_path: Path
) -> None:
    for param in valued(typed, CheckedType):
        for value in ("x" * 300, "a\nb"):
            said = shell(*with_value(typed, param, value, tmp_path))
            assert (said.status, said.out) == (2, ""), (param.name, said)


@pytest.mark.judged_in_python
@pytest.mark.usefixtures("files")
@pytest.mark.parametrize(
    ("command", "param", "value"),
    [
        ("campaign schedule", "at", "zz"),
        ("otp unblock", "where", "abc"),
        ("otp unblock", "where", "2 33"),
        ("campaign test", "to", "zz"),
        ("campaign test", "to", "0"),
        ("erase", "phone", "zz"),
        ("contact add", "phone", "zz"),
        ("contact set", "phone", "zz"),
        ("contact add", "email", "zz"),
        ("contact set", "tags", "a|b"),
        ("message list", "to", "zz"),
        ("account set", "max_tier", "zz"),
        ("key create", "tier", "zz"),
        ("webhook add", "url", "zz"),
        ("carrier set", "system_id", "x" * 16),
        ("carrier set", "window", "0"),
        ("price set", "currency", "zz"),
        ("price remove", "currency", "zz"),
    ],
)
def test_the_form_of_a_value_is_judged_before_what_it_is_for_is_looked_up(
    command: str, param: str, value: str, run: Run, tmp_path: Path
) -> None:
    typed = next(each for each in COMMANDS if each.name == command)
    named = next(each for each in typed.command.params if each.name == param)
    args = with_value(typed, named, value, tmp_path)
    said = run(*args, *(["--account", "nobody"] if command == "message list" else []))
    assert (said.status, said.out) == (2, ""), said


@pytest.mark.parametrize("typed", COMMANDS, ids=lambda typed: typed.name)
def test_every_option_has_help(typed: Typed) -> None:
    assert [
        param.opts[0]
        for param in typed.command.params
        if isinstance(param, click.Option) and not param.help
    ] == []


@pytest.mark.judged_in_python
@pytest.mark.usefixtures("files", "amina_id")
@pytest.mark.parametrize(
    "typed",
    [each for each in COMMANDS if any(param.name == "country" for param in each.command.params)],
    ids=lambda typed: typed.name,
)
def test_a_country_that_there_is_not_is_exit_status_2(
    typed: Typed, run: Run, tmp_path: Path
) -> None:
    more = ["--numbers", str(tmp_path / "contacts.csv")] if typed.name == "campaign create" else []
    args = [arg for arg in typed.args(tmp_path) if arg != "--all" or not more]
    said = run(*args, *more, "--country", "ZZ")
    assert (
        (said.status, "--country" in said.err) == (2, True)
        if typed.name != "campaign test"
        else said.status == 2
    ), said
