"""Defines the commands `heliograph alert …`."""

from typing import TYPE_CHECKING, Any, Final

import click

from heliograph.cli.command import CommandRun, Noun, examples
from heliograph.cli.output import show, show_list
from heliograph.cli.values import LISTED_MAX, WholeNumber

if TYPE_CHECKING:
    from heliograph.alerts import (
        AlertNotification,
        AlertRecipient,
        AlertRule,
        KnownAlert,
        WatchedWallet,
    )

command = Noun(
    "alert",
    help=(
        "Alerts: problems that the service reports by mail and webhooks, when they begin and when"
        " they are over."
    ),
)
KINDS: Final = (
    "carrier_down",
    "backlog",
    "delivery_rate",
    "wallet_low",
    "disk",
    "webhook_failing",
)


@command.command("list", epilog=examples("alert list", "alert list --limit 5 --json"))
@click.option(
    "--limit",
    type=WholeNumber(1, LISTED_MAX),
    default=100,
    show_default=True,
    help="The most to show of those that are open, and of those that are over.",
)
def list_(run: CommandRun, limit: int) -> None:
    """List alerts: those that are open, then those that ended last."""
    from heliograph import alerts

    with run.read() as tx:
        found = [*alerts.open_alerts(tx, limit=limit), *alerts.ended_alerts(tx, limit=limit)]
    show_list(
        run,
        [_alert(alert) for alert in found],
        ("id", "rule", "title", "began_at", "over_at", "told", "failed"),
    )


@command.command("rules", epilog=examples("alert rules"))
def rules(run: CommandRun) -> None:
    """List the rules of alerts. Each is shown with whether it is on, its threshold, and its hold
    time.
    """
    from heliograph import alerts

    with run.read() as tx:
        records = [_rule(rule) for rule in alerts.all_rules(tx)]
    show_list(run, records, ("rule", "on", "threshold", "unit", "hold_s"))


@command.command(
    "set",
    epilog=examples("alert set backlog --threshold 120", "alert set delivery_rate --off"),
)
@click.argument("kind", metavar="RULE", type=click.Choice(KINDS))
@click.option("--on/--off", "is_on", default=None, help="Whether it opens alerts.")
@click.option(
    "--threshold",
    type=WholeNumber(1),
    metavar="N",
    help="The new threshold, in the unit that `alert rules` shows.",
)
@click.option(
    "--hold",
    type=WholeNumber(0),
    metavar="S",
    help=(
        "How many seconds the rule must be broken before an alert opens. The alert ends when the"
        " rule has not been broken for as long."
    ),
)
def set_(
    run: CommandRun, kind: str, is_on: bool | None, threshold: int | None, hold: int | None
) -> None:
    """Change a rule. Options that are not given stay as they are."""
    from heliograph import alerts

    with run.write() as tx:
        rule = alerts.change_rule(
            tx, alerts.AlertKind(kind), is_on=is_on, threshold=threshold, hold_s=hold
        )
    show(run, _rule(rule))


@command.command("recipients", epilog=examples("alert recipients"))
def recipients(run: CommandRun) -> None:
    """List the recipients of alerts. Each is shown with the result of the last alert that was sent
    to it.
    """
    from heliograph import alerts

    with run.read() as tx:
        found = alerts.all_recipients(tx)
        last = alerts.last_notifications(tx, [recipient.id for recipient in found])
    show_list(
        run,
        [_recipient(recipient) | _last(last.get(recipient.id)) for recipient in found],
        ("id", "by", "address", "last_event", "told_at", "failure"),
    )


@command.command(
    "add", epilog=examples("alert add ops@example.com", "alert add https://ops.example.com/alerts")
)
@click.argument("address", metavar="E-MAIL|URL")
def add(run: CommandRun, address: str) -> None:
    """Send alerts to an email address or a webhook. A webhook's secret is shown only once, now."""
    from heliograph import alerts
    from heliograph.base import clock
    from heliograph.webhooks.http.address_guard import allowed_networks

    allow = allowed_networks(run.settings)
    with run.write() as tx:
        recipient, secret = alerts.add_recipient(
            tx,
            address,
            secret_key=run.secret_keys(tx),
            allow=allow,
            now_ms=clock.now_ms(),
        )
    record = _recipient(recipient)
    if secret is None:
        return show(run, record)
    return show(
        run,
        record | {"secret": secret},
        note="Keep the secret now: it cannot be shown again.",
    )


@command.command("remove", epilog=examples("alert remove alr_01k5…"))
@click.argument("recipient", metavar="ID")
def remove(run: CommandRun, recipient: str) -> None:
    """Send no more alerts to a recipient."""
    from heliograph import alerts

    with run.write() as tx:
        gone = alerts.remove_recipient(tx, recipient)
    show(run, _recipient(gone) | {"removed": True})


@command.command("test", epilog=examples("alert test alr_01k5…"))
@click.argument("recipient", metavar="ID")
def test(run: CommandRun, recipient: str) -> None:
    """Send a test alert to a recipient. The running service sends it; `alert recipients` shows the
    result.
    """
    from heliograph import alerts
    from heliograph.base import clock

    with run.write() as tx:
        found = alerts.recipient_of(tx, recipient)
        alerts.queue_notification(tx, found, alerts.TEST, None, clock.now_ms())
    show(run, _recipient(found) | {"test": "on its way"})


@command.command("wallets", epilog=examples("alert wallets"))
def wallets(run: CommandRun) -> None:
    """List the accounts whose wallets are watched."""
    from heliograph import alerts

    with run.read() as tx:
        records = [_watched(each) for each in alerts.all_watched(tx)]
    show_list(run, records, ("account_id", "name", "below_credits"))


@command.command("watch", epilog=examples("alert watch 'Amina Foods' --below 1000"))
@click.argument("account", metavar="ACC")
@click.option("--below", required=True, type=WholeNumber(1), metavar="N", help="SMS credits.")
def watch(run: CommandRun, account: str, below: int) -> None:
    """Watch the SMS credits of an account's wallet. An alert opens when the wallet holds
    fewer than --below.
    """
    from heliograph import alerts

    with run.write() as tx:
        made = alerts.watch_wallet(tx, account, below)
    show(run, _watched(made))


@command.command("unwatch", epilog=examples("alert unwatch 'Amina Foods'"))
@click.argument("account", metavar="ACC")
def unwatch(run: CommandRun, account: str) -> None:
    """Stop watching an account's wallet."""
    from heliograph import alerts

    with run.write() as tx:
        ended = alerts.unwatch_wallet(tx, account)
    show(run, _watched(ended) | {"watched": False})


def _alert(alert: "KnownAlert") -> dict[str, Any]:
    from heliograph.base.clock import rfc3339

    return {
        "id": alert.text_id,
        "rule": alert.kind,
        "title": alert.title,
        "found": alert.found,
        "remedy": alert.remedy,
        "began_at": rfc3339(alert.began_at_ms),
        "opened_at": rfc3339(alert.opened_at_ms),
        "over_at": None if alert.over_at_ms is None else rfc3339(alert.over_at_ms),
        "told": sum(each.told_at_ms is not None for each in alert.notifications),
        "failed": sum(each.failure is not None for each in alert.notifications),
    }


def _rule(rule: "AlertRule") -> dict[str, Any]:
    from heliograph.alerts import THRESHOLDS

    threshold = THRESHOLDS.get(rule.kind)
    return {
        "rule": rule.kind.value,
        "on": rule.is_on,
        "threshold": rule.threshold,
        "unit": None if threshold is None else threshold.unit,
        "hold_s": rule.hold_s,
    }


def _recipient(recipient: "AlertRecipient") -> dict[str, Any]:
    return {
        "id": recipient.text_id,
        "by": "webhook" if recipient.is_webhook else "mail",
        "address": recipient.address,
    }


def _last(notification: "AlertNotification | None") -> dict[str, Any]:
    from heliograph.base.clock import rfc3339

    if notification is None:
        return {"last_event": None, "told_at": None, "failure": None}
    return {
        "last_event": notification.event,
        "told_at": None if notification.told_at_ms is None else rfc3339(notification.told_at_ms),
        "failure": notification.failure,
    }


def _watched(each: "WatchedWallet") -> dict[str, Any]:
    return {
        "account_id": each.text_id,
        "name": each.account.name,
        "below_credits": each.credits_min,
    }
