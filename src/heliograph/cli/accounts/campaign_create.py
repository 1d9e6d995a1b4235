"""`heliograph campaign create` makes a campaign for contacts, or for the numbers of a file."""

from typing import Any

import click

from heliograph.cli.accounts.campaign_output import print_bad_rows, print_unfilled, show_campaign
from heliograph.cli.command import Command, CommandRun, examples
from heliograph.cli.progress import progress
from heliograph.cli.values import Duration, WholeNumber, account_option, country_code, mode_option

TEXT_FILE_MAX = 1_000_000  # characters that are read of it; a text has 4,000 at most


@click.command(
    "create",
    cls=Command,
    epilog=examples(
        "campaign create Spring --account 'Amina Foods' --sender AMINA --message 'Hi {name|friend},"
        " mangoes are back.' --all",
        "campaign create Owed --account 'Amina Foods' --sender AMINA --message '{name}, you owe"
        " {amount}.' --numbers owed.csv --country GH",
    ),
)
@click.argument("name")
@account_option
@click.option("--sender", required=True, help="An approved sender ID of the account.")
@click.option(
    "--message",
    metavar="TEXT",
    help=(
        "Placeholders: {name}, {phone}, a contact's custom fields or the file's columns;"
        " {name|friend} for those who have none. Write a brace itself twice: {{."
    ),
)
@click.option(
    "--message-file",
    type=click.File(encoding="utf-8-sig"),
    metavar="FILE",
    help="The text, from a file; - for standard input.",
)
@click.option("--all", "everybody", is_flag=True, help="To all contacts.")
@click.option(
    "--tag",
    "tags",
    multiple=True,
    metavar="TAG",
    help="To contacts with this tag. Repeat it for contacts with any of several tags.",
)
@click.option(
    "--numbers",
    type=click.File(encoding="utf-8", errors="surrogateescape"),  # as `text_of` reads it
    metavar="FILE",
    help="To the numbers of a file: one a line, or CSV.",
)
@click.option(
    "--country",
    metavar="GH",
    help=(
        "Read the file's numbers as they are dialled in this country. "
        "Default: a number with a leading 0 is of the account's country."
    ),
)
@mode_option("In sandbox nothing is really sent or charged, and contacts are separate.")
@click.option(
    "--validity",
    type=Duration(),
    metavar="12h",
    help="How long each message is tried, from 1m (60 seconds) to 2d (172800). Default: 1d.",
)
@click.option(
    "--rate",
    type=WholeNumber(1),
    metavar="N",
    help="Messages a second at most. Default: as fast as carriers take them.",
)
def create(
    run: CommandRun,
    name: str,
    account: str,
    sandbox: bool,
    numbers: Any,
    country: str | None,
    **asked: Any,
) -> None:
    """Create a campaign. Nothing is sent before it is launched."""
    from heliograph import accounts, campaigns
    from heliograph.base import clock
    from heliograph.campaigns import previews

    if country is not None and numbers is None:
        raise click.UsageError("--country is for the numbers of a file: give --numbers.")
    request = campaigns.read_campaign_request(_body(name, numbers is not None, **asked))
    with run.read() as tx:
        owner = accounts.find(tx, account)
    if numbers is None:
        with run.write() as tx:
            campaign = campaigns.create(
                tx, owner.id, request, sandbox=sandbox, now_ms=clock.now_ms()
            )
        with run.read() as tx:
            print_unfilled(previews.find_unfilled(tx, campaign))
        return show_campaign(run, campaign)
    file = campaigns.Numbers(numbers, country_code(country), owner.country_code)
    with progress("Reading the numbers", lambda: _lines_of(numbers)) as tell:
        result = campaigns.create_listed(
            run.database, owner.id, request, file, sandbox=sandbox, tell=tell
        )
    print_bad_rows(result)
    bad_rows = [{"line": row.line, "why": row.why} for row in result.bad_rows]
    return show_campaign(
        run,
        result.campaign,
        file={
            "columns": list(file.columns),
            "rows": result.rows,
            "recipients": result.recipients,
            "duplicates": result.duplicates,
            "bad": result.bad,
            "without_value": result.lacking,
            **({"bad_rows": bad_rows} if run.as_json else {}),
        },
    )


def _body(
    name: str,
    from_file: bool,
    *,
    sender: str,
    message: str | None,
    message_file: Any,
    everybody: bool,
    tags: tuple[str, ...],
    validity: int | None,
    rate: int | None,
) -> dict[str, Any]:
    """Returns the body that `campaigns.read_campaign_request` reads."""
    if (message is None) == (message_file is None):
        raise click.UsageError(
            f"Give the text{'' if message is None else ' once'}: --message or --message-file."
        )
    if (audiences := everybody + bool(tags) + from_file) != 1:
        raise click.UsageError(
            "Say whom it is for: one of --all, --tag and"
            f" --numbers{', not several' if audiences else ''}."
        )
    text = message if message is not None else _text_of(message_file)
    audience = "all" if everybody else "tags" if tags else "numbers"
    return {
        "name": name,
        "sender": sender,
        "message": text,
        "audience": audience,
        "tags": list(tags) or None,
        "rate": rate,
        "validity_s": None if validity is None else validity // 1_000,
    }


def _text_of(file: Any) -> str:
    """Returns the text of a file, without a byte order mark and without the end of its last
    line.
    """
    from heliograph.base.errors import InvalidRequest

    try:
        return str(file.read(TEXT_FILE_MAX)).removesuffix("\n")
    except UnicodeDecodeError as error:
        raise InvalidRequest(
            f"--message-file is not UTF-8: the octet {error.object[error.start]:02X} cannot stand"
            " where it does."
        ) from error


def _lines_of(file: Any) -> int:
    """Returns about how many lines a file has, by its size."""
    import os

    return os.fstat(file.fileno()).st_size // 16 if file.seekable() else 0
