"""Proves from stored data that no message is lost, sent twice without a reason, or charged
wrongly.
"""

from heliograph.audit.audit import Audit, audit
from heliograph.audit.charges import verify_charges
from heliograph.audit.events import events_size, verify_events
from heliograph.audit.rollups import verify_rollups
from heliograph.audit.smsc_log import NotALog, SmscLog, read_logs
from heliograph.audit.tallies import verify_tallies

__all__ = [
    "Audit",
    "NotALog",
    "SmscLog",
    "audit",
    "events_size",
    "read_logs",
    "verify_charges",
    "verify_events",
    "verify_rollups",
    "verify_tallies",
]
