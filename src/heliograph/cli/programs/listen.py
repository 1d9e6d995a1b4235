"""Defines the command `heliograph listen`."""

import json

import click

from heliograph.cli import checked_values
from heliograph.cli.command import Command, CommandRun, examples
from heliograph.cli.output import printable
from heliograph.cli.values import account_option, mode_option


@click.command(
    "listen",
    cls=Command,
    prints_record=False,
    epilog=examples(
        "listen --account 'Amina Foods' --forward http://127.0.0.1:3000/hook",
        "listen --account acc_01k5… --forward http://127.0.0.1:3000/hook --mode sandbox",
    ),
)
@account_option
@click.option(
    "--forward",
    "url",
    required=True,
    metavar="URL",
    help=(
        "Where to post them, such as http://127.0.0.1:3000/hook. This command may post to this"
        " machine."
    ),
)
@click.option(
    "--events",
    type=checked_values.EVENTS,
    default="all",
    show_default=True,
    metavar="all|a,b",
    help="Which events, such as message.delivered,message.failed.",
)
@mode_option("Which mode's events are sent.")
def command(run: CommandRun, account: str, url: str, events: str, sandbox: bool) -> None:
    """Show an account's events as they happen, and forward each to an address of yours. Use it to
    develop without a public URL.

    The forwarded events are signed like all others, with a secret that is valid for this run. The
    command works beside a running server, until Ctrl-C.
    """
    from dataclasses import replace

    from heliograph import accounts
    from heliograph.base.clock import rfc3339
    from heliograph.base.ids import text_of_raw
    from heliograph.processes import listen, logs
    from heliograph.webhooks import EVENT_PREFIX
    from heliograph.webhooks.http.address_guard import allowed_networks, check_url
    from heliograph.webhooks.record_attempts import AttemptResult

    def show(kind: str, body: str, tried: AttemptResult) -> None:
        answered = (
            f"{tried.status}"
            if tried.status is not None
            else f"{tried.reason}: {printable(tried.answer or '')}"
        )
        click.echo(
            f"{rfc3339(tried.at_ms)}  {kind}  {text_of_raw(EVENT_PREFIX, tried.waiting.event_id)}"
            f"  → {answered} in {tried.took_ms} ms\n  {_printable_body(body)}"
        )

    def ready(secret: str) -> None:
        click.echo(
            f"Listening: new events are forwarded to {url}. Ctrl-C stops it.\nThe secret of"
            f" this run: {secret}"
        )

    check_url(url, replace(allowed_networks(run.settings), loopback=True))
    logs.set_up(replace(run.settings, log_level="warning"))
    with run.read() as tx:
        account_id = accounts.find(tx, account).id
    listen.run(
        run.settings,
        account_id,
        url,
        checked_values.kinds_of(events),
        sandbox=sandbox,
        on_ready=ready,
        on_attempt=show,
    )


def _printable_body(body: str) -> str:
    """Returns the event as it is sent, but for what a terminal would obey, which JSON can say in
    another way.
    """
    return "".join(
        character if character.isprintable() else json.dumps(character)[1:-1] for character in body
    )
