"""Runs looks for alerts, and those who are told of them: a mail server and a receiver of webhooks
on this machine.
"""

import asyncio
import json
from pathlib import Path
from typing import Any, Final, NamedTuple

from heliograph import alerts
from heliograph.alerts import AlertKind, AlertRecipient, AlertRule
from heliograph.alerts.rules import rule_of
from heliograph.alerts.send_notifications import AlertNotifier
from heliograph.base import clock
from heliograph.base.settings import Settings
from heliograph.database.database import Database
from heliograph.jobs import alerts as alerts_job
from heliograph.webhooks.http.address_guard import AllowedNetworks
from tests.support.factories import SECRET_KEY
from tests.support.portal.mailbox import Mailbox
from tests.support.wire.webhook_receiver import Receiver

OPERATOR_MAIL = "kofi@example.com"
CONSOLE_URL: Final = "https://console.example.com"
LOOPBACK = AllowedNetworks(loopback=True)


class Added(NamedTuple):
    """Holds a recipient, and the secret of a webhook."""

    recipient: AlertRecipient
    secret: str | None


def added(db: Database, address: str) -> Added:
    """Adds somebody who is told."""
    with db.write() as tx:
        return Added(
            *alerts.add_recipient(
                tx, address, secret_key=SECRET_KEY, allow=LOOPBACK, now_ms=clock.now_ms()
            )
        )


def hold(db: Database, kind: AlertKind, hold_s: int) -> None:
    """Lets a rule open and end alerts after so long."""
    with db.write() as tx:
        alerts.set_rule(tx, rule_of(tx, kind)._replace(hold_s=hold_s))


def rule(db: Database, given: AlertRule) -> None:
    with db.write() as tx:
        alerts.set_rule(tx, given)


def look(db: Database, after_ms: int = 0) -> None:
    """Looks once, after so long."""
    clock.move(by_ms=after_ms)
    alerts_job.check_alerts(db)


def open_now(db: Database) -> list[str]:
    """Returns the titles of the alerts that are open."""
    with db.read() as tx:
        return [alert.title for alert in alerts.open_alerts(tx, limit=100)]


def tell(db: Database, box: Mailbox | None = None) -> int:
    """Tells all that is due, as the process with the common work does."""
    settings = Settings(
        data_dir=Path(),
        database_url=db.url,
        secret_key=SECRET_KEY,
        smtp_url=None if box is None else f"smtp://127.0.0.1:{box.port}",
        webhooks_allow_loopback=True,
        base_url="https://sms.example.com",
        console_url=CONSOLE_URL,
    )

    async def told() -> int:
        teller = AlertNotifier(db, settings)
        try:
            return await teller.once()
        finally:
            await teller.close()

    return asyncio.run(told())


def subjects(box: Mailbox) -> list[str]:
    """Returns the subjects of the mails that came."""
    return [message["Subject"] for message in box.got]


def events(receiver: Receiver) -> list[dict[str, Any]]:
    """Returns the events that were posted."""
    return [json.loads(body) for body in receiver.bodies]
