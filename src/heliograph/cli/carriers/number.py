"""Defines the commands `heliograph number …`."""

from typing import TYPE_CHECKING, Any

import click

from heliograph.cli.command import CommandRun, Noun, examples
from heliograph.cli.output import show, show_list

if TYPE_CHECKING:
    from sqlalchemy.engine import Connection

    from heliograph.inbound import OwnNumber

command = Noun(
    "number",
    help=(
        "Numbers and short codes that handsets can send texts to. A text belongs to the account"
        " that has the number. Texts to other numbers are stored, but belong to no account."
    ),
)

_COLUMNS = (
    *("id", "number", "carrier", "account_id", "catch_all_id"),
    *("first_word", "opt_out_scope", "created_at"),
)


def _record(tx: "Connection", number: "OwnNumber") -> dict[str, Any]:
    from heliograph import accounts, inbound
    from heliograph.carriers import all_carriers

    def text_id(account_id: str | None) -> str | None:
        return None if account_id is None else accounts.text_id(accounts.by_id(tx, account_id))

    names = {carrier.id: carrier.name for carrier in all_carriers(tx)}
    record = inbound.as_number_record(number)
    return {
        "id": record["id"],
        "number": record["number"],
        "carrier": names[number.carrier_id],
        "account_id": text_id(number.account_id),
        "catch_all_id": text_id(number.catch_all_id),
        "first_word": record["first_word"],
        "opt_out_scope": record["opt_out_scope"],
        "created_at": record["created_at"],
    }


@command.command(
    "add",
    epilog=examples(
        "number add 4567 --carrier gh-main --account 'Amina Foods'",
        "number add 4568 --carrier gh-main",
        "number add 4569 --carrier gh-main --catch-all 'Amina Foods'",
    ),
)
@click.argument("number")
@click.option("--carrier", required=True, metavar="NAME", help="The carrier that brings its texts.")
@click.option(
    "--account",
    metavar="ACC",
    help="The account that has the number. Without this, several accounts share it.",
)
@click.option(
    "--catch-all",
    metavar="ACC",
    help="The account that gets those texts to a shared number that belong to no other account.",
)
def add(
    run: CommandRun, number: str, carrier: str, account: str | None, catch_all: str | None
) -> None:
    """Add a number or short code. Texts that came before stay as they are."""
    from heliograph import accounts, inbound
    from heliograph.base import clock

    with run.write() as tx:
        account_id = accounts.find(tx, account).id if account is not None else None
        catch_all_id = accounts.find(tx, catch_all).id if catch_all is not None else None
        added = inbound.add_number(
            tx, number, carrier, account_id, catch_all_id=catch_all_id, now_ms=clock.now_ms()
        )
        record = _record(tx, added)
    show(run, record)


@command.command("list", epilog=examples("number list"))
def list_(run: CommandRun) -> None:
    """List all numbers."""
    from heliograph import inbound

    with run.read() as tx:
        records = [_record(tx, number) for number in inbound.all_numbers(tx)]
    show_list(run, records, _COLUMNS)


@command.command(
    "set",
    epilog=examples("number set 4568 --catch-all 'Amina Foods'", "number set 4568 --no-catch-all"),
)
@click.argument("number")
@click.option("--carrier", metavar="NAME", help="Needed only if several carriers have the number.")
@click.option(
    "--catch-all",
    metavar="ACC",
    help="The account that gets the texts that belong to no other account.",
)
@click.option("--no-catch-all", is_flag=True, help="Give such texts to no account.")
def set_(
    run: CommandRun,
    number: str,
    carrier: str | None,
    catch_all: str | None,
    no_catch_all: bool,
) -> None:
    """Set or remove the catch-all account of a shared number. From now on, the texts to the number
    that belong to no other account go to it, or to no account.
    """
    from heliograph import accounts, inbound
    from heliograph.base import clock

    if (catch_all is None) != no_catch_all:
        raise click.UsageError("Give --catch-all ACC or --no-catch-all, and not both.")
    with run.write() as tx:
        catch_all_id = accounts.find(tx, catch_all).id if catch_all is not None else None
        changed = inbound.set_catch_all(tx, number, carrier, catch_all_id, now_ms=clock.now_ms())
        record = _record(tx, changed)
    show(run, record)


@command.command(
    "keywords",
    epilog=examples(
        "number keywords 4567 --first-word", "number keywords 4567 --opt-out-scope sender"
    ),
)
@click.argument("number")
@click.option("--carrier", metavar="NAME", help="Needed only if several carriers have the number.")
@click.option(
    "--first-word/--whole-text",
    default=None,
    help="Whether a keyword may stand before other words, or is the whole text.",
)
@click.option(
    "--opt-out-scope",
    type=click.Choice(["account", "sender"]),
    help=(
        "What an opt-out on this number stops: all texts of the account, or only those from this"
        " number."
    ),
)
def keywords_(
    run: CommandRun,
    number: str,
    carrier: str | None,
    first_word: bool | None,
    opt_out_scope: str | None,
) -> None:
    """Set how keywords work on a number, from the next text on."""
    from heliograph import inbound
    from heliograph.base import clock

    if first_word is None and opt_out_scope is None:
        raise click.UsageError("Give --first-word, --whole-text or --opt-out-scope.")
    with run.write() as tx:
        changed = inbound.set_keyword_rules(
            tx,
            number,
            carrier,
            first_word=first_word,
            opt_out_scope=opt_out_scope,
            now_ms=clock.now_ms(),
        )
        record = _record(tx, changed)
    show(run, record)


@command.command(
    "remove", epilog=examples("number remove 4567", "number remove 4567 --carrier gh-main")
)
@click.argument("number")
@click.option("--carrier", metavar="NAME", help="Needed only if several carriers have the number.")
def remove(run: CommandRun, number: str, carrier: str | None) -> None:
    """Remove a number. Texts that come to it from now on are stored, but belong to no account."""
    from heliograph import inbound
    from heliograph.base import clock

    with run.write() as tx:
        removed = inbound.remove_number(tx, number, carrier, now_ms=clock.now_ms())
        record = _record(tx, removed)
    show(run, {**record, "removed": True})
