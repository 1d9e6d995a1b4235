"""A campaign's life: written down, scheduled or launched, sent, and over."""

from collections.abc import Sequence
from typing import Final

from heliograph.base.errors import Conflict
from heliograph.messages import ACCOUNT_SUSPENDED as ACCOUNT_SUSPENDED
from heliograph.messages import DAILY_CAP_REACHED as DAILY_CAP_REACHED
from heliograph.messages import INSUFFICIENT_CREDITS as INSUFFICIENT_CREDITS
from heliograph.messages import SENDER_NOT_APPROVED as SENDER_NOT_APPROVED

DRAFT: Final = "draft"
SCHEDULED: Final = "scheduled"
SENDING: Final = "sending"
PAUSED: Final = "paused"
COMPLETED: Final = "completed"
CANCELED: Final = "canceled"
FAILED: Final = "failed"

# state → the states it may be reached from
REACHED_FROM: Final[dict[str, tuple[str, ...]]] = {
    # in a restored copy, when its time is over: whether it was started then, the copy does not know
    DRAFT: (SCHEDULED,),
    SCHEDULED: (DRAFT, SCHEDULED),  # a time may be moved
    SENDING: (DRAFT, SCHEDULED, PAUSED),
    PAUSED: (SENDING,),
    COMPLETED: (SENDING, PAUSED),
    CANCELED: (DRAFT, SCHEDULED, SENDING, PAUSED),
    FAILED: (SCHEDULED,),  # its time came, and it could not start
}
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


def require(status: str, to: str) -> None:
    """Raises WrongState unless a campaign that is `status` may become `to`."""
    require_one_of(status, REACHED_FROM[to], f"become {to}")


def require_one_of(status: str, allowed: Sequence[str], what: str) -> None:
    """Raises WrongState unless a campaign's `status` is among those in which that can be done."""
    if status not in allowed:
        *others, last = allowed
        named = f"{', '.join(others)} or {last}" if others else last
        raise WrongState(f"This campaign is {status}; only one that is {named} can {what}.")
