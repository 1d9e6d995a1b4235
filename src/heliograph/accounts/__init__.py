"""Looks after tenants: who they are, what the operator lets them do, and which of them are
customers of which.
"""

from typing import Final

from heliograph.accounts.account import (
    CUSTOMER_PREFIX,
    Account,
    AccountClosed,
    by_id,
    by_ids,
    customer_of,
    find,
    is_active,
    keep_open,
    lock,
    page,
    require_mode,
    require_open,
    search_by_name,
    text_id,
    text_of_id,
    waiting_to_go_live,
    with_name,
    with_text_id,
)
from heliograph.accounts.audit_log import AUDIT_KEPT
from heliograph.accounts.lifecycle import (
    DAILY_CREDITS,
    change,
    close,
    create,
    go_live,
    rename,
    resume,
    suspend,
)
from heliograph.accounts.owner_settings import read_owner_settings
from heliograph.accounts.quotas import STORAGE_KEPT

KEPT: Final = (*STORAGE_KEPT, *AUDIT_KEPT)

__all__ = [
    "CUSTOMER_PREFIX",
    "DAILY_CREDITS",
    "KEPT",
    "Account",
    "AccountClosed",
    "account_fields",
    "audit_log",
    "by_id",
    "by_ids",
    "change",
    "close",
    "create",
    "customer_of",
    "customers",
    "find",
    "go_live",
    "is_active",
    "keep_open",
    "lock",
    "notices",
    "page",
    "quota_sizes",
    "quotas",
    "read_owner_settings",
    "rename",
    "require_mode",
    "require_open",
    "resume",
    "search_by_name",
    "states",
    "status_history",
    "storage_of_keys",
    "storage_of_sends",
    "suspend",
    "text_id",
    "text_of_id",
    "unique_name",
    "waiting_to_go_live",
    "with_name",
    "with_text_id",
]
