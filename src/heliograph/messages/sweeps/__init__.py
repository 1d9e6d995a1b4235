"""Changes queued and submitted messages when no answer or receipt does: validity ends, doubts get
old, campaigns pause, and people opt out.
"""

from heliograph.messages.sweeps.accepted_during_opt_out import (
    cancel_accepted_meanwhile,
    wait_for_accepting,
)
from heliograph.messages.sweeps.cancel import (
    CancelableMessage,
    cancel_message,
    credits_back,
    find_queued,
)
from heliograph.messages.sweeps.opt_out import (
    UnwantedTexts,
    cancel_unwanted,
    fail_blocked,
)
from heliograph.messages.sweeps.pause import (
    fail_canceled,
    fail_queued,
    fail_queued_within,
    hold,
    release,
)
from heliograph.messages.sweeps.sweep import (
    fail_expired,
    fail_over,
    find_unreceipted,
    settle_doubts,
    take_over,
)
from heliograph.messages.sweeps.withdraw import withdraw

__all__ = [
    "CancelableMessage",
    "UnwantedTexts",
    "cancel_accepted_meanwhile",
    "cancel_message",
    "cancel_unwanted",
    "credits_back",
    "fail_blocked",
    "fail_canceled",
    "fail_expired",
    "fail_over",
    "fail_queued",
    "fail_queued_within",
    "find_queued",
    "find_unreceipted",
    "hold",
    "release",
    "restored",
    "settle_doubts",
    "take_over",
    "wait_for_accepting",
    "withdraw",
]
