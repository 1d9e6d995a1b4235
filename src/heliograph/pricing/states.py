"""Defines the states of a rate sheet: it is uploaded, then planned, then applied once."""

from typing import Final

from heliograph.database.transitions import Transitions

UPLOADED: Final = "uploaded"
PLANNED: Final = "planned"
APPLIED: Final = "applied"
WITHDRAWN: Final = "withdrawn"

_PRUNED: Final = "400 days after it was uploaded"
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
