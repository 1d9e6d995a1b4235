"""Defines the commands `heliograph keyword …`."""

from typing import TYPE_CHECKING, Any

import click

from heliograph.cli.command import CommandRun, Noun, examples
from heliograph.cli.output import show, show_list

if TYPE_CHECKING:
    from sqlalchemy.engine import Connection

    from heliograph.inbound.keywords import KeywordOwner

command = Noun(
    "keyword",
    help=(
        "Words that do something when a handset sends them. STOP, START and HELP are built in, in"
        " seven languages; these commands are about an account's own ones."
    ),
)
_COLUMNS = ("id", "number", "keyword", "action", "language", "reply")


def _owner(tx: "Connection", account: str, sandbox: bool) -> "KeywordOwner":
    from heliograph import accounts
    from heliograph.inbound.keywords import KeywordOwner

    return KeywordOwner(accounts.find(tx, account).id, sandbox)


@command.command(
    "add",
    epilog=examples(
        "keyword add OFFERS --account 'Amina Foods' --reply 'This week: rice at 10 % less.'",
        "keyword add BASTA --account 'Amina Foods' --action opt_out",
        "keyword add AMINA --account 'Amina Foods' --number 4567 --carrier gh-main",
    ),
)
@click.argument("keyword")
@click.option("--account", required=True, metavar="ACC", help="The account that has the keyword.")
@click.option(
    "--number",
    metavar="NUMBER",
    help="The number that it is for. Without this, it is for all numbers of the account.",
)
@click.option("--carrier", metavar="NAME", help="Needed only if several carriers have the number.")
@click.option(
    "--action",
    metavar="ACTION",
    help=(
        "none, opt_out, opt_in or help. Default: what a built-in word does already; for other"
        " words none."
    ),
)
@click.option(
    "--reply",
    metavar="TEXT",
    help="The answer to the person who sends the keyword. It costs as much as any text.",
)
@click.option("--language", metavar="CODE", help="The language of the built-in answer, such as fr.")
@click.option("--sandbox", is_flag=True, help="Add it to the sandbox.")
def add(
    run: CommandRun,
    account: str,
    carrier: str | None,
    *,
    sandbox: bool,
    **body: Any,
) -> None:
    """Add a keyword, or change what it does."""
    from heliograph.base import clock
    from heliograph.inbound.keywords import as_keyword_record, save_keyword_for

    with run.write() as tx:
        owner = _owner(tx, account, sandbox)
        saved = save_keyword_for(tx, owner, body, carrier, clock.now_ms())
        record = as_keyword_record(saved.keyword)
    show(run, {**record, "created": saved.created})


@command.command("list", epilog=examples("keyword list --account 'Amina Foods'"))
@click.option(
    "--account", required=True, metavar="ACC", help="The account whose keywords are listed."
)
@click.option("--sandbox", is_flag=True, help="List those of the sandbox.")
def list_(run: CommandRun, account: str, *, sandbox: bool) -> None:
    """List the keywords of an account."""
    from heliograph.inbound.keywords import all_keywords, as_keyword_record

    with run.read() as tx:
        owner = _owner(tx, account, sandbox)
        records = [as_keyword_record(each) for each in all_keywords(tx, owner)]
    show_list(run, records, _COLUMNS)


@command.command("remove", epilog=examples("keyword remove kw_01j8…"))
@click.argument("keyword_id")
def remove(run: CommandRun, keyword_id: str) -> None:
    """Remove a keyword. A built-in word then does again what it did at first."""
    from heliograph.base import clock
    from heliograph.inbound.keywords import as_keyword_record, remove_any_keyword

    with run.write() as tx:
        record = as_keyword_record(remove_any_keyword(tx, keyword_id, clock.now_ms()))
    show(run, {**record, "removed": True})
