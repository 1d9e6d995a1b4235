"""Defines the commands `heliograph contact import` and `export`."""

import os
import signal
import sys
from collections.abc import Callable
from contextlib import ExitStack, contextmanager
from typing import IO, TYPE_CHECKING, Final, TextIO

import click

from heliograph.cli.command import Command, CommandRun, examples
from heliograph.cli.failure import Failure
from heliograph.cli.output import show
from heliograph.cli.output_files import is_standard_output, open_to_write, refuse_same, whole_file
from heliograph.cli.progress import Tell, progress
from heliograph.cli.values import account_option, country_code, mode_option

if TYPE_CHECKING:
    from collections.abc import Iterator

    from sqlalchemy.engine import Connection

    from heliograph.contacts import ContactOwner
    from heliograph.contacts.csv_cells import Layout
    from heliograph.contacts.csv_file import Sheet
    from heliograph.contacts.import_file import Import

STANDARD_INPUT: Final = 0  # its descriptor

country_option = click.option(
    "--country",
    metavar="GH",
    help=(
        "Read phones as they are dialled in this country. "
        "Default: a number with a leading 0 is of the account's country."
    ),
)


def whose(callback: Callable[..., None]) -> Callable[..., None]:
    """Adds the options --account and --mode."""
    return account_option(mode_option("Live and sandbox have separate contacts.")(callback))


def owner_of(tx: "Connection", account: str, sandbox: bool) -> "ContactOwner":
    """Returns the owner of the contacts of an account, which is given by its id or name. Raises
    NotFound, and InvalidRequest when several have the name.
    """
    from heliograph import accounts, contacts

    return contacts.ContactOwner(accounts.find(tx, account).id, sandbox)


def country_of(tx: "Connection", account_id: str) -> str:
    """Returns the country of an account (raw id), by which a phone with a leading 0 is read
    (docs/api.md, "Phone numbers").
    """
    from heliograph import accounts

    return accounts.by_id(tx, account_id).country_code


@click.command(
    "import",
    cls=Command,
    epilog=examples(
        "contact import contacts.csv --account 'Amina Foods' --country GH",
        "contact import contacts.csv --account 'Amina Foods' --bad-rows bad.csv",
    ),
)
@click.argument(
    "file", type=click.Path(exists=True, dir_okay=False, readable=True, allow_dash=True)
)
@whose
@country_option
@click.option(
    "--bad-rows",
    type=click.Path(dir_okay=False, writable=True),
    metavar="FILE",
    help="Write the rows that were left out to this file.",
)
@click.option("--force", is_flag=True, help="Overwrite the file of --bad-rows if it exists.")
def import_(
    run: CommandRun,
    file: str,
    account: str,
    sandbox: bool,
    country: str | None,
    bad_rows: str | None,
    force: bool,
) -> None:
    """Add the contacts of a CSV file, or change existing ones. FILE is - for standard input.

    Its first line names the columns: phone, and any of name, email, tags (separated by |),
    opted_out (yes or no), country_code; other columns become custom fields. Only columns that the
    file has are changed. Importing a file again does no harm.
    """
    from heliograph.contacts import OPERATOR
    from heliograph.contacts.csv_file import Sheet, open_sheet
    from heliograph.contacts.import_file import Import

    if bad_rows is not None:
        refuse_same(bad_rows, STANDARD_INPUT if file == "-" else file, option="--bad-rows")
    code = country_code(country)
    with run.read() as tx:
        owner = owner_of(tx, account, sandbox)
        home_country = country_of(tx, owner.account_id)
    done = Import(run.database, owner, OPERATOR)
    with ExitStack() as opened:
        text = opened.enter_context(open_sheet(file))
        sheet = Sheet(text, code, home_country)
        rest = (
            opened.enter_context(open_to_write(bad_rows, force=force))
            if bad_rows is not None
            else None
        )
        tell = (
            opened.enter_context(progress("Importing", lambda: os.path.getsize(file)))
            if text.seekable()
            else None
        )
        with _print_progress(done):
            _run(done, sheet, text, rest, tell)
    _report(run, done, sheet.layout, bad_rows)


def _run(
    done: "Import", sheet: "Sheet", text: TextIO, rest: IO[str] | None, tell: Tell | None
) -> None:
    """Imports a sheet. `tell` is told how many octets were read, where that is known."""
    from heliograph.base.csv.cells import line_of, neutralize, without_neutralizing

    def write(*cells: str) -> None:
        if rest is not None:
            rest.write(
                line_of((neutralize(without_neutralizing(cell)) for cell in cells), sheet.delimiter)
            )

    write("#line", "#why", *sheet.header)
    at = 0
    for bad in done.run(sheet.rows()):
        for row in bad:
            write(str(row.line), row.why, *row.cells)
        if tell is not None:
            tell(text.buffer.tell() - at)
            at = text.buffer.tell()


@contextmanager
def _print_progress(done: "Import") -> "Iterator[None]":
    """Tells how far an import came, whatever ends it early: what is committed stays."""
    from sqlalchemy.exc import DBAPIError

    from heliograph.base.errors import InvalidRequest, ServiceError

    before = signal.signal(signal.SIGTERM, signal.default_int_handler)
    try:
        yield
    except (ServiceError, DBAPIError, OSError, KeyboardInterrupt) as error:
        why = (
            "It was interrupted"
            if isinstance(error, KeyboardInterrupt)
            else str(error).splitlines()[0].rstrip(".")
        )
        next_step = (
            "Correct that line, and import the file again"
            if isinstance(error, InvalidRequest)
            else "Import the same file again to go on"
        )
        raise Failure(
            f"{why}. {_rows(done.stored)} stored, up to line {done.line} of the file; nothing after"
            f" it. {next_step}: rows that were imported before do no harm."
        ) from error
    finally:
        signal.signal(signal.SIGTERM, before)


def _rows(count: int) -> str:
    return "1 row is" if count == 1 else f"{count} rows are"


def _report(run: CommandRun, done: "Import", layout: "Layout", bad_rows: str | None) -> None:
    """Prints the figures on standard output; what is wrong, and what stood twice, goes to
    standard error. The exit status is 1 when rows were left out.
    """
    show(
        run,
        {
            "columns": layout.understood,
            "created": done.created,
            "updated": done.updated,
            "repeated": done.repeated,
            "bad": done.bad,
            **(
                {
                    "bad_rows": [{"line": row.line, "why": row.why} for row in done.bad_rows],
                    "repeated_lines": done.repeated_lines,
                }
                if run.as_json
                else {}
            ),
        },
    )
    for row in done.bad_rows:
        click.echo(f"Line {row.line} was left out: {row.why}.", err=True)
    if done.bad > len(done.bad_rows):
        click.echo(f"… and {done.bad - len(done.bad_rows)} more lines.", err=True)
    for line in done.repeated_lines:
        click.echo(
            f"Line {line} repeats the phone of an earlier line; the later row counts.", err=True
        )
    if done.repeated > len(done.repeated_lines):
        click.echo(f"… and {done.repeated - len(done.repeated_lines)} more lines.", err=True)
    if done.bad:
        they, them = ("it is", "it") if done.bad == 1 else ("they are", "them")
        where = f"{they} in {bad_rows}" if bad_rows else f"--bad-rows FILE writes {them} to a file"
        raise Failure(f"{_rows(done.bad)} left out; {where}. {_rows(done.stored)} stored.")


@click.command(
    "export", cls=Command, epilog=examples("contact export contacts.csv --account 'Amina Foods'")
)
@click.argument(
    "file", type=click.Path(dir_okay=False, writable=True, allow_dash=True), default="-"
)
@whose
@click.option("--force", is_flag=True, help="Overwrite FILE if it exists.")
def export(run: CommandRun, file: str, account: str, sandbox: bool, force: bool) -> None:
    """Write all contacts as CSV, to FILE or to standard output. What it writes, import reads back.

    A cell that a spreadsheet would run as a formula gets an apostrophe before it, which import
    takes away again.
    """
    from heliograph.contacts.export_file import count, write

    with run.read() as tx:
        owner = owner_of(tx, account, sandbox)
    if file == "-" or is_standard_output(file):
        write(run.database, owner, sys.stdout)
        return
    with (
        whole_file(file, force=force) as opened,
        progress("Exporting", lambda: 2 * count(run.database, owner)) as tell,
    ):
        written = write(run.database, owner, opened, tell)
    show(run, {"file": file, "contacts": written})
