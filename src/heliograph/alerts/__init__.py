"""Tells those who run the service what is wrong: once when it begins, and once when it is over."""

from heliograph.alerts.check_rules import TEST, find_breaches, queue_telling, store_found
from heliograph.alerts.past_alerts import (
    KnownAlert,
    Telling,
    ended_alerts,
    last_told,
    open_alerts,
    still_wrong,
)
from heliograph.alerts.recipients import (
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
    "SEALED",
    "TEST",
    "THRESHOLDS",
    "AlertKind",
    "AlertRecipient",
    "AlertRule",
    "KnownAlert",
    "Telling",
    "WatchedWallet",
    "add_recipient",
    "all_recipients",
    "all_rules",
    "all_watched",
    "change_rule",
    "ended_alerts",
    "find_breaches",
    "last_told",
    "locked_rules",
    "locked_watched",
    "open_alerts",
    "queue_telling",
    "recipient_of",
    "remove_recipient",
    "secret_of",
    "set_rule",
    "still_wrong",
    "store_found",
    "tell",
    "unwatch_wallet",
    "watch_wallet",
]
