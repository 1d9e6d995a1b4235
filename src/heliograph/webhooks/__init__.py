"""This room tells events to customers' own servers. They are written with the change, signed,
delivered at least once, and sent only to the outside.
"""

from heliograph.webhooks.events import (
    EVENT_PREFIX,
    Event,
    Listeners,
    emit,
    emit_rows,
    listeners,
    listeners_of,
    rows_of,
    tell_listeners,
)
from heliograph.webhooks.tables import KEPT, KINDS, LOW_BALANCE

__all__ = [
    "EVENT_PREFIX",
    "KEPT",
    "KINDS",
    "LOW_BALANCE",
    "Event",
    "Listeners",
    "emit",
    "emit_rows",
    "listeners",
    "listeners_of",
    "rows_of",
    "tell_listeners",
]
