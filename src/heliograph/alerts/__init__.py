"""Tells those who run the service what is wrong: once when it begins, and once when it is over."""

from heliograph.alerts.check_rules import TEST, find_breaches, queue_notification, store_found
from heliograph.alerts.past_alerts import (
    AlertNotification,
    KnownAlert,
    ended_alerts,
    last_notifications,
    open_alerts,
    still_wrong,
)
from heliograph.alerts.recipients import (
    RECIPIENT_PREFIX,
    SEALED,
    AlertRecipient,
    add_recipient,
    all_recipients,
    recipient_of,
    remove_recipient,
    secret_of,
)
from heliograph.alerts.rules import (
    THRESHOLDS,
    AlertKind,
    AlertRule,
    all_rules,
    change_rule,
    locked_rules,
    set_rule,
)
from heliograph.alerts.tables import KEPT
from heliograph.alerts.watched_wallets import (
    WatchedWallet,
    all_watched,
    locked_watched,
    unwatch_wallet,
    watch_wallet,
)

__all__ = [
    "KEPT",
    "RECIPIENT_PREFIX",
    "SEALED",
    "TEST",
    "THRESHOLDS",
    "AlertKind",
    "AlertNotification",
    "AlertRecipient",
    "AlertRule",
    "KnownAlert",
    "WatchedWallet",
    "add_recipient",
    "all_recipients",
    "all_rules",
    "all_watched",
    "change_rule",
    "ended_alerts",
    "find_breaches",
    "last_notifications",
    "locked_rules",
    "locked_watched",
    "open_alerts",
    "queue_notification",
    "recipient_of",
    "remove_recipient",
    "secret_of",
    "send_notifications",
    "set_rule",
    "still_wrong",
    "store_found",
    "unwatch_wallet",
    "watch_wallet",
]
