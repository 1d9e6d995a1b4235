"""Defines the states of a message (docs/api.md, "States of a message") and of its segments in
flight, and what leads from one to the next.

While a segment is in flight, clients see its message as `queued`. A final state stays: late,
repeated or contradicting receipts change nothing.
"""

from collections.abc import Mapping
from typing import Final, NamedTuple

from heliograph.carriers import ReceiptState
from heliograph.database.transitions import Transitions

QUEUED: Final = "queued"
SENT: Final = "sent"
DELIVERED: Final = "delivered"
FAILED: Final = "failed"

MESSAGE: Final = Transitions(
    meanings={
        QUEUED: ("the message is accepted and charged; no carrier is known to have accepted it"),
        SENT: "a carrier has accepted all its segments",
        DELIVERED: "the receipts said DELIVRD for every segment that asks for one",
        FAILED: "`error.code` says why",
    },
    begins={QUEUED: "POST /sms/send, POST /otp/send, or a campaign"},
    moves={
        QUEUED: {
            SENT: "all segments accepted",
            DELIVERED: "all segments accepted, and their receipts came first",
            FAILED: (
                "refused, expired, canceled, in doubt until its validity ended, or one of several"
                " segments undeliverable"
            ),
        },
        SENT: {
            DELIVERED: "receipts say DELIVRD for all segments",
            FAILED: "a final receipt that is not DELIVRD",
        },
    },
    notes=(
        "A status never goes back. A receipt that comes later, comes again or says something else"
        " changes nothing.",
        "`messages/carrier/settle.py: move` follows these transitions.",
    ),
)

CLAIMED: Final = "claimed"
SUBMITTING: Final = "submitting"
IN_DOUBT: Final = "in_doubt"

# for how long a message may be tried
VALIDITY_S: Final = (60, 172_800)  # the shortest and the longest
VALIDITY_DEFAULT_S: Final = 86_400
# in doubt for so long without a receipt: bulk is sent once more (docs/api.md, "Doubt")
RESEND_AFTER_MS: Final = 120_000

SEGMENT: Final = Transitions(
    meanings={
        CLAIMED: (
            "taken from the queue, but the window has no room yet; happens to segments of a message"
            " that is larger than the window"
        ),
        SUBMITTING: "stored as handed to the carrier; its bytes leave after that commit",
        IN_DOUBT: (
            "written to the carrier, but no answer came in time, or before the connection broke or"
            " the process ended"
        ),
    },
    begins={
        SUBMITTING: "claimed with room in the window",
        CLAIMED: "claimed without room, or it cannot be encoded",
    },
    moves={
        CLAIMED: {SUBMITTING: "room in the window"},
        SUBMITTING: {IN_DOUBT: "no answer"},
    },
    ends={
        CLAIMED: "back to the queue, or refused because it cannot be encoded",
        SUBMITTING: "answered, or back to the queue because it was not written",
        IN_DOUBT: (
            "late answer, matching receipt, resent, an operator's decision, or end of validity"
        ),
    },
    column="state",
    notes=(
        "The table `inflight` has one row for each submit_sm that has no answer yet. Until all"
        " segments of a message are accepted, clients see it as `queued`.",
        "[Answers and receipts](answers.md#what-settles-a-segment-in-doubt) tells what settles a"
        " doubt.",
    ),
)

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


class FailureCode(NamedTuple):
    """Describes an `error.code` of failed messages. `cause` says what fails a message with this
    code besides receipts, which stand in FAILED_BY_RECEIPT. `keeps_back` says whether a message
    can fail with it that no carrier has accepted.
    """

    message: str
    cause: str = ""
    keeps_back: bool = True


FAILURE_CODES: Final[Mapping[str, FailureCode]] = {
    "carrier_rejected": FailureCode(
        "The carrier refused the message.",
        "the carrier refused it at submit, or a temporary fault lasted longer than the tries",
    ),
    "undeliverable": FailureCode(
        "The message could not be delivered to the handset.", keeps_back=False
    ),
    "expired": FailureCode(
        "The message was not delivered within its validity.",
        "it was still queued when its validity ended",
    ),
    "rejected": FailureCode("The network rejected the message.", keeps_back=False),
    "unknown": FailureCode(
        "What became of the message is not known.",
        "it was in doubt until its validity ended",
        keeps_back=False,
    ),
    "canceled": FailureCode(
        "The message was canceled.",
        "its campaign was canceled; or it was canceled while it was queued, alone or with all of"
        " its account (`message cancel`); or it was in doubt, and an operator decided that it is"
        " not to be sent again (`message settle --as canceled`)",
    ),
    "blocked": FailureCode(
        "The recipient has opted out.", "its recipient opted out while it was queued"
    ),
    "no_route": FailureCode(
        "No carrier serves this destination any more.", "not used in this version"
    ),
}
ERROR_MESSAGES: Final[dict[str, str]] = {code: each.message for code, each in FAILURE_CODES.items()}

KEPT_BACK: Final = tuple(code for code, each in FAILURE_CODES.items() if each.keeps_back)


def all_parts(segments: int) -> int:
    """Returns the bits of all segments of a message."""
    return (1 << segments) - 1
