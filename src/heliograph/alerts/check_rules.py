"""Looks whether rules are broken, opens alerts, and ends those that are over. What is to be told is
stored in the same transaction, so it is told once, whatever happens to the process.
"""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import sqlalchemy as sa
from sqlalchemy.engine import Connection

from heliograph.alerts.recipients import AlertRecipient, all_recipients
from heliograph.alerts.rules import AlertKind, all_rules
from heliograph.alerts.tables import alert_tellings, alerts
from heliograph.base import ids

if TYPE_CHECKING:
    from heliograph.alerts.broken_rules import Breach, FoundBreaches

OPENED: Final = "opened"
OVER: Final = "over"
TEST: Final = "test"
LOOKED_MAX: Final = 500  # more than all rules together find at once


_NOT_OVER: Final = alerts.c.over_at_ms.is_(None)


class CurrentBreaches(NamedTuple):
    """Holds what breaks rules, and the hold time of each kind. `is_quiet` says that nothing is
    wrong, nor was at the look before, so there is nothing to store.
    """

    found: "FoundBreaches"
    hold_ms: Mapping[str, int]
    is_quiet: bool


class AlertsChanged(NamedTuple):
    """Says what a look has changed, for the log: the kinds of alerts that opened, or ended."""

    opened: list[str]
    ended: list[str]


def find_breaches(tx: Connection, now_ms: int) -> CurrentBreaches:
    """Returns what breaks the rules at a moment. It only reads, so that nobody waits for it."""
    from heliograph.alerts.broken_rules import find_breaches_of

    rules = all_rules(tx)
    found = find_breaches_of(tx, rules, now_ms)
    is_open = tx.execute(sa.select(alerts.c.id).where(_NOT_OVER).limit(1)).first() is not None
    hold_ms: dict[str, int] = {rule.kind: rule.hold_s * 1_000 for rule in rules}
    return CurrentBreaches(found, hold_ms, is_quiet=not (found.breaches or is_open))


def store_found(tx: Connection, current: CurrentBreaches, now_ms: int) -> AlertsChanged:
    """Compares what is wrong with what is known to be, and stores what has changed."""
    breaches = {(str(breach.kind), breach.subject): breach for breach in current.found.breaches}
    looked = AlertsChanged([], [])
    query = sa.select(alerts).where(_NOT_OVER).order_by(alerts.c.id)
    for row in tx.execute(query.limit(LOOKED_MAX)).all():
        breach = breaches.pop((row.kind, row.subject), None)
        if breach is not None:
            if _still_wrong(tx, row, breach, now_ms, current.hold_ms[row.kind]):
                looked.opened.append(row.kind)
        elif AlertKind(row.kind) not in current.found.unknown and _is_ended(
            tx, row, now_ms, current.hold_ms[row.kind]
        ):
            looked.ended.append(row.kind)
    for breach in breaches.values():
        _begin(tx, breach, now_ms)
    return looked


def queue_notification(
    tx: Connection, recipient: AlertRecipient, event: str, alert_id: str | None, now_ms: int
) -> None:
    """Stores that a recipient is to be notified."""
    tx.execute(
        alert_tellings.insert().values(
            id=ids.raw_of_number(ids.new_number(now_ms)),
            alert_id=alert_id,
            recipient_id=recipient.id,
            address=recipient.address,
            event=event,
            tries=0,
            due_at_ms=now_ms,
        )
    )


def _begin(tx: Connection, breach: "Breach", now_ms: int) -> None:
    raw = ids.raw_of_number(ids.new_number(now_ms))
    tx.execute(alerts.insert().values(id=raw, began_at_ms=now_ms, **_stored(breach)))


def _stored(breach: "Breach") -> dict[str, Any]:
    return {**breach._asdict(), "kind": breach.kind.value}


def _still_wrong(tx: Connection, row: Any, breach: "Breach", now_ms: int, hold_ms: int) -> bool:
    """Notes that a rule is still broken, and returns whether that has opened an alert. What to do
    may have changed since it opened: its cause is another one.
    """
    if row.fine_since_ms is not None:
        _change(tx, row.id, {"fine_since_ms": None})
    if row.opened_at_ms is not None and row.remedy != breach.remedy:
        _change(tx, row.id, {"found": breach.found, "remedy": breach.remedy})
    if row.opened_at_ms is not None or now_ms - row.began_at_ms < hold_ms:
        return False
    changes = {**_stored(breach), "opened_at_ms": now_ms}
    if not _change(tx, row.id, changes, alerts.c.opened_at_ms.is_(None)):
        return False  # another process was faster
    for recipient in all_recipients(tx):
        queue_notification(tx, recipient, OPENED, row.id, now_ms)
    return True


def _is_ended(tx: Connection, row: Any, now_ms: int, hold_ms: int) -> bool:
    """Notes that a rule is not broken at this look, and returns whether that has ended an alert."""
    if row.opened_at_ms is None:  # nobody was told of it, so nobody is
        tx.execute(alerts.delete().where(alerts.c.id == row.id, alerts.c.opened_at_ms.is_(None)))
        return False
    if row.fine_since_ms is None:
        _change(tx, row.id, {"fine_since_ms": now_ms})
        return False
    if now_ms - row.fine_since_ms < hold_ms:
        return False
    if not _change(tx, row.id, {"over_at_ms": now_ms}, alerts.c.over_at_ms.is_(None)):
        return False
    query = sa.select(alert_tellings.c.recipient_id).where(alert_tellings.c.alert_id == row.id)
    notified_ids = set(tx.execute(query).scalars())
    for recipient in all_recipients(tx):
        if recipient.id in notified_ids:  # who was added since knows of no beginning
            queue_notification(tx, recipient, OVER, row.id, now_ms)
    return True


def _change(
    tx: Connection,
    alert_id: str,
    values: Mapping[str, Any],
    condition: sa.ColumnElement[bool] | None = None,
) -> bool:
    which = alerts.c.id == alert_id
    query = alerts.update().where(which if condition is None else which & condition)
    return bool(tx.execute(query.values(**values)).rowcount)
