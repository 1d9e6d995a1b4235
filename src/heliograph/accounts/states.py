"""An account is active, is suspended by the operator, and is closed for good.

A closed account has no status of its own: it is suspended, and says since when it is closed. The
CHECK of a table cannot be widened beside processes that use it.
"""

from typing import Final

from heliograph.database.transitions import Transitions

ACTIVE: Final = "active"
SUSPENDED: Final = "suspended"
CLOSED: Final = "closed"  # in what operators are shown, and in the account's history

ACCOUNT: Final = Transitions(
    meanings={
        ACTIVE: "it may do whatever its keys permit",
        SUSPENDED: "it and its customers may read, and change nothing",
        CLOSED: "nothing of it can be changed any more",
    },
    begins={ACTIVE: "account create, or POST /connect/customers"},
    moves={
        ACTIVE: {
            ACTIVE: "account resume, again",
            SUSPENDED: "account suspend",
            CLOSED: "account close",
        },
        SUSPENDED: {
            ACTIVE: "account resume",
            SUSPENDED: "account suspend, again",
            CLOSED: "account close",
        },
    },
    conditions={
        ACTIVE: f"{{of}}status = '{ACTIVE}'",
        SUSPENDED: f"{{of}}status = '{SUSPENDED}' AND {{of}}closed_at_ms IS NULL",
        CLOSED: "{of}closed_at_ms IS NOT NULL",
    },
)
