"""What is kept of requests: their idempotency keys."""

from heliograph.requests.acting import acting_for_call, read_at_home, refuse_used_key_of
from heliograph.requests.asked import AskedKey
from heliograph.requests.idempotency import (
    KEPT,
    KEPT_MS,
    InProgress,
    refuse_used_key,
    replay_or_run,
)

__all__ = [
    "KEPT",
    "KEPT_MS",
    "AskedKey",
    "InProgress",
    "acting_for_call",
    "read_at_home",
    "refuse_used_key",
    "refuse_used_key_of",
    "replay_or_run",
]
