"""Tenants: who they are, what the operator lets them do, and who is whose customer."""

from heliograph.accounts.account import Account, by_id, find, locked, named, page, text_id, text_of_id
from heliograph.accounts.lifecycle import AccountSettings, change, create, resume, suspend
from heliograph.accounts.notices import Notice, notices_of, notify

__all__ = [
    "Account", "AccountSettings", "Notice", "by_id", "change", "create", "find", "locked", "named", "notices_of", "notify", "page", "resume",
    "suspend", "text_id", "text_of_id",
]  # fmt: skip
