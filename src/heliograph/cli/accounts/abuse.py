"""Defines the commands `heliograph abuse …`."""

from collections.abc import Iterable
from typing import TYPE_CHECKING

import click

from heliograph.cli.command import CommandRun, Noun, examples
from heliograph.cli.output import show_list

if TYPE_CHECKING:
    from sqlalchemy.engine import Connection

command = Noun(
    "abuse",
    help="What may be abuse: accounts that suddenly send much more, and hosts that texts link to.",
)


@command.command("volume", epilog=examples("abuse volume", "abuse volume --json"))
def volume(run: CommandRun) -> None:
    """List accounts that suddenly send much more.

    They have sent three times as much today as by this hour on an average day of the seven before,
    from 500 live texts on. Those with the most texts come first. A day begins at midnight UTC.
    """
    from heliograph.base import clock
    from heliograph.messages.reports.sudden_volume import sudden_volumes

    with run.read() as tx:
        found = sudden_volumes(tx, clock.now_ms())
        names = _text_ids(tx, (each.account_id for each in found))
    records = [
        {
            "account_id": names[each.account_id],
            "today": each.today,
            "before": round(each.before, 1),
            "times": None if each.times is None else round(each.times, 1),
        }
        for each in found
    ]
    show_list(run, records, ("account_id", "today", "before", "times"))


@command.command("links", epilog=examples("abuse links", "abuse links --suspicious --json"))
@click.option("--suspicious", is_flag=True, help="Show only hosts that are suspicious.")
def links(run: CommandRun, suspicious: bool) -> None:
    """List the hosts that recent texts link to.

    The newest 1,000 live texts of the last 24 hours are read, without one-time passwords.
    Suspicious hosts come first: an address, a link shortener, letters of another alphabet
    (punycode), or a name that looks like a sender ID of another account or like a reserved name.
    """
    from heliograph.base import clock, ids
    from heliograph.messages.read import SEND_PREFIX
    from heliograph.messages.reports.linked_hosts import linked_hosts

    with run.read() as tx:
        found = linked_hosts(tx, clock.now_ms()).hosts
        owners = {name.account_id for each in found for name in each.like if name.account_id}
        names = _text_ids(tx, owners | {each.account_id for each in found})
    records = [
        {
            "host": each.host.replace(".", "[.]"),  # so that nothing makes a link of it
            "account_id": names[each.account_id],
            "suspicious": each.is_suspicious,
            "trait": each.trait,
            "looks_like": [
                f"{name.name} of {names[name.account_id]}"
                if name.account_id is not None
                else f"{name.name}, which is reserved"
                for name in each.like
            ],
            "sends": each.sends,
            "newest_send_id": ids.text_of_raw(SEND_PREFIX, each.send_id),
        }
        for each in found
        if each.is_suspicious or not suspicious
    ]
    show_list(run, records, ("host", "account_id", "trait", "looks_like", "sends"))


def _text_ids(tx: "Connection", account_ids: Iterable[str]) -> dict[str, str]:
    from heliograph import accounts

    found = accounts.by_ids(tx, set(account_ids))
    return {account_id: accounts.text_id(account) for account_id, account in found.items()}
