"""Defines the commands `heliograph rate import`, `export`, `sheets` and `withdraw`."""

import os
import sys
from typing import TYPE_CHECKING, Any, Final

import click

from heliograph.cli.command import Command, CommandRun, examples
from heliograph.cli.failure import Failure
from heliograph.cli.output import show, show_list
from heliograph.cli.output_files import whole_file
from heliograph.cli.values import Moment

if TYPE_CHECKING:
    from sqlalchemy.engine import Connection

    from heliograph.pricing.sheets import RateSheet, SheetOutlook

BAD_ROWS_SHOWN: Final = 20  # in one message
REASON_AT_FIRST: Final = "rate import"  # where no reason is asked for
COLUMNS: Final = ("id", "status", "name", "effective_at", "uploaded_at")


def _record(sheet: "RateSheet") -> dict[str, Any]:
    from heliograph.base.clock import rfc3339, rfc3339_or_none

    return {
        "id": sheet.text_id,
        "status": sheet.status,
        "name": sheet.name,
        "effective_at": rfc3339_or_none(sheet.effective_at_ms),
        "uploaded_at": rfc3339(sheet.uploaded_at_ms),
        "reason": sheet.reason,
    }


def _outlook_record(outlook: "SheetOutlook", names: dict[int, str]) -> dict[str, Any]:
    from heliograph.pricing import loss_words

    return {
        **outlook.difference.counts,
        "losses": [loss_words(loss, names) for loss in outlook.losses],
    }


@click.command(
    "import",
    cls=Command,
    epilog=examples(
        "rate import rates.csv --dry-run",
        "rate import rates.csv --at 30d --reason 'price list of May'",
        "rate import rates.csv --allow-loss --reason 'agreed with sales'",
    ),
)
@click.argument("file", type=click.Path(exists=True, dir_okay=False, readable=True))
@click.option(
    "--at", type=Moment(), metavar="TIME", help="When the rates begin to count. Default: now."
)
@click.option(
    "--whole",
    is_flag=True,
    help=(
        "Also remove the rates that are not in the file, for the accounts that the file has rates"
        " for."
    ),
)
@click.option(
    "--allow-loss", is_flag=True, help="Allow rates that sell below cost. This needs --reason."
)
@click.option("--reason", metavar="TEXT", help="Give the reason, which is kept with the sheet.")
@click.option("--dry-run", is_flag=True, help="Show what it would change, and change nothing.")
def import_(
    run: CommandRun,
    file: str,
    at: int | None,
    whole: bool,
    allow_loss: bool,
    reason: str | None,
    dry_run: bool,
) -> None:
    """Set many rates by a file in CSV or XLSX, now or at a time.

    Its first line names the columns: prefix or country, credits (a number, or none), and account
    for an account's own rates. If a row is wrong, or a rate sells below cost, nothing is set.
    """
    from heliograph.base import clock
    from heliograph.carriers import all_carriers
    from heliograph.pricing import sheets

    if allow_loss and not reason:
        raise click.UsageError("--allow-loss takes a --reason.")
    with open(file, "rb") as opened:
        octets = opened.read()
    with run.read() as tx:
        rates = _read(tx, octets)
        outlook = sheets.outlook_of(tx, rates, is_whole=whole)
        record = _outlook_record(
            outlook, {carrier.id: carrier.name for carrier in all_carriers(tx)}
        )
    if dry_run:
        show(run, record)
        return
    with run.write() as tx:
        now_ms = clock.now_ms()
        name = os.path.basename(file)
        draft = sheets.upload(tx, name, rates, None, is_whole=whole, now_ms=now_ms)
        sheet = sheets.plan(
            tx,
            draft,
            at_ms=at,
            allows_loss=allow_loss,
            reason=reason or REASON_AT_FIRST,
            by=None,
            now_ms=now_ms,
        )
    show(run, _record(sheet) | record)


def _read(tx: "Connection", octets: bytes) -> Any:
    """Returns the rates of a file. Raises Failure, which lists the rows that are wrong."""
    from heliograph import accounts
    from heliograph.pricing import read_sheet

    read = read_sheet(octets, lambda text: accounts.find(tx, text).id)
    if read.bad:
        bad_rows = "\n".join(f"line {bad.line}: {bad.why}" for bad in read.bad[:BAD_ROWS_SHOWN])
        more = len(read.bad) - BAD_ROWS_SHOWN
        rest = f"\nand {more} more" if more > 0 else ""
        raise Failure(f"Nothing was set, because rows are wrong:\n{bad_rows}{rest}")
    return read.rates


@click.command(
    "export",
    cls=Command,
    epilog=examples("rate export", "rate export rates-now.csv --force"),
)
@click.argument("file", type=click.Path(dir_okay=False, writable=True), required=False)
@click.option("--account", metavar="ACC", help="Write only the own rates of this account.")
@click.option("--force", is_flag=True, help="Overwrite FILE if it exists.")
def export(run: CommandRun, file: str | None, account: str | None, force: bool) -> None:
    """Write rates as CSV, as `rate import` reads them. Default: to standard output."""
    from heliograph import accounts
    from heliograph.carriers import current_rates
    from heliograph.pricing import write_sheet

    with run.read() as tx:
        rates = current_rates.load(tx, None if account is None else accounts.find(tx, account).id)
        text = write_sheet(
            rates, lambda account_id: accounts.text_id(accounts.by_id(tx, account_id))
        )
    if file is None:
        sys.stdout.write(text)
        return
    with whole_file(file, force=force) as opened:
        opened.write(text)
    show(run, {"file": file, "rates": len(rates)})


@click.command("sheets", cls=Command, epilog=examples("rate sheets"))
def sheets_(run: CommandRun) -> None:
    """List the newest rate sheets. Each is planned, applied or withdrawn."""
    from heliograph.pricing import sheets

    with run.read() as tx:
        records = [_record(sheet) for sheet in sheets.newest_sheets(tx)]
    show_list(run, records, COLUMNS)


@click.command("withdraw", cls=Command, epilog=examples("rate withdraw rsh_01k…"))
@click.argument("sheet_id", metavar="SHEET")
def withdraw(run: CommandRun, sheet_id: str) -> None:
    """Take back a planned rate sheet before its time."""
    from heliograph.base import clock
    from heliograph.pricing import sheets

    with run.write() as tx:
        sheet = sheets.withdraw(tx, sheets.sheet_by_id(tx, sheet_id), now_ms=clock.now_ms())
    show(run, _record(sheet))
