"""Tenants: who they are, what the operator lets them do, and who is whose customer."""

from heliograph.accounts.account import Account, by_id, find, locked, named, page, text_id
from heliograph.accounts.lifecycle import AccountSettings, change, create, resume, suspend

__all__ = ["Account", "AccountSettings", "by_id", "change", "create", "find", "locked", "named", "page", "resume", "suspend", "text_id"]
