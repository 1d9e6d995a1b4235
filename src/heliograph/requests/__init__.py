"""Describes requests as endpoints see them: the call, the answer, and what is stored of the
Idempotency-Key; and as clients write them, in several languages.
"""

from typing import Final

from heliograph.requests.acting_account import (
    acting_for_call,
    read_with_home_country,
    refuse_used_key_of,
)
from heliograph.requests.audited_call import audit_call
from heliograph.requests.code_samples import CodeSample, code_samples
from heliograph.requests.endpoint import (
    ApiResponse,
    Call,
    Endpoint,
    Handler,
    InThread,
    idempotency_key,
)
from heliograph.requests.idempotency import replay_or_run, run_once
from heliograph.requests.request_log import (
    LOG_EVERY_S,
    REQUESTS_KEPT,
    LoggedRequest,
    RequestEnd,
    RequestFilter,
    RequestLog,
    end_of,
    raw_request_id,
    requests_page,
    store_requests,
    text_id,
)
from heliograph.requests.stored_keys import (
    INSERT_KEYS,
    KEYS_KEPT,
    ScopedKey,
    StoredKey,
    UsedKeys,
    find_keys,
    free_key,
    sha256_of_body,
)

KEPT: Final = (*KEYS_KEPT, *REQUESTS_KEPT)

__all__ = [
    "INSERT_KEYS",
    "KEPT",
    "LOG_EVERY_S",
    "ApiResponse",
    "Call",
    "CodeSample",
    "Endpoint",
    "Handler",
    "InThread",
    "LoggedRequest",
    "RequestEnd",
    "RequestFilter",
    "RequestLog",
    "ScopedKey",
    "StoredKey",
    "UsedKeys",
    "acting_for_call",
    "audit_call",
    "code_samples",
    "end_of",
    "find_keys",
    "free_key",
    "idempotency_key",
    "raw_request_id",
    "read_with_home_country",
    "refuse_used_key_of",
    "replay_or_run",
    "requests_page",
    "run_once",
    "sha256_of_body",
    "store_requests",
    "text_id",
]
