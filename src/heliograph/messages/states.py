"""The life of a message (docs/api.md, "States of a message"): which states there are, and what
leads from one to the next.

    queued ──▶ sent ──▶ delivered
       │         └────▶ failed
       └──────────────▶ failed

`submitting` and `in_doubt` are states of its segments on the wire (`inflight`); outside both are
`queued`. A terminal state sticks: late, repeated or contradicting receipts change nothing.
"""

from typing import Final

from heliograph.carriers import ReceiptState

QUEUED, SENT, DELIVERED, FAILED = "queued", "sent", "delivered", "failed"

NEXT: Final[dict[str, frozenset[str]]] = {
    # delivered at once when the receipt came before the answer
    QUEUED: frozenset({SENT, DELIVERED, FAILED}),
    SENT: frozenset({DELIVERED, FAILED}),
    DELIVERED: frozenset(),
    FAILED: frozenset(),
}

# What a final receipt makes of a message (docs/api.md, "Why a message failed"); ACCEPTD and ENROUTE
# change nothing.
FAILED_BY_RECEIPT: Final[dict[ReceiptState, str]] = {
    ReceiptState.UNDELIV: "undeliverable",
    ReceiptState.DELETED: "undeliverable",
    ReceiptState.FAILED: "undeliverable",
    ReceiptState.EXPIRED: "expired",
    ReceiptState.REJECTD: "rejected",
    ReceiptState.UNKNOWN: "unknown",
}
FINAL_RECEIPTS: Final = frozenset(FAILED_BY_RECEIPT) | {ReceiptState.DELIVRD}

ERROR_MESSAGES: Final[dict[str, str]] = {
    "carrier_rejected": "The carrier refused the message.",
    "undeliverable": "The message could not be delivered to the handset.",
    "expired": "The message was not delivered within its validity.",
    "rejected": "The network rejected the message.",
    "unknown": "What became of the message is not known.",
    "canceled": "The message was canceled.",
    "blocked": "The recipient has opted out.",
    "no_route": "No carrier serves this destination any more.",
}


def all_parts(segments: int) -> int:
    """The bits of all segments of a message."""
    return (1 << segments) - 1
