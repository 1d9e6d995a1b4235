"""Keeps who wants no texts of an account, or of one of its senders. It outlives contacts."""

from heliograph.opt_outs.read import is_suppressed, suppressed_among
from heliograph.opt_outs.suppress import lift, suppress
from heliograph.opt_outs.suppression import WHOLE_ACCOUNT, OptOutOwner, scope_of_sender
from heliograph.opt_outs.tables import SUPPRESSED_SENDER_MAX, OptOutSource

__all__ = [
    "SUPPRESSED_SENDER_MAX",
    "WHOLE_ACCOUNT",
    "OptOutOwner",
    "OptOutSource",
    "api",
    "is_suppressed",
    "lift",
    "scope_of_sender",
    "suppress",
    "suppressed_among",
]
