"""Defines the commands `heliograph inbound …`. Numbers and texts are shown in full, because the
operator has to say whose they are.
"""

from typing import TYPE_CHECKING, Any

import click

from heliograph.cli.command import CommandRun, Noun, examples
from heliograph.cli.output import show, show_list
from heliograph.cli.values import LISTED_MAX, WholeNumber

if TYPE_CHECKING:
    from collections.abc import Mapping

    from sqlalchemy.engine import Connection

    from heliograph.inbound import InboundText

command = Noun(
    "inbound",
    help=(
        "Texts that handsets have sent to your numbers. Each is stored before its carrier is"
        " answered, and belongs to the account of the number."
    ),
)


def _record(tx: "Connection", text: "InboundText", carriers: "Mapping[int, str]") -> dict[str, Any]:
    from heliograph import accounts, inbound

    record = inbound.as_inbound_record(text)
    return {
        "id": record.pop("id"),
        "account_id": (
            None
            if text.account_id is None
            else accounts.text_id(accounts.by_id(tx, text.account_id))
        ),
        "carrier": carriers.get(text.carrier_id, f"removed ({text.carrier_id})"),
        **record,
        "repeats": text.repeats,
    }


@command.command(
    "list", epilog=examples("inbound list", "inbound list --account 'Amina Foods' --limit 10")
)
@click.option("--account", metavar="ACC", help="Show only texts to this account.")
@click.option("--unowned", is_flag=True, help="Show only texts that belong to no account.")
@click.option(
    "--limit",
    type=WholeNumber(1, LISTED_MAX),
    default=100,
    show_default=True,
    help="The most to show, newest first.",
)
def list_(run: CommandRun, account: str | None, unowned: bool, limit: int) -> None:
    """List texts that came in, newest first. A text in the encoding `binary` is shown in base64."""
    from heliograph import accounts, inbound
    from heliograph.carriers import all_carriers

    if account is not None and unowned:
        raise click.UsageError("Give --account or --unowned, not both.")
    with run.read() as tx:
        account_id = accounts.find(tx, account).id if account is not None else None
        found = inbound.newest_inbound(tx, limit=limit, account_id=account_id, unowned=unowned)
        carriers = {carrier.id: carrier.name for carrier in all_carriers(tx)}
        records = [_record(tx, each, carriers) for each in found]
    show_list(
        run,
        records,
        ("id", "account_id", "carrier", "from", "to", "text", "complete", "repeats", "received_at"),
    )


@command.command("show", epilog=examples("inbound show inb_01k5…"))
@click.argument("inbound_id", metavar="ID")
def show_(run: CommandRun, inbound_id: str) -> None:
    """Show one text that came in. A text in the encoding `binary` is shown in base64."""
    from heliograph import inbound
    from heliograph.carriers import all_carriers

    with run.read() as tx:
        carriers = {carrier.id: carrier.name for carrier in all_carriers(tx)}
        record = _record(tx, inbound.any_inbound_text(tx, inbound_id), carriers)
    show(run, record)
