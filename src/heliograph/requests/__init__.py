"""Describes requests as endpoints see them: the call, the answer, and what is stored of the
Idempotency-Key.
"""

from heliograph.requests.acting_account import acting_for_call, read_at_home, refuse_used_key_of
from heliograph.requests.endpoint import Answer, Call, Endpoint, Handler, InThread, idempotency_key
from heliograph.requests.idempotency import replay_or_run
from heliograph.requests.stored_keys import (
    INSERT_KEYS,
    KEPT,
    KeyPlace,
    StoredKey,
    UsedKeys,
    find_keys,
    sha256_of_body,
)

__all__ = [
    "INSERT_KEYS",
    "KEPT",
    "Answer",
    "Call",
    "Endpoint",
    "Handler",
    "InThread",
    "KeyPlace",
    "StoredKey",
    "UsedKeys",
    "acting_for_call",
    "find_keys",
    "idempotency_key",
    "read_at_home",
    "refuse_used_key_of",
    "replay_or_run",
    "sha256_of_body",
]
