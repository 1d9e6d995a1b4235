"""Looks after tenants: who they are, what the operator lets them do, and who is whose customer."""

from typing import Final

from heliograph.accounts.account import (
    CUSTOMER_PREFIX,
    Account,
    AccountClosed,
    by_id,
    by_ids,
    customer_of,
    find,
    found_by_name,
    is_active,
    kept_open,
    locked,
    named,
    page,
    require_mode,
    require_open,
    text_id,
    text_of_id,
    waiting_to_go_live,
    with_text_id,
)
from heliograph.accounts.audit_log import AUDIT_KEPT
from heliograph.accounts.lifecycle import (
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
    "found_by_name",
    "go_live",
    "is_active",
    "kept_open",
    "locked",
    "named",
    "notices",
    "page",
    "quotas",
    "read_owner_settings",
    "rename",
    "require_mode",
    "require_open",
    "resume",
    "states",
    "status_history",
    "storage_of_keys",
    "storage_of_sends",
    "suspend",
    "text_id",
    "text_of_id",
    "waiting_to_go_live",
    "with_text_id",
]
