"""The commands' help is complete, and there at once."""

import re
import subprocess
import sys
from collections.abc import Iterator
from typing import Final

import click
from click.testing import CliRunner

from heliograph.cli import COMMANDS, main
from tests.support.capability.every_command import every_command

WIDTH_AT_80_COLUMNS: Final = 78  # click leaves two columns of a terminal free


def test_every_command_takes_a_data_directory_and_shows_an_example() -> None:
    for command in _commands(main, click.Context(main)):
        assert "data_dir" in {parameter.name for parameter in command.params}, command.name
        assert command.help, command.name
        assert f" {command.name}" in (command.epilog or ""), command.name


def _commands(group: click.Group, context: click.Context) -> Iterator[click.Command]:
    for name in group.list_commands(context):
        command = group.get_command(context, name)
        assert command is not None
        if isinstance(command, click.Group):
            yield from _commands(command, context)
        else:
            yield command


def test_the_list_of_commands_names_every_verb_of_a_noun() -> None:
    context = click.Context(main)
    for noun, said in COMMANDS.items():
        group = main.get_command(context, noun)
        if isinstance(group, click.Group):
            named = re.findall(r"[a-z-]+", said.partition(":")[2])
            assert [verb for verb in group.list_commands(context) if verb not in named] == [], noun


def test_the_help_names_the_commands_that_have_no_document_of_json_to_print() -> None:
    named = re.search(r"These run until you stop them: ([^.]*)\.", main.help or "")
    assert named
    without = {each.name for each in every_command() if not _prints_one_document(each.command)}
    assert {*named[1].split(", ")} == without


def _prints_one_document(command: click.Command) -> bool:
    return any(
        isinstance(param, click.Option)
        and "--json" in param.opts
        and param.help == "Print one JSON document."
        for param in command.params
    )


def test_no_line_of_a_list_of_commands_is_cut_at_80_columns() -> None:
    """It would end in "..." because the first sentence of a command's help is too long."""
    groups = {tuple(each.name.split()[:-1]) for each in every_command()}
    assert {(), ("webhook",)} <= groups
    cut = [
        f"{' '.join(path)}: {line.strip()}"
        for path in sorted(groups)
        for line in _listed_commands(path)
        if line.endswith("...")
    ]
    assert not cut, "\n".join(cut)


def _listed_commands(path: tuple[str, ...]) -> list[str]:
    shown = CliRunner().invoke(main, [*path, "--help"], terminal_width=WIDTH_AT_80_COLUMNS)
    assert shown.exit_code == 0, path
    listed = shown.output.partition("\nCommands:\n")[2].partition("\n\n")[0].splitlines()
    assert listed, path
    return listed


def test_help_loads_nothing_that_works() -> None:
    """So it is there at once; the list of commands does not even load the commands."""
    nouns = [name for name in COMMANDS if name in ("account", "key", "carrier")]
    code = f"""
import sys
from click.testing import CliRunner
from heliograph.cli import main
def loaded(*names):
    return [name for name in sys.modules if name.split(".")[0] in names or name.startswith(names)]
assert CliRunner().invoke(main, ["--help"]).exit_code == 0
assert loaded("heliograph.cli.") == ["heliograph.cli.garbage_collection"], loaded("heliograph.cli.")
for noun in {nouns}:
    verb = "create" if noun != "carrier" else "add"
    assert CliRunner().invoke(main, [noun, verb, "--help"]).exit_code == 0
heavy = ("sqlalchemy", "asyncpg", "alembic", "cryptography", "redis", "structlog")
assert not loaded(*heavy, "heliograph.base"), sorted(sys.modules)
"""
    subprocess.run([sys.executable, "-c", code], check=True, timeout=60)
