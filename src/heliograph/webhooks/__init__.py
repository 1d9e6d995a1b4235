"""Delivers events to customers' own servers. Events are written in the transaction of the change,
signed, delivered at least once, and sent only to public addresses.
"""

from heliograph.webhooks.events import (
    EVENT_PREFIX,
    Event,
    Listeners,
    emit,
    emit_rows,
    emit_to_listeners,
    load_listeners,
    parse_listeners,
    rows_of,
)
from heliograph.webhooks.tables import (
    CONTACT_OPTED_IN,
    CONTACT_OPTED_OUT,
    KEPT,
    LOW_BALANCE,
    MESSAGE_RECEIVED,
)

__all__ = [
    "CONTACT_OPTED_IN",
    "CONTACT_OPTED_OUT",
    "EVENT_PREFIX",
    "KEPT",
    "LOW_BALANCE",
    "MESSAGE_RECEIVED",
    "Event",
    "Listeners",
    "backlogs",
    "deliver",
    "emit",
    "emit_rows",
    "emit_to_listeners",
    "endpoints",
    "forget_endpoint",
    "history",
    "http",
    "load_listeners",
    "parse_listeners",
    "record_attempts",
    "replay",
    "rows_of",
    "sample_event",
    "sign",
    "signature_checks",
    "states",
]
