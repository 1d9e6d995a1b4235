"""Defines the states of a webhook endpoint, and of the delivery of one event to it.

A delivery that waits is a row of `webhook_queue`; what became of it is a row of
`webhook_deliveries`. So it leaves the state `waiting` by the deletion of its row in the queue:
whoever finds none has lost a race, and records nothing. An endpoint has no column for its state: it
is disabled while it says since when.
"""

from typing import Final

from heliograph.database.transitions import Transitions

WAITING: Final = "waiting"
DELIVERED: Final = "delivered"
EXHAUSTED: Final = "exhausted"
MISSED: Final = "missed"

_REPLAY: Final = "webhook replay"
_FORGOTTEN: Final = "its endpoint is deleted"
DELIVERY: Final = Transitions(
    meanings={
        WAITING: "it waits for its next try",
        DELIVERED: "the receiver has answered 2xx",
        EXHAUSTED: "every try has failed",
        MISSED: "its endpoint was disabled",
    },
    begins={
        WAITING: "an event that the endpoint listens to",
        MISSED: "the same, while the endpoint is disabled",
    },
    moves={
        WAITING: {
            WAITING: "a try has failed and there is another one, or webhook replay",
            DELIVERED: "a try has succeeded",
            EXHAUSTED: "the last try has failed",
            MISSED: "the endpoint is disabled",
        },
        DELIVERED: {WAITING: _REPLAY},
        EXHAUSTED: {WAITING: _REPLAY},
        MISSED: {WAITING: _REPLAY},
    },
    ends={
        WAITING: f"{_FORGOTTEN}, or its event is deleted first",
        DELIVERED: f"after 30 days at most, or {_FORGOTTEN}",
        EXHAUSTED: f"after 30 days at most, or {_FORGOTTEN}",
        MISSED: f"after 30 days at most, or {_FORGOTTEN}",
    },
    column="outcome",
    notes=(
        "A delivery is one event for one endpoint. While it waits, it is a row of `webhook_queue`."
        " Afterwards it is a row of `webhook_deliveries`, and its outcome says what became of it.",
    ),
)

ENABLED: Final = "enabled"
DISABLED: Final = "disabled"
# why an endpoint is disabled: gone is status 410, failing nothing else for five days
OPERATOR: Final = "operator"
GONE: Final = "gone"
FAILING: Final = "failing"
REASONS: Final = (OPERATOR, GONE, FAILING)

ENDPOINT: Final = Transitions(
    meanings={
        ENABLED: "events are posted to it",
        DISABLED: "nothing is posted to it; `disabled_reason` says why",
    },
    begins={ENABLED: "webhook add, or heliograph listen"},
    moves={
        ENABLED: {
            ENABLED: "webhook enable, again, which forgets its failures so far",
            DISABLED: (
                "webhook disable, webhook remove, 410 Gone, nothing but failures for five days, or"
                " account close"
            ),
        },
        DISABLED: {ENABLED: "webhook enable"},
    },
    ends={ENABLED: "heliograph listen has ended", DISABLED: "a minute after webhook remove"},
    conditions={
        ENABLED: "{of}disabled_at_ms IS NULL",
        DISABLED: "{of}disabled_at_ms IS NOT NULL",
    },
)
