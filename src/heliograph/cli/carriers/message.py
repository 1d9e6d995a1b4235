"""`heliograph message …`. Numbers are shown in full, for whoever asks a carrier needs them; texts
never are.
"""

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Final

import click

from heliograph.cli.checked_values import home_of_phone
from heliograph.cli.command import Noun, Session, examples
from heliograph.cli.failure import Failure
from heliograph.cli.output import print_table, show, show_list
from heliograph.cli.values import (
    FailedBy,
    Span,
    account_option,
    page_options,
    span_options,
    who_decides,
)

if TYPE_CHECKING:
    from sqlalchemy.engine import Connection

    from heliograph.database.database import Database
    from heliograph.messages.doubt.decide import Decided
    from heliograph.messages.doubt.trace import Traced, Wanted

command = Noun(
    "message",
    help=(
        "Messages: where each is; and those in doubt, which a carrier was given and never answered."
        " Ask the carrier, and settle them, or send them again. What is queued can be canceled."
    ),
)

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
_DOUBTFUL_COLUMNS: Final = (
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
    "--in-doubt", "doubtful", is_flag=True, help="Only those of which a segment is in doubt."
)
@click.option(
    "--carrier",
    metavar="NAME",
    help="Only those that it was given; without --in-doubt, that they were accepted for.",
)
@click.option("--account", metavar="ACC", help="Only this account's.")
@click.option("--status", type=click.Choice(_STATUSES), help="Only those in this state.")
@click.option(
    "--to",
    metavar="PHONE",
    help=(
        "Only those to this number; with --account also as it is dialled in the account's country."
    ),
)
@click.option("--sender", metavar="SENDER", help="Only those from this sender.")
@click.option("--reference", metavar="REF", help="Only those whose send had this reference.")
@click.option(
    "--error",
    type=FailedBy(),
    metavar="CODE|0x…",
    help="Only those that failed so: such as undeliverable, or a carrier's 0x0B.",
)
@click.option(
    "--older-than",
    type=Span(),
    metavar="SPAN",
    help="With --in-doubt: only what has been in doubt for this long, such as 10m or 2h.",
)
@span_options
@page_options
def list_(
    session: Session,
    doubtful: bool,
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
    """List messages of all accounts, newest first, as they stand at one moment."""
    from heliograph.base.ids import text_of_raw
    from heliograph.base.paging import Span as TimeSpan
    from heliograph.messages.doubt import trace
    from heliograph.messages.read import LOOKED_AT_MAX
    from heliograph.text import parse_phone
    from heliograph.wallet import hold_still

    if (
        to is not None
        and parse_phone(to, None, home_of_phone(to) if account is not None else None) is None
    ):
        raise click.BadParameter(
            f"{to!r} is not a phone number such as 233201234567.", param_hint="--to"
        )
    if older_than is not None and not doubtful:
        raise click.UsageError(
            "--older-than is how long a message has been in doubt: say --in-doubt too."
        )
    with session.read() as tx:
        hold_still(tx)
        wanted = _wanted(tx, carrier, account, older_than)._replace(
            before=trace.raw_of(before) if before is not None else None,
            span=TimeSpan(since, until),
            recipient=_recipient(tx, account, to),
            **exactly,
        )
        found, go_on_at = (
            (trace.in_doubt(tx, wanted, limit), None)
            if doubtful
            else trace.newest(tx, wanted, limit)
        )
        records = _records(tx, found)
    show_list(session, records, _DOUBTFUL_COLUMNS if doubtful else _COLUMNS, limit=limit)
    if go_on_at is not None:
        click.echo(
            f"Looked through {LOOKED_AT_MAX} messages. There may be more: --before"
            f" {text_of_raw('msg', go_on_at)}",
            err=True,
        )


@command.command("show", epilog=examples("message show msg_01k5…"))
@click.argument("message_id", metavar="ID")
def show_(session: Session, message_id: str) -> None:
    """Show a message: what became of it, where each of its segments is, and what was
    decided about it by hand.
    """
    from heliograph.base.clock import rfc3339, rfc3339_or_none
    from heliograph.messages.doubt import trace
    from heliograph.messages.read import timeline
    from heliograph.wallet import hold_still

    with session.read() as tx:
        hold_still(tx)
        found = trace.one(tx, message_id)
        names = _carrier_names(tx)
        record = _records(tx, [found])[0]
        lists = {
            "timeline": timeline(found.message),
            "segments": [
                {
                    **segment._asdict(),
                    "carrier_id": names(segment.carrier_id),
                    "since_ms": rfc3339_or_none(segment.since_ms),
                }
                for segment in trace.segments(tx, found)
            ],
            "decisions": [
                {
                    **decision._asdict(),
                    "parts": trace.numbers(decision.parts),
                    "carrier_id": names(decision.carrier_id),
                    "decided_at_ms": rfc3339(decision.decided_at_ms),
                }
                for decision in trace.decisions(tx, found)
            ],
        }
    lists = {
        name: [{_SHOWN_AS.get(key, key): value for key, value in row.items()} for row in rows]
        for name, rows in lists.items()
    }
    if session.as_json:
        return show(session, {**record, **lists})
    show(session, record)
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


def _which(callback: Callable[..., None]) -> Callable[..., None]:
    """IDs, or --carrier with --account and --older-than."""
    callback = click.option(
        "--older-than",
        type=Span(),
        metavar="SPAN",
        help="With --carrier: only what has been in doubt for this long, such as 10m.",
    )(callback)
    callback = click.option(
        "--account", metavar="ACC", help="With --carrier: only this account's."
    )(callback)
    callback = click.option(
        "--carrier", metavar="NAME", help="Instead of IDs: all that is in doubt with this carrier."
    )(callback)
    return click.argument("message_ids", metavar="[ID]…", nargs=-1)(callback)


@command.command(
    "settle",
    epilog=examples(
        "message settle msg_01k5… --as delivered --reason 'their support, ticket 4711'",
        "message settle --carrier gh-main --older-than 10m --as canceled --reason 'they lost power"
        " at noon and sent nothing'",
    ),
)
@_which
@click.option(
    "--as",
    "as_",
    required=True,
    type=click.Choice(["sent", "delivered", "undeliverable", "canceled"]),
    help=(
        "sent, delivered, undeliverable: the carrier has it, and what became of it there, as a"
        " receipt would say. canceled: the carrier never got it and it is not to be sent any more:"
        " failed, and paid back."
    ),
)
@who_decides
def settle(
    session: Session,
    message_ids: tuple[str, ...],
    carrier: str | None,
    account: str | None,
    older_than: int | None,
    as_: str,
    by: str,
    reason: str,
) -> None:
    """Say what became of messages in doubt. Works beside a running server: whoever settles a
    message first, this or an answer, has settled it.

    In steps of at most 500 segments. Who decided, and why, stays with the message: `heliograph
    message show`.
    """
    _decide(
        session,
        message_ids,
        carrier,
        account=account,
        older_than=older_than,
        decision=as_,
        by=by,
        reason=reason,
    )


@command.command(
    "resend",
    epilog=examples(
        "message resend msg_01k5… --reason 'they never got it'",
        "message resend --carrier gh-main --older-than 10m --reason 'lost in their restart, says"
        " ticket 4711'",
    ),
)
@_which
@who_decides
def resend(
    session: Session,
    message_ids: tuple[str, ...],
    carrier: str | None,
    account: str | None,
    older_than: int | None,
    by: str,
    reason: str,
) -> None:
    """Send messages in doubt once more, now: whatever the carrier's --in-doubt says, and also those
    that were sent again before.

    If the carrier has them after all, they come twice. One-time passwords are refused. In steps of
    at most 500 segments.
    """
    _decide(
        session,
        message_ids,
        carrier,
        account=account,
        older_than=older_than,
        decision="resent",
        by=by,
        reason=reason,
    )


@command.command("cancel", epilog=examples("message cancel --account 'Amina Foods'"))
@account_option
def cancel(session: Session, account: str) -> None:
    """Cancel all that is queued of an account, live and sandbox: what no carrier has been given
    fails as canceled, and is paid back.

    Works beside a running server. The account can go on sending: suspend it first if it should not.
    """
    from heliograph import accounts, messages
    from heliograph.base import clock

    with session.read() as tx:
        found = accounts.find(tx, account)

    async def all_of_it(db: "Database") -> int:
        canceled = 0
        while some := await messages.fail_queued(db, found.id, clock.now_ms()):
            canceled += some
        return canceled

    show(session, {"account_id": accounts.text_id(found), "canceled": session.awaited(all_of_it)})


def _decide(
    session: Session,
    message_ids: tuple[str, ...],
    carrier: str | None,
    account: str | None,
    older_than: int | None,
    decision: str,
    by: str,
    reason: str,
) -> None:
    from heliograph.base.errors import ServiceError
    from heliograph.carriers import all_carriers
    from heliograph.messages.doubt import decide, trace
    from heliograph.processes.carrier import facts_of

    if bool(message_ids) == (carrier is not None) or (
        message_ids and (account, older_than) != (None, None)
    ):
        raise click.UsageError(
            "Say which: IDs, or --carrier (with --account and --older-than) for all that is in"
            " doubt there."
        )
    word = decide.signed(by, reason)
    with session.read() as tx:
        ids = trace.found(tx, message_ids)
        doubts = trace.doubts_by_carrier(
            tx, trace.Wanted(among=list(ids)) if ids else _wanted(tx, carrier, account, older_than)
        )
        facts = {each.id: facts_of(each) for each in all_carriers(tx)}
    doubtful = {message_id for of_carrier in doubts.values() for message_id, _ in of_carrier}
    done = [
        decide.not_in_doubt(message_id, status, error_code)
        for message_id, (status, error_code) in ids.items()
        if message_id not in doubtful
    ]
    try:
        session.awaited(
            lambda db: decide.decide(
                db, doubts, facts, decide.Decision(decision), word, done.extend
            )
        )
    except ServiceError as error:
        decided = sum(each.refused is None for each in done)
        raise Failure(
            f"{error} {decided} messages were decided about before that; the same command goes on"
            " with the rest."
        ) from error
    _tell(session, done, all_or_failure=bool(ids))


def _tell(session: Session, done: "list[Decided]", *, all_or_failure: bool) -> None:
    from heliograph.base.ids import text_of_raw

    refused = [each.refused for each in done if each.refused is not None]
    left = (
        f"{len(refused)} of {len(done)} messages left as they were: {refused[0]}" if refused else ""
    )
    if all_or_failure and len(done) == len(refused) == 1:
        raise Failure(refused[0])
    shown = done if session.as_json else [each for each in done if each.refused is None]
    show_list(
        session,
        [
            {
                "id": text_of_raw("msg", each.message_id),
                "status": each.status,
                "error": each.error_code,
                "credits_refunded": each.credits_refunded,
                "refused": each.refused,
            }
            for each in shown
        ],
        ("id", "status", "error", "credits_refunded"),
    )
    if refused and all_or_failure:
        raise Failure(left)
    if refused:
        click.echo(left, err=True)


def _wanted(
    tx: "Connection", carrier: str | None, account: str | None, older_than: int | None
) -> "Wanted":
    from heliograph import accounts
    from heliograph.base import clock
    from heliograph.carriers import carrier_named
    from heliograph.messages.doubt.trace import Wanted

    return Wanted(
        account_id=accounts.find(tx, account).id if account is not None else None,
        carrier_id=carrier_named(tx, carrier).id if carrier is not None else None,
        doubtful_since_ms=clock.now_ms() - older_than if older_than is not None else None,
    )


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


def _carrier_names(tx: "Connection") -> "Callable[[int | None], str | None]":
    """Of a carrier's number; one that was removed has only that."""
    from heliograph.carriers import all_carriers

    names: dict[int | None, str | None] = {carrier.id: carrier.name for carrier in all_carriers(tx)}
    names[None] = None
    return lambda carrier_id: names.get(carrier_id, f"removed ({carrier_id})")


def _records(tx: "Connection", found: "list[Traced]") -> list[dict[str, Any]]:
    from heliograph import accounts
    from heliograph.base.clock import rfc3339, rfc3339_or_none
    from heliograph.carriers import all_carriers
    from heliograph.messages.doubt import trace
    from heliograph.messages.read import as_record

    names = _carrier_names(tx)
    owners = {
        account_id: accounts.text_id(accounts.by_id(tx, account_id))
        for account_id in {each.account_id for each in found}
    }
    resending = frozenset(
        carrier.id
        for carrier in all_carriers(tx)
        if carrier.settings.get("in_doubt", "resend") == "resend"
    )
    records = []
    for each in found:
        doubts = each.doubts
        record = as_record(each.message)
        record.pop("message")
        record.pop("campaign_id")
        records.append(
            {
                "id": record.pop("id"),
                "account_id": owners[each.account_id],
                "carrier": names(doubts[0].carrier_id if doubts else each.carrier_id),
                **record,
                "failure": trace.failure(each.message),
                "segments_in_doubt": sorted(
                    number for doubt in doubts for number in trace.numbers(doubt.parts)
                ),
                "in_doubt_since": (
                    rfc3339(min(doubt.since_ms for doubt in doubts)) if doubts else None
                ),
                "resend_at": rfc3339_or_none(
                    trace.resend_at_ms(each, carriers_that_resend=resending)
                ),
                "expires_at": rfc3339(doubts[0].expires_at_ms) if doubts else None,
            }
        )
    return records
