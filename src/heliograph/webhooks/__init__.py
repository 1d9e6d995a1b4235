"""Events told to customers' own servers: written with the change, signed, delivered at least once, and only to the outside."""

from heliograph.webhooks.events import EVENT_PREFIX, Event, Listeners, emit, emit_now, listeners, listeners_now
from heliograph.webhooks.tables import KEPT, KINDS, LOW_BALANCE

__all__ = ["EVENT_PREFIX", "KEPT", "KINDS", "LOW_BALANCE", "Event", "Listeners", "emit", "emit_now", "listeners", "listeners_now"]
