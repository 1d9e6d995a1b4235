"""The command `heliograph` has one file for each noun or program, in the folders `accounts`,
`carriers` and `programs`. A file is loaded when it is asked for.

`heliograph --help` and every command's help import click and nothing else of weight; so each file
imports what it works with inside its functions. It holds its command as `command`.
"""

import errno
import io
import os
import sys
from collections.abc import Sequence
from importlib import import_module
from typing import Any, Final

import click

from heliograph.cli.garbage_collection import rare_collection

# In the order in which an operator meets them. A new command is a line here and a file in its
# folder, named like the command, with _ for -.
COMMANDS: Final = {
    "demo": "A server with a ready account, and a first text on its way.",
    "serve": "Run everything in one process.",
    "api": "The HTTP API alone, in several processes.",
    "console": "The operator's console alone, at an address of its own.",
    "worker": "Everything but the API, in one process or several.",
    "scheduler": "The work that is done every second, in a process of its own.",
    "smsc": "The simulator as an SMPP server, which misbehaves when told to.",
    "doctor": "Check this installation, and say how to mend what is wrong.",
    "migrate": "Bring the database to the current schema.",
    "secret": "The secret key: rotate.",
    "restore-check": "After a restore: keep back what was queued, then send or cancel it.",
    "account": (
        "Accounts (tenants): create, go-live, list, show, rename, suspend, resume, pay-out, close,"
        " set, notices."
    ),
    "user": (
        "People who sign in to the portal or the console: add (or create), link, list, remove,"
        " disable, two-step-off; log of operators."
    ),
    "quota": "How much an account may store in a day: show, set.",
    "key": "API keys: create, list, revoke.",
    "credits": "SMS credits of an account: grant, adjust, buy.",
    "wallet": "Money of an account: topup, adjust, transactions, statement.",
    "message": "Messages: list, show, cancel; settle and resend those in doubt.",
    "receipt": "Receipts that found no message: list, match.",
    "number": "Numbers and short codes that receive texts: add, list, set, keywords, remove.",
    "keyword": "Words that do something when a handset sends them: add, list, remove.",
    "inbound": "Texts that handsets have sent: list, show.",
    "otp": "One-time passwords: block, blocked, unblock.",
    "abuse": "What may be abuse: volume, links.",
    "campaign": (
        "Campaigns: create, test, estimate, schedule, launch, pause, resume, cancel, list, show."
    ),
    "contact": (
        "Contacts of an account: add, list, show, set, opt-out, opt-in, remove, import, export."
    ),
    "opt-out": "Phones that want no texts from an account: add, list, remove.",
    "sender": (
        "Sender IDs: list, show, documents, approve, reject, suspend, register; reserve, release,"
        " reserved."
    ),
    "carrier": "Carriers: add, set, list, show, test, pause, drain, resume, remove, run.",
    "route": "Which carriers take which numbers: set, list, which, remove.",
    "rate": "SMS credits per segment: set, list, remove, margin, import, export, sheets, withdraw.",
    "cost": "What carriers charge for a segment: set, list, remove, days.",
    "price": "What SMS credits are sold for: set, list, remove.",
    "tier": "Rate tiers of keys: add, set, list.",
    "webhook": (
        "Webhook endpoints: add, list, rotate, disable, enable, remove, test, events, attempts,"
        " replay."
    ),
    "site": "Shops whose plugin is linked to an account: list, logs.",
    "listen": "Show an account's events, and forward them to an address of yours.",
    "erase": "Erase a phone number from all that an account has stored.",
    "ledger": "The ledger: verify, export.",
    "alert": ("Alerts: list, rules, set; recipients, add, remove, test; wallets, watch, unwatch."),
}
_FOLDER_OF_PROGRAMS: Final = (
    "demo serve api console worker scheduler smsc listen doctor migrate secret restore-check"
)
_FOLDER_OF_CARRIERS: Final = (
    "carrier route rate cost price message receipt number keyword inbound ledger alert"
)
FOLDERS: Final = {
    **dict.fromkeys(COMMANDS, "accounts"),
    **dict.fromkeys(_FOLDER_OF_PROGRAMS.split(), "programs"),
    **dict.fromkeys(_FOLDER_OF_CARRIERS.split(), "carriers"),
}

_FULL: Final = frozenset({errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EIO})
# of a file, which is named
_REFUSED: Final = frozenset(
    {*_FULL, errno.EROFS, errno.EACCES, errno.EPERM, errno.ENOTDIR, errno.EISDIR}
)


class Commands(click.Group):
    """Lists the commands of COMMANDS, and imports one only when it is called."""

    def main(self, args: Sequence[str] | None = None, *more: Any, **named: Any) -> Any:
        """Runs a command; without `args` that of this process, which ends with it."""
        if args is not None:
            return self._main(args, *more, **named)
        _open_empty_input()
        with rare_collection():
            return self._main(None, *more, **named)

    def _main(self, *args: Any, **named: Any) -> Any:
        """Runs a command. What the system refuses is one line: a full disk that the output goes
        to, a directory of somebody else, one that is read only.
        """
        try:
            return super().main(*args, **named)
        except OSError as error:
            if error.errno not in (_REFUSED if error.filename else _FULL):
                raise
            where = f"{error.filename}: " if error.filename else ""
            if not where:
                _discard_output()
            click.echo(f"heliograph: {where}{error.strerror}.", err=True)
            sys.exit(1)

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in COMMANDS:
            return None
        module = import_module(f"heliograph.cli.{FOLDERS[cmd_name]}.{cmd_name.replace('-', '_')}")
        command: click.Command = module.command
        return command

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Finds the command; where there is none, names those that are nearest."""
        try:
            return super().resolve_command(ctx, args)
        # click looks for the nearest one among those that were imported
        except click.exceptions.NoSuchCommand as error:
            from heliograph.base.near_names import nearest_names

            raise click.exceptions.NoSuchCommand(
                error.command_name,
                possibilities=nearest_names(error.command_name, COMMANDS),
                ctx=ctx,
            ) from error

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        with formatter.section("Commands"):
            formatter.write_dl(list(COMMANDS.items()))


def _open_empty_input() -> None:
    """Gives a process whose standard input is closed (`<&-`) an empty one to read."""
    if sys.stdin is None:
        sys.stdin = io.TextIOWrapper(io.BytesIO(), encoding="utf-8")


def _discard_output() -> None:
    """Throws away what could not be printed, which Python would try again at the end."""
    with open(os.devnull, "w") as nowhere:
        os.dup2(nowhere.fileno(), 1)


main = Commands(
    "heliograph",
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 110},
    help=(
        "A messaging service: bulk SMS, prepaid credits, delivery receipts, real SMPP.\n\nEvery"
        " command takes --data-dir. These run until you stop them: demo, serve, api, console,"
        " worker, scheduler, smsc, listen, carrier run. All others, except restore-check --since,"
        " work beside a running server. With --json they print one JSON document, unless they write"
        " a file to standard output."
    ),
    epilog=(
        "Exit status: 0; 2 for a mistake in the command line, such as a bad value; 1 for a failure,"
        " with one line on standard error."
    ),
)
main = click.version_option(package_name="heliograph", message="%(prog)s %(version)s")(main)
