"""Defines the states of a rate sheet: it is uploaded, then planned, then applied once."""

from typing import Final

from heliograph.base.clock import DAY_MS
from heliograph.database.transitions import Transitions

UPLOADED: Final = "uploaded"
PLANNED: Final = "planned"
APPLIED: Final = "applied"
WITHDRAWN: Final = "withdrawn"

SHEETS_KEPT_MS: Final = 400 * DAY_MS  # as long as the audit logs, which tell of them
_PRUNED: Final = f"{SHEETS_KEPT_MS // DAY_MS} days after it was uploaded"
SHEET: Final = Transitions(
    meanings={
        UPLOADED: "it was uploaded, and nobody has said yet that it holds",
        PLANNED: "it will be applied at its time",
        APPLIED: "its rates were set",
        WITHDRAWN: "an operator took it back before its time",
    },
    begins={UPLOADED: "an operator uploaded it"},
    moves={
        UPLOADED: {PLANNED: "given a time", WITHDRAWN: "withdrawn"},
        PLANNED: {APPLIED: "its time came", WITHDRAWN: "withdrawn"},
    },
    ends={UPLOADED: _PRUNED, PLANNED: _PRUNED, APPLIED: _PRUNED, WITHDRAWN: _PRUNED},
)
