"""Reads alerts for the console and the commands: those that are open, and the last ones."""

from collections import defaultdict
from collections.abc import Sequence
from typing import Any, Final, NamedTuple

import sqlalchemy as sa
from sqlalchemy.engine import Connection

from heliograph.alerts.letters import ALERT_PREFIX
from heliograph.alerts.tables import alert_tellings, alerts
from heliograph.base import ids
from heliograph.database.reads import records_of

NOTIFICATIONS_MAX: Final = 2_000  # of a page of alerts: twice as many as recipients of each


class AlertNotification(NamedTuple):
    """Says to whom an alert was told, or why that failed. One that is due has a try left."""

    alert_id: str | None
    recipient_id: str
    address: str
    event: str
    tries: int
    due_at_ms: int | None
    told_at_ms: int | None
    failure: str | None


class KnownAlert(NamedTuple):
    """Holds an alert that has opened, with what was told of it."""

    id: str
    kind: str
    subject: str
    title: str
    found: str
    remedy: str
    began_at_ms: int
    opened_at_ms: int
    over_at_ms: int | None
    notifications: Sequence[AlertNotification] = ()

    @property
    def text_id(self) -> str:
        return ids.text_of_raw(ALERT_PREFIX, self.id)


_ALERT: Final = [alerts.c[name] for name in KnownAlert._fields if name != "notifications"]
_NOTIFICATION: Final = [alert_tellings.c[name] for name in AlertNotification._fields]


def open_alerts(tx: Connection, *, limit: int) -> list[KnownAlert]:
    """Returns the alerts that are open, those that opened last first."""
    query = sa.select(*_ALERT).where(
        alerts.c.over_at_ms.is_(None), alerts.c.opened_at_ms.is_not(None)
    )
    return _with_notifications(tx, query.order_by(alerts.c.id.desc()).limit(limit))


def still_wrong(tx: Connection, *, limit: int) -> list[KnownAlert]:
    """Returns the open alerts whose rule was still broken at the last look, without their
    notifications. Those that opened last come first.
    """
    columns = alerts.c
    query = sa.select(*_ALERT).where(
        columns.over_at_ms.is_(None),
        columns.opened_at_ms.is_not(None),
        columns.fine_since_ms.is_(None),
    )
    return records_of(KnownAlert, tx.execute(query.order_by(columns.id.desc()).limit(limit)))


def ended_alerts(tx: Connection, *, limit: int) -> list[KnownAlert]:
    """Returns the alerts that are over, those that ended last first."""
    query = sa.select(*_ALERT).where(alerts.c.over_at_ms.is_not(None))
    return _with_notifications(tx, query.order_by(alerts.c.over_at_ms.desc()).limit(limit))


def last_notifications(
    tx: Connection, recipient_ids: Sequence[str]
) -> dict[str, AlertNotification]:
    """Returns the newest notification of each of these recipients (raw ids) that has one."""
    found = {}
    for recipient_id in recipient_ids:
        query = sa.select(*_NOTIFICATION).where(alert_tellings.c.recipient_id == recipient_id)
        row = tx.execute(query.order_by(alert_tellings.c.id.desc()).limit(1)).first()
        if row is not None:
            found[recipient_id] = AlertNotification(**row._asdict())
    return found


def _with_notifications(tx: Connection, query: "sa.Select[Any]") -> list[KnownAlert]:
    found = records_of(KnownAlert, tx.execute(query))
    columns = alert_tellings.c
    of_them = sa.select(*_NOTIFICATION).where(columns.alert_id.in_([alert.id for alert in found]))
    notifications_by_alert: defaultdict[str | None, list[AlertNotification]] = defaultdict(list)
    for row in tx.execute(of_them.order_by(columns.id).limit(NOTIFICATIONS_MAX)):
        notification = AlertNotification(**row._asdict())
        notifications_by_alert[notification.alert_id].append(notification)
    return [alert._replace(notifications=notifications_by_alert[alert.id]) for alert in found]
