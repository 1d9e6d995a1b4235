"""Defines the command `heliograph ledger export`."""

import sys
from typing import IO, TYPE_CHECKING

import click

from heliograph.cli.command import Command, CommandRun, examples
from heliograph.cli.output import show
from heliograph.cli.output_files import is_standard_output, whole_file
from heliograph.cli.values import month_option

if TYPE_CHECKING:
    from heliograph.wallet.files import ExportWanted, LedgerFormat


@click.command(
    "export",
    cls=Command,
    epilog=examples(
        "ledger export ledger.csv --month 2026-10",
        "ledger export amina.beancount --account 'Amina Foods' --format beancount",
    ),
)
@click.argument(
    "file", type=click.Path(dir_okay=False, writable=True, allow_dash=True), default="-"
)
@click.option(
    "--account", metavar="ACC", help="Write only entries of this account: its id or unique name."
)
@month_option(required=False)
@click.option(
    "--format",
    "file_format",
    type=click.Choice(["csv", "beancount"]),
    default="csv",
    show_default=True,
    help="For programs and spreadsheets, or for beancount 2 or 3.",
)
@click.option("--force", is_flag=True, help="Overwrite FILE if it exists.")
def export(
    run: CommandRun,
    file: str,
    account: str | None,
    month: str | None,
    file_format: str,
    force: bool,
) -> None:
    """Write the entries of the ledger, oldest first. They go to FILE or to standard output: those
    of all accounts or of one, of a month or of all times.

    The program bean-check proves a file for beancount: the file asserts what accounts hold at the
    end, or what the one account holds.
    """
    from heliograph import accounts
    from heliograph.base.paging import ALWAYS
    from heliograph.wallet import files
    from heliograph.wallet.files import BeancountLedger, CsvLedger, ExportWanted

    span = ALWAYS if month is None else files.read_month(month)
    with run.read() as tx:  # before a file is made
        account_id = None if account is None else accounts.find(tx, account).id
    wanted = ExportWanted(span, account_id)
    ledger_format = CsvLedger() if file_format == "csv" else BeancountLedger(wanted)
    if file == "-" or is_standard_output(file):
        _write(run, wanted, ledger_format, sys.stdout)
        return
    with whole_file(file, force=force) as opened:
        _write(run, wanted, ledger_format, opened)
    show(run, {"file": file, "format": file_format})


def _write(
    run: CommandRun, wanted: "ExportWanted", ledger_format: "LedgerFormat", output: IO[str]
) -> None:
    from heliograph.wallet.files import read_pieces

    read, above = read_pieces(wanted, ledger_format), None
    output.write(ledger_format.head())
    while True:
        with run.snapshot() as tx:
            text, above = read(tx, above)
        output.write(text)
        if above is None:
            return
