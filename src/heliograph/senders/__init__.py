"""This room knows sender IDs: what a text may claim to come from, registered by accounts and
approved by the operator.
"""

from heliograph.senders.api import endpoints
from heliograph.senders.history import Step, as_step_record, history
from heliograph.senders.look_alikes import look_alikes, skeleton
from heliograph.senders.register import approve, register, reject, suspend
from heliograph.senders.reserved import Reserved, release, reserve, reserved, why_reserved
from heliograph.senders.rules import SANDBOX, check, folded
from heliograph.senders.sender import (
    Sender,
    approved_senders,
    as_record,
    by_id,
    default_senders,
    find,
    named,
    page,
    text_id,
    usable,
)
from heliograph.senders.states import STATUSES

__all__ = [
    "SANDBOX",
    "STATUSES",
    "Reserved",
    "Sender",
    "Step",
    "approve",
    "approved_senders",
    "as_record",
    "as_step_record",
    "by_id",
    "check",
    "default_senders",
    "endpoints",
    "find",
    "folded",
    "history",
    "look_alikes",
    "named",
    "page",
    "register",
    "reject",
    "release",
    "reserve",
    "reserved",
    "skeleton",
    "suspend",
    "text_id",
    "usable",
    "why_reserved",
]
