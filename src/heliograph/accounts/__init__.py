"""Tenants: who they are, what the operator lets them do, and who is whose customer."""

from heliograph.accounts.account import CUSTOMER_PREFIX, Account, by_id, find, locked, named, page, text_id, text_of_id
from heliograph.accounts.lifecycle import NAME_MAX, AccountSettings, account_name, change, create, resume, suspend
from heliograph.accounts.notices import Notice, notices_of, notify

__all__ = [
    "CUSTOMER_PREFIX", "NAME_MAX", "Account", "AccountSettings", "Notice", "account_name", "by_id", "change", "create", "find", "locked", "named",
    "notices_of", "notify", "page", "resume", "suspend", "text_id", "text_of_id",
]  # fmt: skip
