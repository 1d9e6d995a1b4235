"""Keeps who wants no texts of an account, or of one of its senders. It outlives contacts."""

from heliograph.opt_outs.read import is_suppressed, suppressed_among
from heliograph.opt_outs.suppress import lift, lift_hot, suppress, suppress_hot
from heliograph.opt_outs.suppression import (
    WHOLE_ACCOUNT,
    OptOutOwner,
    OptOutScope,
    scope_of_sender,
)
from heliograph.opt_outs.tables import SUPPRESSED_SENDER_MAX, OptOutSource

__all__ = [
    "SUPPRESSED_SENDER_MAX",
    "WHOLE_ACCOUNT",
    "OptOutOwner",
    "OptOutScope",
    "OptOutSource",
    "api",
    "is_suppressed",
    "lift",
    "lift_hot",
    "scope_of_sender",
    "suppress",
    "suppress_hot",
    "suppressed_among",
]
