"""Defines readings, which a measurement gives, and the conditions that it is taken under."""

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any


@dataclass(frozen=True, slots=True)
class Reading:
    """A reading is one value of one figure. One with errors is no clean figure, and is reported as
    such.
    """

    figure: str  # its name in `bench.figures`
    value: float
    errors: Mapping[str, int] = field(default_factory=dict)  # what went wrong: how often
    detail: dict[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Conditions:
    """The conditions say how long and how much is measured, and where files may go."""

    folder: Path
    seconds: float  # of each load run
    warm_up_s: float
    limit_s: float  # of each raw limit
    fill_s: float  # how long the queue that is then drained is filled
    accounts: int = 1_000  # each with one key
    connections: int = 64
    bulk_connections: int = 4
    bulk_recipients: int = 10_000
    carrier_window: int = 100  # Kannel's max-pending-submits is the same


def together(*errors: Mapping[str, int]) -> dict[str, int]:
    """Returns all errors of several parts of one reading. What did not happen is left out."""
    total: Counter[str] = Counter()
    for part in errors:
        total.update(part)
    return {what: times for what, times in total.items() if times}


def errors_text(errors: Mapping[str, int]) -> str:
    """Returns a text such as `ERRORS: 12 x HTTP 503`."""
    return "ERRORS: " + ", ".join(f"{times:,} x {what}" for what, times in errors.items())
