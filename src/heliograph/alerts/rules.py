"""Keeps the rules: what is an alert. Each has a default that works, so none needs to be set up."""

from enum import StrEnum
from typing import Final, NamedTuple

import sqlalchemy as sa
from sqlalchemy.engine import Connection

from heliograph.alerts.tables import alert_rules
from heliograph.alerts.upsert import lock_table, upsert
from heliograph.base.short_texts import invalid_field

HOLD_S_MAX: Final = 3_600  # an alert that is told later than that is news of the past


class AlertKind(StrEnum):
    """Names what an alert may be about."""

    CARRIER_DOWN = "carrier_down"
    BACKLOG = "backlog"
    DELIVERY_RATE = "delivery_rate"
    WALLET_LOW = "wallet_low"
    DISK = "disk"
    WEBHOOK_FAILING = "webhook_failing"


class ThresholdOf(NamedTuple):
    """Describes the threshold of a kind: its unit, as it is written behind the number, and the
    numbers that it may be.
    """

    unit: str
    least: int
    most: int


# the two others have none: a carrier is down or not, and each watched wallet has its own
THRESHOLDS: Final = {
    AlertKind.BACKLOG: ThresholdOf("s", 5, 86_400),
    AlertKind.DELIVERY_RATE: ThresholdOf("%", 1, 100),
    AlertKind.DISK: ThresholdOf("MiB", 1, 10_000_000),
    AlertKind.WEBHOOK_FAILING: ThresholdOf("min", 1, 7_200),
}


class AlertRule(NamedTuple):
    """Describes a rule. `hold_s` is its hold time: it has to be broken for so long before an alert
    opens, and fine again for as long before it is over, so that what comes and goes tells
    nobody every minute.
    """

    kind: AlertKind
    is_on: bool
    threshold: int | None
    hold_s: int


DEFAULTS: Final = (
    AlertRule(AlertKind.CARRIER_DOWN, is_on=True, threshold=None, hold_s=60),
    AlertRule(AlertKind.BACKLOG, is_on=True, threshold=300, hold_s=60),
    AlertRule(AlertKind.DELIVERY_RATE, is_on=True, threshold=60, hold_s=300),
    AlertRule(AlertKind.WALLET_LOW, is_on=True, threshold=None, hold_s=60),
    AlertRule(AlertKind.DISK, is_on=True, threshold=2_048, hold_s=60),
    AlertRule(AlertKind.WEBHOOK_FAILING, is_on=True, threshold=60, hold_s=60),
)


def all_rules(tx: Connection) -> list[AlertRule]:
    """Returns the rule of each kind, in a fixed order."""
    changed = {
        row.kind: AlertRule(AlertKind(row.kind), row.is_on, row.threshold, row.hold_s)
        for row in tx.execute(sa.select(alert_rules))
    }
    return [changed.get(rule.kind, rule) for rule in DEFAULTS]


def locked_rules(tx: Connection) -> list[AlertRule]:
    """Returns the rule of each kind, and lets nobody else change one until the transaction ends."""
    lock_table(tx, alert_rules)
    return all_rules(tx)


def rule_of(tx: Connection, kind: AlertKind) -> AlertRule:
    """Returns the rule of a kind."""
    return next(rule for rule in all_rules(tx) if rule.kind == kind)


def change_rule(
    tx: Connection,
    kind: AlertKind,
    *,
    is_on: bool | None = None,
    threshold: int | None = None,
    hold_s: int | None = None,
) -> AlertRule:
    """Changes what is given of a rule, and returns all of it. Whoever changes another part of it at
    the same time waits, so neither change is lost. Raises InvalidRequest, as `set_rule` does.
    """
    lock_table(tx, alert_rules)
    before = rule_of(tx, kind)
    after = before._replace(
        is_on=before.is_on if is_on is None else is_on,
        threshold=before.threshold if threshold is None else threshold,
        hold_s=before.hold_s if hold_s is None else hold_s,
    )
    set_rule(tx, after)
    return after


def refused_number(number: int | None) -> str:
    """Returns what is said of a number that is refused. One below 0 stands for a text of a form
    that is not a number, so it is not repeated.
    """
    return "" if number is None or number < 0 else f", not {number}"


def set_rule(tx: Connection, rule: AlertRule) -> None:
    """Stores a rule in place of the one of its kind. Raises InvalidRequest, whose fields are
    `threshold` and `hold_s`.
    """
    allowed = THRESHOLDS.get(rule.kind)
    if allowed is None and rule.threshold is not None:
        raise invalid_field("threshold", f"must not be given: {rule.kind} has none")
    if allowed is not None and not (
        rule.threshold is not None and allowed.least <= rule.threshold <= allowed.most
    ):
        span = f"{allowed.least} to {allowed.most} {allowed.unit}"
        raise invalid_field(
            "threshold", f"must be a whole number, {span}{refused_number(rule.threshold)}"
        )
    if not 0 <= rule.hold_s <= HOLD_S_MAX:
        allowed_s = f"0 to {HOLD_S_MAX} s{refused_number(rule.hold_s)}"
        raise invalid_field("hold_s", f"must be a whole number, {allowed_s}")
    upsert(tx, alert_rules, {**rule._asdict(), "kind": rule.kind.value})
