"""Defines the command `heliograph erase`."""

import sys
from typing import TYPE_CHECKING

import click

from heliograph.cli import checked_values
from heliograph.cli.command import Command, CommandRun, examples
from heliograph.cli.failure import Failure
from heliograph.cli.output import show
from heliograph.cli.values import by_option, country_code

if TYPE_CHECKING:
    from sqlalchemy.engine import Connection

    from heliograph.text.phones_in_text import Quoted


@click.command(
    "erase",
    cls=Command,
    epilog=examples(
        "erase 0201234567 --account 'Amina Foods'",
        "erase +233201234567 --account 'Amina Foods' --yes",
    ),
)
@click.argument("phone")
@click.option(
    "--account",
    "acc",
    required=True,
    metavar="ACC",
    help=(
        "The account that the number is erased from: its id or unique name. Other accounts keep"
        " the number."
    ),
)
@click.option(
    "--country",
    metavar="GH",
    help=(
        "Read PHONE as it is dialled in this country. Default: a number with a leading 0 is of the"
        " account's country."
    ),
)
@click.option("--yes", is_flag=True, help="Do not ask.")
@by_option
def command(run: CommandRun, phone: str, acc: str, country: str | None, yes: bool, by: str) -> None:
    """Erase a phone number from all that an account has stored, live and sandbox, because its owner
    has asked for it.

    Messages and what they cost stay, but without the number, and without their text if they went
    only to this number or contain it. Texts that came from it stay without number and text. Its
    contact, its one-time passwords and what shops reported about it are deleted. From other texts
    the number is cut out. Its opt-outs are kept, so that it stays opted out. The ledger does not
    change. The command works beside a running server, and can be run again.

    It is refused while something is still to be sent to the number, while a campaign that has not
    ended contains it in a text, or while a campaign is being launched. Then the exit status is 1,
    and the message says how long that may take. At the end the command looks again, and reports
    what has arrived meanwhile.
    """
    from heliograph import accounts
    from heliograph.base import clock
    from heliograph.jobs import erasure
    from heliograph.jobs.erase_number import count_changes, note

    _number(phone, country, checked_values.home_country_of_phone(phone))
    with run.read() as tx:
        account = accounts.find(tx, acc)
        number = _number(phone, country, account.country_code)
    found = erasure.look(run.database, account.id, number)
    counts = count_changes(found)
    if found and not yes:
        _confirm(counts)

    def finish(tx: "Connection") -> None:
        note(tx, account.id, by, counts, clock.now_ms())

    erasure.erase(run.database, account.id, number, found, finish)
    show(
        run,
        {"account_id": accounts.text_id(account), "erased": counts, "rows": len(found)},
        None if found else "Nothing was found of this number.",
    )


def _number(phone: str, country: str | None, home_country: str | None) -> "Quoted":
    from heliograph.text import parse_phone
    from heliograph.text.phones_in_text import Quoted

    code = country_code(country)
    read = parse_phone(phone, code, home_country)
    if read is None:
        raise click.BadParameter(
            "this is not a phone number (allowed: 7 to 15 digits, such as 233201234567, or the"
            f" number as it is dialled in {code or home_country or 'its country'}; without"
            " --country, only with a leading 0).",
            param_hint="PHONE",
        )
    return Quoted(read)


def _confirm(counts: dict[str, int]) -> None:
    if not sys.stdin.isatty():
        raise click.UsageError("Give --yes: without a terminal the command cannot ask.")
    width = max(map(len, counts))
    click.echo("\n".join(f"{table:{width}}  {rows}" for table, rows in counts.items()), err=True)
    if not click.confirm(
        f"Erase the number from these {sum(counts.values())} rows? This cannot be undone.", err=True
    ):
        raise Failure("Nothing was erased.")
