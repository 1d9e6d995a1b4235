"""Lists every command with values that are right in form, which are made from the table of
commands. Tests of what must be so of all commands use it.
"""

import os
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Final, NamedTuple

import click
import pytest
from click.testing import CliRunner

from heliograph.base import ids
from heliograph.cli import main
from heliograph.messages.doubt.unmatched import RECEIPT_PREFIX
from tests.support.capability.commands import CommandResult

# Arguments and required options whose value is neither a number nor one of a choice, by their name.
_VALUES: Final = {
    "account": "amina",
    "acc": "amina",
    "address": "ops@example.com",
    "amount": "1",
    "at": "2999-01-31T09:30",
    "campaign_id": "cmp_1",
    "carrier": "simulator",
    "carriers": "simulator",
    "contact": "233201234567",
    "country": "GH",
    "currency": "GHS",
    "destination": "GH",
    "email": "ama@example.com",
    "endpoint": "whe_1",
    "events": "all",
    "host": "127.0.0.1",
    "key_id": "key_1",
    "keyword": "OFFERS",
    "keyword_id": "kw_1",
    "message_id": "msg_1",
    "message_ids": "msg_1",
    "month": "2026-10",
    "name": "simulator",
    "number": "4567",
    "per_segment": "1",
    "permissions": "all",
    "phone": "233201234567",
    "prefix": "233",
    "quotas": "logs=1MB",
    "reason": "asked",
    "recipient": "alr_1",
    "receipt_id": ids.new(RECEIPT_PREFIX),
    "sender": "AMINA",
    "sender_id": "sid_1",
    "sheet_id": "rsh_1",
    "to": "233201234567",
    "url": "https://shop.example/hook",
    "where": "GH",
}
# What a command wants beside, which click does not know to be required.
_BESIDE: Final = {
    "account set": ["--countries", "GH"],
    "account suspend": ["--reason", "asked"],
    "campaign create": ["--message", "Hello", "--all"],
    "carrier set": ["--port", "2775"],
    "contact set": ["--name", "Kofi"],
    "erase": ["--yes"],
    "number set": ["--no-catch-all"],
    "serve": ["--port", "0"],
    "api": ["--port", "0"],
    "console": ["--port", "0"],
    "demo": ["--port", "0"],
    "user add": ["--account", "1", "--role", "owner"],
    "user create": ["--account", "1", "--role", "owner"],
    "user remove": ["--account", "1"],
    "webhook replay": ["--since", "1h"],
    "number keywords": ["--first-word"],
    "receipt list": ["--unmatched"],
    "carrier add": ["--port", "2775", "--password-file", "TMP/password", "--system-id", "amina"],
}


class Typed(NamedTuple):
    """Holds a command, and what one types after its name so that nothing of it is wrong in form."""

    name: str
    command: click.Command
    values: list[str]

    def args(self, tmp_path: Path) -> list[str]:
        return [*self.name.split(), *(value.replace("TMP", str(tmp_path)) for value in self.values)]


def write_files(tmp_path: Path) -> None:
    """Writes the files that the values name."""
    (tmp_path / "password").write_text("opensesame\n")
    (tmp_path / "contacts.csv").write_text("phone\n233201234567\n")


def every_command() -> list[Typed]:
    return list(_commands(main, click.Context(main), ()))


def _commands(group: click.Group, context: click.Context, path: tuple[str, ...]) -> Iterator[Typed]:
    for name in group.list_commands(context):
        command = group.get_command(context, name)
        assert command is not None
        if isinstance(command, click.Group):
            yield from _commands(command, context, (*path, name))
        else:
            whole = " ".join((*path, name))
            yield Typed(whole, command, [*_required(command), *_BESIDE.get(whole, [])])


def _required(command: click.Command) -> Iterator[str]:
    for param in command.params:
        if isinstance(param, click.Argument):
            yield _value(param)
        elif param.required:
            yield from (param.opts[0], _value(param))


def _value(param: click.Parameter) -> str:
    if isinstance(param.type, click.Choice):
        return str(param.type.choices[0])
    if isinstance(param.type, click.Path):
        return "TMP/contacts.csv"
    return _VALUES.get(str(param.name), "1")


Shell = Callable[..., CommandResult]


def shell_in(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Shell:
    """Runs commands in an empty directory, with no settings but those that are given."""
    (tmp_path / "here").mkdir()
    monkeypatch.chdir(tmp_path / "here")
    for name in [
        name
        for name in os.environ
        if name.startswith("HELIOGRAPH_") or name in ("DATABASE_URL", "REDIS_URL")
    ]:
        monkeypatch.delenv(name)

    def command(*args: str, **env: str) -> CommandResult:
        result = CliRunner().invoke(main, args, env=env)
        assert result.exception is None or isinstance(result.exception, SystemExit), (
            result.exception
        )
        return CommandResult(result.exit_code, result.stdout, result.stderr)

    return command


def everything(directory: Path) -> dict[str, bytes]:
    return {
        str(path.relative_to(directory)): path.read_bytes() if path.is_file() else b""
        for path in directory.rglob("*")
    }
