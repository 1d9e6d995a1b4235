"""Defines the commands `heliograph message …`. Numbers are shown in full, because whoever asks a
carrier needs them; texts are never shown.
"""

from typing import TYPE_CHECKING, Any, Final

import click

from heliograph.cli.carriers.message_decide import filter_of_options, resend, settle
from heliograph.cli.carriers.message_output import carrier_names, records_of
from heliograph.cli.checked_values import home_country_of_phone
from heliograph.cli.command import CommandRun, Noun, examples
from heliograph.cli.output import print_table, show, show_list
from heliograph.cli.values import (
    Duration,
    FailedBy,
    page_options,
    span_options,
)

if TYPE_CHECKING:
    from sqlalchemy.engine import Connection

    from heliograph.database.database import Database

command = Noun(
    "message",
    help=(
        "Messages: where each one is. A message is in doubt if it was given to a carrier that"
        " never answered. Ask the carrier, then settle the message or send it again. Queued"
        " messages can be canceled."
    ),
)
command.add_command(settle)
command.add_command(resend)

_STATUSES: Final = ("queued", "sent", "delivered", "failed")
_COLUMNS: Final = (
    "id",
    "account_id",
    "carrier",
    "type",
    "recipient",
    "status",
    "created_at",
    "failure",
)
_IN_DOUBT_COLUMNS: Final = (
    "id",
    "carrier",
    "type",
    "recipient",
    "status",
    "segments_in_doubt",
    "in_doubt_since",
    "resend_at",
    "expires_at",
)


@command.command(
    "list",
    epilog=examples(
        "message list --in-doubt",
        "message list --in-doubt --carrier gh-main --older-than 10m",
        "message list --account 'Amina Foods' --status failed --since 2h",
        "message list --account 'Amina Foods' --to 0201234567",
        "message list --error 0x0B",
    ),
)
@click.option(
    "--in-doubt", "in_doubt", is_flag=True, help="Show only messages with a segment in doubt."
)
@click.option(
    "--carrier",
    metavar="NAME",
    help="Show only messages accepted for this carrier; with --in-doubt, those given to it.",
)
@click.option("--account", metavar="ACC", help="Show only messages of this account.")
@click.option("--status", type=click.Choice(_STATUSES), help="Show only messages in this state.")
@click.option(
    "--to",
    metavar="PHONE",
    help=(
        "Show only messages to this number. With --account, it may be written as it is dialled in"
        " the account's country."
    ),
)
@click.option("--sender", metavar="SENDER", help="Show only messages from this sender.")
@click.option(
    "--reference", metavar="REF", help="Show only messages whose send had this reference."
)
@click.option(
    "--error",
    type=FailedBy(),
    metavar="CODE|0x…",
    help=(
        "Show only messages that failed with this error: such as undeliverable, or a carrier's"
        " 0x0B."
    ),
)
@click.option(
    "--older-than",
    type=Duration(),
    metavar="SPAN",
    help="With --in-doubt: show only messages in doubt for at least this long, such as 10m.",
)
@span_options
@page_options
def list_(
    run: CommandRun,
    in_doubt: bool,
    carrier: str | None,
    account: str | None,
    older_than: int | None,
    to: str | None,
    since: int | None,
    until: int | None,
    limit: int,
    before: str | None,
    **exactly: Any,
) -> None:
    """List messages of all accounts, newest first. All are shown as they are at one moment."""
    from heliograph.base.ids import text_of_raw
    from heliograph.base.paging import Span
    from heliograph.database.postgresql.snapshot import read_one_snapshot
    from heliograph.messages.doubt import trace
    from heliograph.messages.read import LOOKED_AT_MAX, MESSAGE_PREFIX
    from heliograph.text import parse_phone

    if (
        to is not None
        and parse_phone(to, None, home_country_of_phone(to) if account is not None else None)
        is None
    ):
        raise click.BadParameter(
            f"{to!r} is not a phone number such as 233201234567.", param_hint="--to"
        )
    if older_than is not None and not in_doubt:
        raise click.UsageError(
            "--older-than says how long a message has been in doubt: give --in-doubt too."
        )
    with run.read() as tx:
        read_one_snapshot(tx)
        wanted = filter_of_options(tx, carrier, account, older_than)._replace(
            before=trace.raw_of(before) if before is not None else None,
            span=Span(since, until),
            recipient=_recipient(tx, account, to),
            **exactly,
        )
        found, go_on_at = (
            (trace.messages_in_doubt(tx, wanted, limit), None)
            if in_doubt
            else trace.newest(tx, wanted, limit)
        )
        records = records_of(tx, found)
    show_list(run, records, _IN_DOUBT_COLUMNS if in_doubt else _COLUMNS, limit=limit)
    if go_on_at is not None:
        click.echo(
            f"Searched {LOOKED_AT_MAX} messages. There may be more: --before"
            f" {text_of_raw(MESSAGE_PREFIX, go_on_at)}",
            err=True,
        )


@command.command("show", epilog=examples("message show msg_01k5…"))
@click.argument("message_id", metavar="ID")
def show_(run: CommandRun, message_id: str) -> None:
    """Show a message's status, and where its segments are. What an operator has decided about it is
    shown, too.
    """
    from heliograph.base.clock import rfc3339, rfc3339_or_none
    from heliograph.database.postgresql.snapshot import read_one_snapshot
    from heliograph.messages.doubt import trace
    from heliograph.messages.doubt.segments import segments
    from heliograph.messages.read import timeline

    with run.read() as tx:
        read_one_snapshot(tx)
        traced = trace.trace_message(tx, message_id)
        names = carrier_names(tx)
        record = records_of(tx, [traced])[0]
        lists = {
            "timeline": timeline(traced.message),
            "segments": [
                {
                    **segment._asdict(),
                    "carrier_id": names(segment.carrier_id),
                    "since_ms": rfc3339_or_none(segment.since_ms),
                }
                for segment in segments(tx, traced)
            ],
            "decisions": [
                {
                    **decision._asdict(),
                    "parts": trace.numbers(decision.parts),
                    "carrier_id": names(decision.carrier_id),
                    "decided_at_ms": rfc3339(decision.decided_at_ms),
                }
                for decision in trace.decisions(tx, traced)
            ],
        }
    lists = {
        name: [{_SHOWN_AS.get(key, key): value for key, value in row.items()} for row in rows]
        for name, rows in lists.items()
    }
    if run.as_json:
        return show(run, {**record, **lists})
    show(run, record)
    for rows in lists.values():
        if rows:
            click.echo()
            print_table(rows, list(rows[0]))
    return None


_SHOWN_AS: Final = {
    "number": "segment",
    "carrier_id": "carrier",
    "since_ms": "since",
    "parts": "segments",
    "decided_at_ms": "decided_at",
}


@command.command(
    "cancel", epilog=examples("message cancel msg_01k5…", "message cancel --account 'Amina Foods'")
)
@click.argument("message_id", metavar="[ID]", required=False)
@click.option(
    "--account", metavar="ACC", help="Instead of ID: all queued messages of this account."
)
def cancel(run: CommandRun, message_id: str | None, account: str | None) -> None:
    """Cancel a queued message, or all of an account, live and sandbox. They fail as canceled, and
    are refunded; what a carrier has already been given stays as it is.

    The command works beside a running server. The account can go on sending: suspend it first if it
    should not.
    """
    if (message_id is None) == (account is None):
        raise click.UsageError("Give an ID, or --account for all queued messages of an account.")
    show(run, _cancel_all(run, account) if account is not None else _cancel_one(run, message_id))


def _cancel_one(run: CommandRun, message_id: str | None) -> dict[str, Any]:
    from heliograph.base import clock
    from heliograph.messages.doubt import trace
    from heliograph.messages.sweeps import cancel_message

    with run.write() as tx:
        credits = cancel_message(tx, trace.raw_of(message_id or ""), clock.now_ms())
    return {"id": message_id, "canceled": 1, "credits_refunded": credits}


def _cancel_all(run: CommandRun, account: str) -> dict[str, Any]:
    from heliograph import accounts
    from heliograph.base import clock
    from heliograph.messages.sweeps import fail_queued

    with run.read() as tx:
        found = accounts.find(tx, account)

    async def cancel_everything(db: "Database") -> int:
        canceled = 0
        while some := await fail_queued(db, found.id, clock.now_ms()):
            canceled += some
        return canceled

    return {"account_id": accounts.text_id(found), "canceled": run.run_hot(cancel_everything)}


def _recipient(tx: "Connection", account: str | None, phone: str | None) -> int | None:
    from heliograph import accounts
    from heliograph.text.phone import parse

    if phone is None:
        return None
    found = parse(phone) or (
        parse(phone, accounts.find(tx, account).country_code) if account is not None else None
    )
    if found is None:
        raise click.BadParameter(
            f"{phone!r} is not a phone number such as 233201234567.", param_hint="--to"
        )
    return int(found.digits)
