"""Combines the faults that hit a submission into one plan of what becomes of it."""

from dataclasses import dataclass
from functools import lru_cache
from typing import Any, Final

from heliograph.carriers.link import ReceiptState
from heliograph.carriers.smsc.chaos import DIALECTS, Act

PLANS_KEPT_MAX: Final = 1_024  # few kinds are on at once, so few combinations come up
# SMPP 3.4, 5.1.3
_STATUSES: Final = {
    "throttle": 0x58,
    "queue-full": 0x14,
    "wrong-password": 0x0E,
    "already-bound": 0x05,
}

_NAMES: Final = {
    "refuse": "status",
    "delay": "answer_delay_s",
    "malformed": "malformed",
    "late": "late_s",
    "duplicate": "copies",
    "fail": "state",
    "contradict": "contradiction",
}


@dataclass(frozen=True, slots=True)
class SubmissionPlan:
    """Says what becomes of a submission. For a bind, only `status` counts. Without faults, the
    submission gets an answer and then a receipt.
    """

    status: int = 0  # of the answer; 0: what the recipient's ending says
    answer_delay_s: float = 0.0
    ends: str = ""  # "drop", "half-open"
    malformed: str = ""  # one of chaos.MALFORMED
    is_early: bool = False
    late_s: float = 0.0
    copies: int = 1
    state: ReceiptState | None = None  # of the receipt; None: what the recipient's ending says
    contradiction: ReceiptState | None = None
    dialect: frozenset[str] = frozenset()


@lru_cache(PLANS_KEPT_MAX)
def plan_of(acts: tuple[Act, ...]) -> SubmissionPlan:
    """Returns the plan of these acts. Of two acts that exclude each other, the first counts."""
    given: dict[str, Any] = {}
    for kind, argument in acts:
        if kind in _STATUSES:
            given.setdefault("status", _STATUSES[kind])
        elif kind in ("drop", "half-open"):
            given.setdefault("ends", kind)
        elif kind == "early":
            given["is_early"] = True
        elif kind in _NAMES:
            given.setdefault(_NAMES[kind], argument)
    return SubmissionPlan(dialect=frozenset(kind for kind, _ in acts if kind in DIALECTS), **given)
