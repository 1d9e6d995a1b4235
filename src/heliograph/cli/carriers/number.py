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
        "Numbers and short codes that handsets can send texts to. A text is the account's whose"
        " number it came to. Texts to other numbers are kept for nobody."
    ),
)


def _record(tx: "Connection", number: "OwnNumber") -> dict[str, Any]:
    from heliograph import accounts, inbound
    from heliograph.carriers import all_carriers

    names = {carrier.id: carrier.name for carrier in all_carriers(tx)}
    record = inbound.as_number_record(number)
    return {
        "id": record["id"],
        "number": record["number"],
        "carrier": names[number.carrier_id],
        "account_id": (
            None
            if number.account_id is None
            else accounts.text_id(accounts.by_id(tx, number.account_id))
        ),
        "created_at": record["created_at"],
    }


@command.command(
    "add",
    epilog=examples(
        "number add 4567 --carrier gh-main --account 'Amina Foods'",
        "number add 4568 --carrier gh-main",
    ),
)
@click.argument("number")
@click.option("--carrier", required=True, metavar="NAME", help="The carrier that brings its texts.")
@click.option(
    "--account", metavar="ACC", help="Whose number it is. Without this, several accounts share it."
)
def add(session: CommandRun, number: str, carrier: str, account: str | None) -> None:
    """Add a number or short code. Texts that came before stay as they are."""
    from heliograph import accounts, inbound
    from heliograph.base import clock

    with session.write() as tx:
        account_id = accounts.find(tx, account).id if account is not None else None
        added = inbound.add_number(tx, number, carrier, account_id, now_ms=clock.now_ms())
        record = _record(tx, added)
    show(session, record)


@command.command("list", epilog=examples("number list"))
def list_(session: CommandRun) -> None:
    """List all numbers."""
    from heliograph import inbound

    with session.read() as tx:
        records = [_record(tx, number) for number in inbound.all_numbers(tx)]
    show_list(session, records, ("id", "number", "carrier", "account_id", "created_at"))


@command.command(
    "remove", epilog=examples("number remove 4567", "number remove 4567 --carrier gh-main")
)
@click.argument("number")
@click.option("--carrier", metavar="NAME", help="Needed only if several carriers have the number.")
def remove(session: CommandRun, number: str, carrier: str | None) -> None:
    """Remove a number. Texts that come to it from now on are kept for nobody."""
    from heliograph import inbound
    from heliograph.base import clock

    with session.write() as tx:
        removed = inbound.remove_number(tx, number, carrier, now_ms=clock.now_ms())
        record = _record(tx, removed)
    show(session, {**record, "removed": True})
