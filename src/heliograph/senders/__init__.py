"""Sender IDs: what a text may claim to come from, registered by accounts and approved by the operator."""

from heliograph.senders.api import endpoints
from heliograph.senders.register import approve, register, reject, suspend
from heliograph.senders.rules import SANDBOX, check, folded
from heliograph.senders.sender import Sender, approved_senders, as_record, by_id, default_sender, find, page, text_id, usable
from heliograph.senders.states import STATUSES

__all__ = [
    "SANDBOX", "STATUSES", "Sender", "approve", "approved_senders", "as_record", "by_id", "check", "default_sender", "endpoints", "find", "folded",
    "page", "register", "reject", "suspend", "text_id", "usable",
]  # fmt: skip
