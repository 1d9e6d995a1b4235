"""Defines the states of a sender ID: it is submitted, then decided by the operator, who may decide
anew later.
"""

from typing import Final

from heliograph.database.transitions import Transitions

SUBMITTED: Final = "submitted"
APPROVED: Final = "approved"
REJECTED: Final = "rejected"
SUSPENDED: Final = "suspended"

SENDER: Final = Transitions(
    meanings={
        SUBMITTED: "it waits for the operator's approval",
        APPROVED: "texts may come from it",
        REJECTED: "the operator refused it; the account sees the reason, and may register it again",
        SUSPENDED: "the approval is withdrawn; the account sees the reason",
    },
    begins={SUBMITTED: "registered", APPROVED: "registered in sandbox"},
    moves={
        SUBMITTED: {APPROVED: "sender approve", REJECTED: "sender reject"},
        APPROVED: {SUSPENDED: "sender suspend"},
        REJECTED: {SUBMITTED: "registered again", APPROVED: "sender approve"},
        SUSPENDED: {APPROVED: "sender approve"},
    },
)
STATUSES: Final = SENDER.states
