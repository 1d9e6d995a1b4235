"""Runs the operator's commands as tests do: as they are typed, in this process, on the test's
database.
"""

import json
import shlex
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final, NamedTuple

from click.testing import CliRunner

from heliograph import accounts
from heliograph.cli import main
from heliograph.connect import CustomerRequest
from heliograph.database.database import Database

SECRET_KEY = "s" * 32
BILAL = CustomerRequest("Bilal Stores", "233201234567", "GH", external_ref="shop-7")


class CommandResult(NamedTuple):
    """Holds what a command left behind."""

    status: int
    out: str
    err: str

    @property
    def json(self) -> Any:
        assert self.status == 0, self.err
        return json.loads(self.out)


Run = Callable[..., CommandResult]


def typed(line: str) -> list[str]:
    """Returns the words of a command line, as a shell reads them:
    `run(*typed("account list --json"))`.
    """
    return shlex.split(line)


# adds the carrier mtn; its password comes from standard input
ADD_CARRIER: Final = typed(
    "carrier add mtn --host smpp.example.net --port 2775 --system-id amina --password-file -"
)


def runner(database_url: str, directory: Path) -> Run:
    """Returns `run`: `run("account", "list", REDIS_URL="")` runs a command as from a shell, with
    these variables beside.
    """

    def command(*args: object, stdin: str | None = None, **more: str) -> CommandResult:
        env = {
            "DATABASE_URL": database_url,
            "HELIOGRAPH_SECRET_KEY": SECRET_KEY,
            "HELIOGRAPH_DATA_DIR": str(directory / "data"),
            **more,
        }
        result = CliRunner().invoke(main, [str(arg) for arg in args], input=stdin, env=env)
        assert result.exception is None or isinstance(result.exception, SystemExit), (
            result.exception
        )
        return CommandResult(result.exit_code, result.stdout, result.stderr)

    return command


def text(db: Database, account_id: str) -> str:
    """Returns the account's id as commands take it."""
    with db.read() as tx:
        return accounts.text_id(accounts.by_id(tx, account_id))
