"""An operator decides about messages in doubt: `heliograph message settle` and `resend`."""

from collections.abc import Callable
from typing import TYPE_CHECKING

import click

from heliograph.cli.command import Command, CommandRun, examples
from heliograph.cli.failure import Failure
from heliograph.cli.output import show_list
from heliograph.cli.values import Duration, decision_options

if TYPE_CHECKING:
    from sqlalchemy.engine import Connection

    from heliograph.messages.doubt.decide import DecisionResult
    from heliograph.messages.doubt.trace import MessageFilter


def _selection_options(callback: Callable[..., None]) -> Callable[..., None]:
    """Adds the argument IDs, and --carrier with --account and --older-than."""
    callback = click.option(
        "--older-than",
        type=Duration(),
        metavar="SPAN",
        help=(
            "With --carrier: decide only about messages in doubt for at least this long, such as"
            " 10m."
        ),
    )(callback)
    callback = click.option(
        "--account",
        metavar="ACC",
        help="With --carrier: decide only about messages of this account.",
    )(callback)
    callback = click.option(
        "--carrier", metavar="NAME", help="Instead of IDs: all that is in doubt with this carrier."
    )(callback)
    return click.argument("message_ids", metavar="[ID]…", nargs=-1)(callback)


@click.command(
    "settle",
    cls=Command,
    epilog=examples(
        "message settle msg_01k5… --as delivered --reason 'their support, ticket 4711'",
        "message settle --carrier gh-main --older-than 10m --as canceled --reason 'they lost power"
        " at noon and sent nothing'",
    ),
)
@_selection_options
@click.option(
    "--as",
    "as_",
    required=True,
    type=click.Choice(["sent", "delivered", "undeliverable", "canceled"]),
    help=(
        "sent, delivered, undeliverable: the carrier got the message, and this is its result, as a"
        " receipt would report it. canceled: the carrier never got it, and it will not be sent"
        " again; it fails and is refunded."
    ),
)
@decision_options
def settle(
    run: CommandRun,
    message_ids: tuple[str, ...],
    carrier: str | None,
    account: str | None,
    older_than: int | None,
    as_: str,
    by: str,
    reason: str,
) -> None:
    """Say what became of messages in doubt. It works beside a running server: if the carrier's
    answer comes first, the answer counts.

    The messages are decided in steps of at most 500 segments. If a step fails, run the command
    again for the rest. Who decided, and why, stays with the message: `heliograph message show`.
    """
    _decide(
        run,
        message_ids,
        carrier,
        account=account,
        older_than=older_than,
        decision=as_,
        by=by,
        reason=reason,
    )


@click.command(
    "resend",
    cls=Command,
    epilog=examples(
        "message resend msg_01k5… --reason 'they never got it'",
        "message resend --carrier gh-main --older-than 10m --reason 'lost in their restart, says"
        " ticket 4711'",
    ),
)
@_selection_options
@decision_options
def resend(
    run: CommandRun,
    message_ids: tuple[str, ...],
    carrier: str | None,
    account: str | None,
    older_than: int | None,
    by: str,
    reason: str,
) -> None:
    """Send messages in doubt once more, now. They are sent whatever the carrier's --in-doubt says,
    and even if they were sent again before.

    If the carrier has them after all, they arrive twice. One-time passwords are refused. The
    messages are sent in steps of at most 500 segments. If a step fails, run the command again for
    the rest.
    """
    _decide(
        run,
        message_ids,
        carrier,
        account=account,
        older_than=older_than,
        decision="resent",
        by=by,
        reason=reason,
    )


def _decide(
    run: CommandRun,
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
    from heliograph.messages.carrier import facts_of
    from heliograph.messages.doubt import decide, trace

    if bool(message_ids) == (carrier is not None) or (
        message_ids and (account, older_than) != (None, None)
    ):
        raise click.UsageError(
            "Give IDs, or --carrier (with --account and --older-than) for all messages in doubt"
            " with a carrier."
        )
    who = decide.read_decided_by(by, reason)
    with run.read() as tx:
        ids = trace.find_states(tx, message_ids)
        doubts = trace.doubts_by_carrier(
            tx,
            trace.MessageFilter(among=list(ids))
            if ids
            else filter_of_options(tx, carrier, account, older_than),
        )
        facts = {each.id: facts_of(each) for each in all_carriers(tx)}
    in_doubt = {message_id for of_carrier in doubts.values() for message_id, _ in of_carrier}
    done = [
        decide.not_in_doubt(message_id, status, error_code)
        for message_id, (status, error_code) in ids.items()
        if message_id not in in_doubt
    ]
    try:
        run.run_hot(
            lambda db: decide.decide(db, doubts, facts, decide.Decision(decision), who, done.extend)
        )
    except ServiceError as error:
        decided = sum(each.refused is None for each in done)
        raise Failure(
            f"{error} {decided} messages were decided before that. Run the same command again"
            " for the rest."
        ) from error
    _print_result(run, done, all_or_failure=bool(ids))


def _print_result(run: CommandRun, done: "list[DecisionResult]", *, all_or_failure: bool) -> None:
    from heliograph.base.ids import text_of_raw
    from heliograph.messages.read import MESSAGE_PREFIX

    refused = [each.refused for each in done if each.refused is not None]
    left = (
        f"{len(refused)} of {len(done)} messages left as they were: {refused[0]}" if refused else ""
    )
    if all_or_failure and len(done) == len(refused) == 1:
        raise Failure(refused[0])
    displayed = done if run.as_json else [each for each in done if each.refused is None]
    show_list(
        run,
        [
            {
                "id": text_of_raw(MESSAGE_PREFIX, each.message_id),
                "status": each.status,
                "error": each.error_code,
                "credits_refunded": each.credits_refunded,
                "refused": each.refused,
            }
            for each in displayed
        ],
        ("id", "status", "error", "credits_refunded"),
    )
    if refused and all_or_failure:
        raise Failure(left)
    if refused:
        click.echo(left, err=True)


def filter_of_options(
    tx: "Connection", carrier: str | None, account: str | None, older_than: int | None
) -> "MessageFilter":
    """Returns which messages the options --carrier, --account and --older-than ask for."""
    from heliograph import accounts
    from heliograph.base import clock
    from heliograph.carriers import carrier_named
    from heliograph.messages.doubt.trace import MessageFilter

    return MessageFilter(
        account_id=accounts.find(tx, account).id if account is not None else None,
        carrier_id=carrier_named(tx, carrier).id if carrier is not None else None,
        in_doubt_since_ms=clock.now_ms() - older_than if older_than is not None else None,
    )
