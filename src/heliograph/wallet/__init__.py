"""Manages wallets, money, SMS credits, and the ledger that proves them."""

from heliograph.wallet.entry import INSERT_ENTRIES, Entry
from heliograph.wallet.events import low_balance
from heliograph.wallet.levels import levels
from heliograph.wallet.tables import ENTRY_TYPES
from heliograph.wallet.transfer import change_sandbox_credits, transfer
from heliograph.wallet.verify import (
    DISCREPANCIES_MAX,
    Discrepancy,
    size,
    verify,
)
from heliograph.wallet.verify_hours import verify_hours
from heliograph.wallet.wallet import (
    CREDITS_MAX,
    Figures,
    Thresholds,
    Wallet,
    close,
    lock_wallet,
    open_wallet,
    set_low_balance,
    wallet_of,
    wallets_of,
)

__all__ = [
    "CREDITS_MAX",
    "DISCREPANCIES_MAX",
    "ENTRY_TYPES",
    "INSERT_ENTRIES",
    "Discrepancy",
    "Entry",
    "Figures",
    "Thresholds",
    "Wallet",
    "account_ledger",
    "alarm",
    "api",
    "change_sandbox_credits",
    "close",
    "daily_cap",
    "files",
    "ledger",
    "ledger_hours",
    "levels",
    "lock_wallet",
    "low_balance",
    "money",
    "open_wallet",
    "pay_out",
    "prices",
    "quota_usage",
    "request",
    "set_low_balance",
    "size",
    "store_figures",
    "transfer",
    "verify",
    "verify_hours",
    "wallet_of",
    "wallets_of",
]
