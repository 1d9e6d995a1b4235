"""A one-time password goes through these states. Its row has no column for its state: it follows
from when it was verified and until when it is locked.

A code that is too old to be verified stays in the state in which it is: its age is read from when
it was sent (otp/limits.py).
"""

from typing import Final

from heliograph.base.clock import DAY_MS, HOUR_MS
from heliograph.database.transitions import Transitions

PENDING: Final = "pending"
LOCKED: Final = "locked"
VERIFIED: Final = "verified"

# an hour longer than anything of it counts: clocks of several machines differ
KEPT_MS: Final = DAY_MS + HOUR_MS
_PRUNED: Final = f"{KEPT_MS // HOUR_MS} hours after it was sent"
OTP: Final = Transitions(
    meanings={
        PENDING: "nobody has given its code back; it can be verified while it is valid",
        LOCKED: "too many wrong codes were given: it cannot be verified any more",
        VERIFIED: "its code was given back, once",
    },
    begins={PENDING: "POST /otp/send"},
    moves={
        PENDING: {
            PENDING: "a wrong code, which is counted",
            LOCKED: "the last wrong code that may be given",
            VERIFIED: "the right code",
        },
    },
    ends={PENDING: _PRUNED, LOCKED: _PRUNED, VERIFIED: _PRUNED},
    conditions={
        PENDING: "{of}verified_at_ms IS NULL AND {of}locked_until_ms IS NULL",
        LOCKED: "{of}verified_at_ms IS NULL AND {of}locked_until_ms IS NOT NULL",
        VERIFIED: "{of}verified_at_ms IS NOT NULL",
    },
    notes=(
        "The state is not stored. It follows from two times: when the code was verified, and until"
        " when it is locked. In sandbox no wrong code is counted.",
        "`otp/limits.py: judge_try` says which transition a code takes.",
    ),
)
