"""This room knows a request as endpoints see it: its call, its answer, and what is kept of its
Idempotency-Key.
"""

from heliograph.requests.acting_account import acting_for_call, read_at_home, refuse_used_key_of
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
    InProgress,
    refuse_used_key,
    replay_or_run,
)
from heliograph.requests.stored_keys import (
    INSERT_KEYS,
    KEPT,
    KEPT_MS,
    KeyPlace,
    StoredKey,
    UsedKeys,
    find_keys,
    sha256_of_body,
)

__all__ = [
    "INSERT_KEYS",
    "KEPT",
    "KEPT_MS",
    "Answer",
    "BlockingHandler",
    "Call",
    "Endpoint",
    "Handler",
    "InProgress",
    "InThread",
    "KeyPlace",
    "StoredKey",
    "UsedKeys",
    "acting_for_call",
    "find_keys",
    "idempotency_key",
    "read_at_home",
    "refuse_used_key",
    "refuse_used_key_of",
    "replay_or_run",
    "sha256_of_body",
]
