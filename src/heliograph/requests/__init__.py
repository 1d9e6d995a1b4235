"""This room knows a request as endpoints see it: its call, its answer, and what is kept of its
Idempotency-Key.
"""

from heliograph.requests.acting_account import acting_for_call, read_at_home, refuse_used_key_of
from heliograph.requests.asked_key import AskedKey
from heliograph.requests.endpoint import (
    Answer,
    BlockingHandler,
    Call,
    Endpoint,
    Handler,
    InThread,
    idempotency_key,
)
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
    "Answer",
    "AskedKey",
    "BlockingHandler",
    "Call",
    "Endpoint",
    "Handler",
    "InProgress",
    "InThread",
    "acting_for_call",
    "idempotency_key",
    "read_at_home",
    "refuse_used_key",
    "refuse_used_key_of",
    "replay_or_run",
]
