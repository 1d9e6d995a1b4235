"""Keeps the notifications of alerts, until they were sent or no try is left."""

from typing import Final, NamedTuple

import sqlalchemy as sa
from sqlalchemy.engine import Connection

from heliograph.alerts.check_rules import OPENED, OVER
from heliograph.alerts.recipients import secret_of
from heliograph.alerts.tables import FAILURE_MAX, alert_tellings, alerts
from heliograph.base.secrets import Keys, SecretUnreadable
from heliograph.base.short_texts import printable, shorten

TOLD_AT_ONCE: Final = 20  # at most so many connections to others
TRIES_MAX: Final = 8  # the last one comes two hours after the first
# after the first failure, and twice as long after each further one; longer than a try takes, for
# until then no other process makes one
TOLD_AGAIN_MS: Final = 60_000
NO_MAIL_SERVER: Final = "HELIOGRAPH_SMTP_URL is not set, so no mail is sent."


class AlertToSend(NamedTuple):
    """Holds what a notification says of an alert. `id` is raw, and so it is in DueNotification."""

    id: str
    kind: str
    subject: str
    title: str
    found: str
    remedy: str
    began_at_ms: int
    over_at_ms: int | None


class DueNotification(NamedTuple):
    """Describes a notification that is due. `alert` is None for a test, and `secret` for a mail."""

    id: str
    address: str
    secret: str | None
    event: str
    alert: AlertToSend | None


def any_due(tx: Connection, now_ms: int) -> bool:
    """Returns whether any notification is due. It is asked every second, by index."""
    return tx.execute(_due(now_ms).limit(1)).first() is not None


def take_due(tx: Connection, keys: Keys, now_ms: int) -> list[DueNotification]:
    """Returns the notifications that are due. Nobody else gets them for a while, and they are due
    again unless `record_sent` notes that they were sent. One whose secret cannot be read is
    recorded as a failure.
    """
    columns = alert_tellings.c
    query = _due(now_ms).order_by(columns.due_at_ms, columns.id).limit(TOLD_AT_ONCE)
    taken = []
    for row in tx.execute(query.with_for_update(skip_locked=True, of=alert_tellings)).all():
        tries = row.tries + 1
        again_at_ms = now_ms + (TOLD_AGAIN_MS << row.tries) if tries < TRIES_MAX else None
        tx.execute(
            alert_tellings.update()
            .where(columns.id == row.id)
            .values(tries=tries, due_at_ms=again_at_ms)
        )
        try:
            secret = secret_of(tx, row.recipient_id, keys)
        except SecretUnreadable as error:  # the others are told all the same
            record_failure(tx, row.id, str(error))
            continue
        alert = None if row.alert_id is None else _alert(tx, row.alert_id)
        taken.append(DueNotification(row.id, row.address, secret, row.event, alert))
    return taken


def record_sent(tx: Connection, notification_id: str, now_ms: int) -> None:
    """Stores that a notification was sent."""
    _note(tx, notification_id, due_at_ms=None, told_at_ms=now_ms, failure=None)


def record_failure(tx: Connection, notification_id: str, why: str) -> None:
    """Stores why a notification could not be sent this time."""
    _note(tx, notification_id, failure=shorten(printable(why), FAILURE_MAX - 1))


def _note(tx: Connection, notification_id: str, **values: int | str | None) -> None:
    tx.execute(
        alert_tellings.update().where(alert_tellings.c.id == notification_id).values(**values)
    )


def _due(now_ms: int) -> "sa.Select[tuple[object, ...]]":
    """Selects the notifications that are due. Nobody is told that an alert is over before they were
    told that it began.
    """
    columns, before = alert_tellings.c, alert_tellings.alias("before")
    waits = sa.exists().where(
        before.c.alert_id == columns.alert_id,
        before.c.recipient_id == columns.recipient_id,
        before.c.event == OPENED,
        before.c.due_at_ms.is_not(None),
    )
    return sa.select(alert_tellings).where(
        columns.due_at_ms <= now_ms, (columns.event != OVER) | ~waits
    )


def _alert(tx: Connection, alert_id: str) -> AlertToSend:
    columns = [alerts.c[name] for name in AlertToSend._fields]
    row = tx.execute(sa.select(*columns).where(alerts.c.id == alert_id)).one()
    return AlertToSend(**row._asdict())
