"""Sends and verifies one-time passwords, and protects them from guessing and from pumping."""

from heliograph.otp.erase import ERASED_AFTER_MS, SEALED, Eraser
from heliograph.otp.range_guard import (
    RANGE_DIGITS,
    SENDS_MAX,
    BlockedRange,
    block,
    count_blocked,
    find_blocked,
    unblock,
)
from heliograph.otp.sealed_text import text_sealer
from heliograph.otp.tables import ALL_COUNTRIES, KEPT
from heliograph.otp.tallies import CappedTally, count_capped, find_capped, lift_cap

__all__ = [
    "ALL_COUNTRIES",
    "ERASED_AFTER_MS",
    "KEPT",
    "RANGE_DIGITS",
    "SEALED",
    "SENDS_MAX",
    "BlockedRange",
    "CappedTally",
    "Eraser",
    "api",
    "block",
    "code",
    "count_blocked",
    "count_capped",
    "find_blocked",
    "find_capped",
    "issue",
    "lift_cap",
    "limits",
    "request",
    "text_sealer",
    "unblock",
    "unverified_allowance",
]
