"""Defines the command `heliograph wallet statement`."""

import sys

import click

from heliograph.cli.command import Command, CommandRun, examples
from heliograph.cli.output import show
from heliograph.cli.output_files import is_standard_output, whole_binary_file
from heliograph.cli.values import month_option


@click.command(
    "statement",
    cls=Command,
    epilog=examples(
        "wallet statement 'Amina Foods' --month 2026-10",
        "wallet statement 'Amina Foods' october.pdf --month 2026-10 --format pdf",
    ),
)
@click.argument("account", metavar="ACC")
@click.argument(
    "file", type=click.Path(dir_okay=False, writable=True, allow_dash=True), default="-"
)
@month_option(required=True)
@click.option(
    "--format",
    "file_format",
    type=click.Choice(["csv", "pdf"]),
    default="csv",
    show_default=True,
    help="csv has only the sums, for programs; pdf has the entries too, for people.",
)
@click.option("--force", is_flag=True, help="Overwrite FILE if it exists.")
def statement(
    run: CommandRun, account: str, file: str, month: str, file_format: str, force: bool
) -> None:
    """Write an account's statement of a month. It goes to FILE or to standard output. It says what
    the account ACC held when the month began, what its entries add up to by their types, and what
    it held at the end. A PDF has the entries, too.
    """
    from heliograph import accounts
    from heliograph.base import clock
    from heliograph.wallet import files
    from heliograph.wallet.files import StatementHolder, lines_of_statement, pdf_of_statement

    is_printed = file == "-" or is_standard_output(file)
    if is_printed and file_format == "pdf" and sys.stdout.isatty():
        raise click.BadParameter(
            "A PDF cannot be shown in a terminal: name a file.", param_hint="--format"
        )
    with run.snapshot() as tx:
        found = accounts.find(tx, account)
        month_statement = files.statement(tx, found.id, month)
        if file_format == "csv":
            octets = files.statement_file(month_statement).encode()
        else:
            lines = lines_of_statement(tx, found.id, month_statement)
    if file_format == "pdf":
        holder = StatementHolder(accounts.text_id(found), found.name)
        octets = pdf_of_statement(holder, month_statement, lines, clock.now_ms())
    if is_printed:
        click.echo(octets, nl=False)
        return
    with whole_binary_file(file, force=force) as opened:
        opened.write(octets)
    show(run, {"file": file, "proven": month_statement.is_proven})
