"""Defines the commands `heliograph webhook …`."""

from typing import TYPE_CHECKING, Any

import click

from heliograph.cli import checked_values
from heliograph.cli.command import CommandRun, Noun, examples
from heliograph.cli.output import show, show_list
from heliograph.cli.values import (
    LISTED_MAX,
    Past,
    WholeNumber,
    account_option,
    mode_option,
    page_options,
)

if TYPE_CHECKING:
    from sqlalchemy.engine import Connection

    from heliograph.webhooks.endpoints import WebhookEndpoint

command = Noun(
    "webhook",
    help=(
        "Webhook endpoints: the URLs that an account's signed events are sent to. A secret is"
        " shown once, when it is made."
    ),
)


def _record(tx: "Connection", endpoint: "WebhookEndpoint") -> dict[str, Any]:
    from heliograph import accounts
    from heliograph.webhooks import endpoints

    return endpoints.as_record(endpoint, accounts.text_id(accounts.by_id(tx, endpoint.account_id)))


@command.command(
    "add",
    epilog=examples(
        "webhook add https://shop.example/heliograph --account 'Amina Foods' --events all",
        "webhook add https://shop.example/sms --account acc_01k5… --events"
        " message.delivered,message.failed",
    ),
)
@click.argument("url", metavar="URL")
@account_option
@click.option(
    "--events",
    required=True,
    type=checked_values.EVENTS,
    metavar="all|a,b",
    help="Which events, such as message.delivered,message.failed.",
)
@mode_option("Which mode's events are sent.")
@click.option(
    "--include-customers", is_flag=True, help="Also send those of the account's Connect customers."
)
def add(
    run: CommandRun, url: str, account: str, events: str, sandbox: bool, include_customers: bool
) -> None:
    """Send an account's events to a URL. The command shows the secret that signs them. It is shown
    only once.

    Only https:// addresses on the public internet are allowed. HELIOGRAPH_WEBHOOKS_ALLOW_NETWORKS
    and …_ALLOW_LOOPBACK allow more.
    """
    from heliograph import accounts
    from heliograph.base import clock
    from heliograph.webhooks import endpoints
    from heliograph.webhooks.http.address_guard import allowed_networks, check_url

    check_url(url, allow := allowed_networks(run.settings))
    with run.write() as tx:
        endpoint, secret = endpoints.add(
            tx,
            accounts.find(tx, account).id,
            url,
            checked_values.kinds_of(events),
            sandbox=sandbox,
            include_customers=include_customers,
            secret_key=run.secret_keys(tx),
            allow=allow,
            now_ms=clock.now_ms(),
        )
        record = _record(tx, endpoint)
    show(
        run,
        {"id": record.pop("id"), "secret": secret, **record},
        note="Keep the secret now: it cannot be shown again.",
    )


@command.command(
    "list", epilog=examples("webhook list", "webhook list --account 'Amina Foods' --json")
)
@click.option("--account", metavar="ACC", help="Show only endpoints of this account.")
@click.option(
    "--limit",
    type=WholeNumber(1, LISTED_MAX),
    default=100,
    show_default=True,
    help="The most to show, oldest first.",
)
def list_(run: CommandRun, account: str | None, limit: int) -> None:
    """List webhook endpoints, oldest first. Each is shown with its URL, its events, and whether and
    why it is disabled.
    """
    from heliograph import accounts
    from heliograph.webhooks import endpoints

    with run.read() as tx:
        account_id = accounts.find(tx, account).id if account is not None else None
        records = [
            _record(tx, endpoint)
            for endpoint in endpoints.all_endpoints(tx, account_id, limit=limit)
        ]
    show_list(
        run,
        records,
        ("id", "account_id", "mode", "events", "status", "disabled_reason", "failing_since", "url"),
    )


@command.command(
    "rotate", epilog=examples("webhook rotate whe_01k5…", "webhook rotate whe_01k5… --finish")
)
@click.argument("endpoint", metavar="ID")
@click.option(
    "--finish", is_flag=True, help="Sign with the new secret only: the receiver has it now."
)
def rotate(run: CommandRun, endpoint: str, finish: bool) -> None:
    """Make a new secret and show it. It is shown only once. For 24 h, or until --finish, the old
    secret signs as well.

    X-Service-Signature has room for one signature: until then it is made with the old secret;
    webhook-signature holds both.
    """
    from heliograph.base import clock
    from heliograph.webhooks import endpoints

    with run.write() as tx:
        if finish:
            return show(run, _record(tx, endpoints.finish_rotation(tx, endpoint)))
        rotated, secret = endpoints.rotate(tx, endpoint, run.secret_keys(tx), now_ms=clock.now_ms())
        record = _record(tx, rotated)
    return show(
        run,
        {"id": record.pop("id"), "secret": secret, **record},
        note="Keep the secret now: it cannot be shown again.",
    )


@command.command("disable", epilog=examples("webhook disable whe_01k5…"))
@click.argument("endpoint", metavar="ID")
def disable(run: CommandRun, endpoint: str) -> None:
    """Send nothing more to an endpoint. Its events are kept for 30 days, and can be replayed."""
    from heliograph.base import clock
    from heliograph.webhooks import endpoints

    with run.write() as tx:
        record = _record(tx, endpoints.disable(tx, endpoint, now_ms=clock.now_ms()))
    show(run, record)


@command.command("enable", epilog=examples("webhook enable whe_01k5…"))
@click.argument("endpoint", metavar="ID")
def enable(run: CommandRun, endpoint: str) -> None:
    """Send events to an endpoint again, from now on. `webhook replay` sends what it missed."""
    from heliograph.webhooks import endpoints

    with run.write() as tx:
        record = _record(tx, endpoints.enable(tx, endpoint))
    show(run, record)


@command.command("remove", epilog=examples("webhook remove whe_01k5…"))
@click.argument("endpoint", metavar="ID")
def remove(run: CommandRun, endpoint: str) -> None:
    """Remove an endpoint for good. The events that wait for it and the record of what became of its
    events are deleted. `webhook disable` keeps them.
    """
    from heliograph.base import clock
    from heliograph.webhooks import endpoints

    with run.write() as tx:
        endpoints.remove(tx, endpoint, now_ms=clock.now_ms())
    show(run, {"id": endpoint, "removed": True})


@command.command("test", epilog=examples("webhook test whe_01k5…"))
@click.argument("endpoint", metavar="ID")
def test(run: CommandRun, endpoint: str) -> None:
    """Send a signed sample now, and show the answer. The sample is sent from this machine, and
    nothing of it is stored.
    """
    from heliograph.webhooks import endpoints
    from heliograph.webhooks.http.address_guard import allowed_networks
    from heliograph.webhooks.sample_event import send_sample

    with run.read() as tx:
        found = endpoints.endpoint_of(tx, endpoint)
        record = _record(tx, found)
        signing = endpoints.secrets_of(tx, found.id, run.settings.secret_keys, _now_ms())
    result = run.run_hot(
        lambda _: send_sample(
            found, record["account_id"], signing, allowed_networks(run.settings), _now_ms()
        )
    )
    show(run, {"id": endpoint, "url": found.url, **result})
    if result["reason"] is not None:
        raise SystemExit(1)


def _now_ms() -> int:
    from heliograph.base import clock

    return clock.now_ms()


@command.command(
    "events", epilog=examples("webhook events whe_01k5…", "webhook events whe_01k5… --failed")
)
@click.argument("endpoint", metavar="ID")
@click.option(
    "--failed",
    is_flag=True,
    help=(
        "Show only events that are not delivered: waiting for another try, exhausted, or missed"
        " while disabled."
    ),
)
@page_options
def events(run: CommandRun, endpoint: str, failed: bool, limit: int, before: str | None) -> None:
    """List an endpoint's events, newest first. Each is shown with what became of it."""
    from heliograph.webhooks import endpoints, history

    with run.read() as tx:
        records = history.events(
            tx, endpoints.endpoint_of(tx, endpoint), limit=limit, before=before, failed=failed
        )
    show_list(
        run,
        records,
        ("id", "event", "created_at", "outcome", "tries", "status", "took_ms", "next_try_at"),
        limit=limit,
    )


@command.command(
    "attempts",
    epilog=examples("webhook attempts whe_01k5…", "webhook attempts whe_01k5… --event evt_01k5…"),
)
@click.argument("endpoint", metavar="ID")
@click.option("--event", metavar="ID", help="List only the attempts to deliver this event.")
@click.option(
    "--limit",
    type=WholeNumber(1, LISTED_MAX),
    default=100,
    show_default=True,
    help="The most to show, newest first.",
)
def attempts(run: CommandRun, endpoint: str, event: str | None, limit: int) -> None:
    """List attempts to deliver an endpoint's newest events. Each is shown with what was answered,
    how long it took, and the first KiB of the answer. Attempts are kept for 30 days.
    """
    from heliograph.webhooks import endpoints, history

    with run.read() as tx:
        records = history.attempts(
            tx, endpoints.endpoint_of(tx, endpoint), limit=limit, event_id=event
        )
    show_list(run, records, ("event_id", "try", "at", "status", "reason", "took_ms", "answer"))


@command.command(
    "replay",
    epilog=examples(
        "webhook replay whe_01k5… --event evt_01k5…",
        "webhook replay whe_01k5… --since 2h",
        "webhook replay whe_01k5… --since 2027-01-31 --until 2027-01-31T09:30:00Z",
    ),
)
@click.argument("endpoint", metavar="ID")
@click.option("--event", metavar="ID", help="Send this event, whatever became of it.")
@click.option(
    "--since",
    type=Past(),
    metavar="T",
    help="Send all events since then that were not delivered: a time, a date, or 7d, 2h, 30m ago.",
)
@click.option(
    "--until",
    type=Past(),
    metavar="T",
    help="With --since: send only events made before this time.",
)
def replay(
    run: CommandRun, endpoint: str, event: str | None, since: int | None, until: int | None
) -> None:
    """Send events again, with the ids that they had. With --event it is one event, with --since all
    that were not delivered since a time.
    """
    from heliograph.base import clock
    from heliograph.webhooks import endpoints
    from heliograph.webhooks.replay import REPLAYED_AT_ONCE, replay_one, replay_span

    if (event is None) == (since is None):
        raise click.UsageError("Say either --event ID or --since T.")
    if until is not None and since is None:
        raise click.UsageError("--until goes with --since.")
    replayed, last = 0, REPLAYED_AT_ONCE
    while last == REPLAYED_AT_ONCE:
        with run.write() as tx:
            found = endpoints.endpoint_of(tx, endpoint)
            if since is not None:
                last = replay_span(tx, found, since, until, now_ms=clock.now_ms())
            else:
                replay_one(tx, found, event or "", now_ms=clock.now_ms())
                last = 1
        replayed += last
    show(run, {"id": endpoint, "replayed": replayed})
