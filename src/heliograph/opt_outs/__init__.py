"""Keeps who wants no texts of an account, or of one of its senders. It outlives contacts."""

from heliograph.opt_outs.suppress import lift_hot, suppress_hot
from heliograph.opt_outs.suppression import (
    WHOLE_ACCOUNT,
    OptOutOwner,
    OptOutScope,
    scope_of_sender,
)
from heliograph.opt_outs.tables import OptOutSource

__all__ = [
    "WHOLE_ACCOUNT",
    "OptOutOwner",
    "OptOutScope",
    "OptOutSource",
    "lift_hot",
    "scope_of_sender",
    "suppress_hot",
]
