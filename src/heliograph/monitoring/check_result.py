"""Holds what was found of one thing that was looked at."""

from typing import Literal, NamedTuple

Verdict = Literal["ok", "warning", "failure"]


class CheckResult(NamedTuple):
    """Tells of one thing that was looked at. `remedy` says what to do when it is not ok."""

    check: str
    verdict: Verdict
    found: str
    remedy: str | None = None
