"""Defines the commands `heliograph receipt …`. Numbers are shown in full, because whoever asks a
carrier needs them.
"""

from typing import TYPE_CHECKING, Any

import click

from heliograph.cli.command import CommandRun, Noun, examples
from heliograph.cli.output import show, show_list
from heliograph.cli.values import LISTED_MAX, WholeNumber, by_option

if TYPE_CHECKING:
    from heliograph.messages.doubt.unmatched import ReceiptToMatch

command = Noun(
    "receipt",
    help=(
        "Delivery receipts that found no message. Each is kept for 72 h. It is matched when "
        "its answer comes, when it settles a doubt, when the service learns how the carrier "
        "prints its ids, or by you."
    ),
)


def _record(receipt: "ReceiptToMatch", carrier: str, candidates: list[str]) -> dict[str, Any]:
    from heliograph.base.clock import rfc3339
    from heliograph.base.ids import text_of_raw
    from heliograph.messages.doubt.unmatched import CANDIDATES_MAX, text_id, why_unmatched
    from heliograph.messages.read import MESSAGE_PREFIX

    may_be = [text_of_raw(MESSAGE_PREFIX, message_id) for message_id in candidates]
    candidate_note = (
        f"{len(may_be) or 'no'} message{'s' * (len(may_be) != 1)} in doubt may be meant"
    )
    return {
        "id": text_id(receipt, carrier),
        "carrier": carrier,
        "ref": receipt.printed,
        "state": receipt.state,
        "error": receipt.error,
        "recipient": None if receipt.recipient is None else str(receipt.recipient),
        "sender": receipt.sender,
        "user_message_reference": receipt.reference,
        "received_at": rfc3339(receipt.at_ms),
        "kept_until": rfc3339(receipt.kept_until_ms),
        "why": f"{why_unmatched(receipt)}; {candidate_note}"
        if receipt.state is not None
        else why_unmatched(receipt),
        "may_be": may_be[:CANDIDATES_MAX],
    }


@command.command(
    "list",
    epilog=examples("receipt list --unmatched", "receipt list --unmatched --carrier gh-main"),
)
@click.option(
    "--unmatched",
    "only_unmatched",
    is_flag=True,
    help="Those that found no message. The others are shown with their messages: `message show`.",
)
@click.option("--carrier", metavar="NAME", help="Show only receipts of this carrier.")
@click.option(
    "--limit",
    type=WholeNumber(1, LISTED_MAX),
    default=100,
    show_default=True,
    help="The most to show, newest first.",
)
def list_(run: CommandRun, only_unmatched: bool, carrier: str | None, limit: int) -> None:
    """List receipts that found no message, newest first. Each is shown with the reason, and with
    the messages in doubt that it may belong to.
    """
    from heliograph.carriers import all_carriers, carrier_named
    from heliograph.database.postgresql.snapshot import read_one_snapshot
    from heliograph.messages.doubt import unmatched

    if not only_unmatched:
        raise click.UsageError(
            "Give --unmatched: receipts that found their message are shown with it, by `heliograph"
            " message show`."
        )
    with run.read() as tx:
        read_one_snapshot(tx)
        unmatched_receipts = unmatched.find_unmatched(
            tx, carrier_named(tx, carrier).id if carrier is not None else None, limit + 1
        )
        displayed = unmatched_receipts[:limit]
        names = {each.id: each.name for each in all_carriers(tx)}
        records = [
            _record(
                receipt,
                names.get(receipt.carrier_id, f"removed ({receipt.carrier_id})"),
                candidates,
            )
            for receipt, candidates in zip(
                displayed, unmatched.candidates(tx, displayed), strict=True
            )
        ]
    show_list(
        run, records, ("id", "state", "recipient", "received_at", "kept_until", "why", "may_be")
    )
    if len(unmatched_receipts) > limit:
        click.echo(
            f"There are more, older ones: --limit shows up to {LISTED_MAX}, --carrier one"
            " carrier's.",
            err=True,
        )


@command.command(
    "match",
    epilog=examples(
        "receipt match gh-main/7f3a --message msg_01k5…",
        "receipt match rcp_01k5… --message msg_01k5…",
    ),
)
@click.argument("receipt_id", metavar="RECEIPT")
@click.option(
    "--message",
    "message_id",
    required=True,
    metavar="ID",
    help="A message that is sent, or in doubt with the receipt's carrier.",
)
@by_option
def match(run: CommandRun, receipt_id: str, message_id: str, by: str) -> None:
    """Say which message a receipt belongs to. The receipt settles a message that is in doubt, or
    says what became of one that is sent.

    A receipt is refused if it names another handset, or if its carrier was never given the message.
    The command works beside a running server.
    """
    from heliograph.base import clock
    from heliograph.carriers import all_carriers
    from heliograph.database.outage import run_again
    from heliograph.messages.carrier import facts_of
    from heliograph.messages.doubt import trace, unmatched
    from heliograph.messages.doubt.match_receipt import match_to

    name, place = unmatched.parse_id(receipt_id)
    with run.read() as tx:
        raw = trace.trace_message(tx, message_id).message.id
        carrier_id = unmatched.carrier_of(tx, place) if name is None else None
        carrier = next(
            (each for each in all_carriers(tx) if each.name == name or each.id == carrier_id), None
        )
    if carrier is None:
        raise unmatched.receipt_not_found(receipt_id)
    run.run_hot(
        lambda db: run_again(
            lambda: match_to(
                db,
                facts_of(carrier),
                receipt_id,
                raw,
                by,
                clock.now_ms(),
                as_one=carrier.settings.get("long") == "payload",
            )
        )
    )
    with run.read() as tx:
        message = trace.trace_message(tx, message_id).message
    show(
        run,
        {
            "id": message_id,
            "status": message.status,
            "error": message.error_code,
            "credits_refunded": message.refunded,
            "receipt": receipt_id,
        },
    )
