"""Tenants: who they are, what the operator lets them do, and who is whose customer."""

from heliograph.accounts.account import (
    CLOSED,
    CUSTOMER_PREFIX,
    Account,
    AccountClosed,
    by_id,
    find,
    kept_open,
    locked,
    named,
    page,
    require_open,
    text_id,
    text_of_id,
)
from heliograph.accounts.history import StatusChange, last_status, record_status
from heliograph.accounts.key_count import NO_BOUND, KeyCount, key_octets, keys_quotas, quota_told
from heliograph.accounts.lifecycle import NAME_MAX, AccountSettings, account_name, change, close, create, rename, resume, suspend
from heliograph.accounts.notices import Notice, notices_of, notify
from heliograph.accounts.quotas import (
    KEPT,
    MEASURES,
    StorageQuotaReached,
    Stored,
    charge,
    counted_with,
    octets_of,
    quotas_of,
    refusal_of,
    reset_quotas,
    set_quotas,
    used_today,
)

__all__ = [
    "CLOSED", "CUSTOMER_PREFIX", "KEPT", "MEASURES", "NAME_MAX", "NO_BOUND", "Account", "AccountClosed", "AccountSettings", "KeyCount",
    "Notice", "StatusChange", "StorageQuotaReached", "Stored", "account_name", "by_id", "change", "charge", "close", "counted_with",
    "create", "find", "kept_open", "key_octets", "keys_quotas", "last_status", "locked", "named", "notices_of", "notify", "octets_of",
    "page", "quota_told", "quotas_of", "record_status", "refusal_of", "rename", "require_open", "reset_quotas", "resume", "set_quotas",
    "suspend", "text_id", "text_of_id", "used_today",
]  # fmt: skip
