"""A campaign is written down, scheduled or launched, sent, and over."""

from collections.abc import Sequence
from typing import Final

from heliograph.base.errors import Conflict
from heliograph.database.transitions import Transitions
from heliograph.messages.groups import ACCOUNT_SUSPENDED as ACCOUNT_SUSPENDED
from heliograph.messages.groups import DAILY_CAP_REACHED as DAILY_CAP_REACHED
from heliograph.messages.groups import INSUFFICIENT_CREDITS as INSUFFICIENT_CREDITS
from heliograph.messages.groups import SENDER_NOT_APPROVED as SENDER_NOT_APPROVED

DRAFT: Final = "draft"
SCHEDULED: Final = "scheduled"
SENDING: Final = "sending"
PAUSED: Final = "paused"
COMPLETED: Final = "completed"
CANCELED: Final = "canceled"
FAILED: Final = "failed"

CAMPAIGN: Final = Transitions(
    meanings={
        DRAFT: "it is created, and nothing of it is sent",
        SCHEDULED: "it starts by itself when its time has come",
        SENDING: "its messages are queued, chunk by chunk",
        PAUSED: "it goes on when it is resumed, or when the cause in `status_reason` is over",
        COMPLETED: "none of its messages is queued any more",
        CANCELED: "its queued messages have failed and were refunded",
        FAILED: "its time came, and it could not start; `status_reason` says why",
    },
    begins={DRAFT: "campaign create"},
    moves={
        DRAFT: {
            SCHEDULED: "campaign schedule",
            SENDING: "campaign launch",
            CANCELED: "campaign cancel, or its recipients are erased because nobody launched it",
        },
        SCHEDULED: {
            # whether it was started then, the copy does not know
            DRAFT: "restore-check, if its time is over in a restored copy",
            SCHEDULED: "campaign schedule, another time",
            SENDING: "its time has come, or campaign launch",
            CANCELED: "campaign cancel",
            FAILED: "its time has come, and it cannot be sent",
        },
        SENDING: {
            PAUSED: (
                "campaign pause, restore-check, credits spent, daily cap, sender not approved, or"
                " account suspended"
            ),
            COMPLETED: "no message is queued any more",
            CANCELED: "campaign cancel",
        },
        PAUSED: {
            SENDING: "campaign resume, a top-up, or the next day",
            COMPLETED: "no message is queued any more",
            CANCELED: "campaign cancel, or its recipients are erased because nobody resumed it",
        },
    },
    ends={
        DRAFT: (
            "campaign create, if its file cannot be read or stored to the end, or nobody in it can"
            " be sent to"
        ),
    },
    notes=("[Campaigns](campaigns.md) explains how a campaign is made and sent.",),
)
STARTABLE: Final = (DRAFT, SCHEDULED)  # its audience is yet to be frozen

# why a campaign is paused, has failed or was canceled: `status_reason`; or what a chunk was stopped
# by, in the words of `messages`
PAUSED_BY_OPERATOR: Final = "paused_by_operator"
NO_RECIPIENTS: Final = "no_recipients"
# nobody launched or resumed it for as long as texts are kept
RECIPIENTS_ERASED: Final = "recipients_erased"


class WrongState(Conflict):
    """The campaign is not in a state in which that can be done."""

    reason = "wrong_state"


def wrong_state(status: str, to: str) -> WrongState:
    """Returns why a campaign that is `status` cannot become `to`."""
    return _refusal(status, CAMPAIGN.sources(to), f"become {to}")


def require_one_of(status: str, allowed: Sequence[str], what: str) -> None:
    """Raises WrongState unless a campaign's `status` is among those in which that can be done."""
    if status not in allowed:
        raise _refusal(status, allowed, what)


def _refusal(status: str, allowed: Sequence[str], what: str) -> WrongState:
    *others, last = allowed
    named = f"{', '.join(others)} or {last}" if others else last
    return WrongState(f"This campaign is {status}; only one that is {named} can {what}.")
