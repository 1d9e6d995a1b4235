"""Manages wallets, money, SMS credits, and the ledger that proves them."""

from heliograph.wallet.account_ledger import TRANSACTIONS_LIMIT_MAX, history
from heliograph.wallet.alarm import Alarm, judge_alarm
from heliograph.wallet.daily_cap import DailyCapReached, count_moved, refusal_to_spend
from heliograph.wallet.entry import INSERT_ENTRIES, Entry
from heliograph.wallet.events import low_balance
from heliograph.wallet.ledger import (
    DESCRIPTION_MAX,
    REFERENCE_MAX,
    SALES_ID,
    Posted,
    adjust_credits,
    adjust_money,
    as_record,
    grant,
    topup,
)
from heliograph.wallet.levels import levels
from heliograph.wallet.money import currency, currency_of, to_minor, to_number, to_text
from heliograph.wallet.request import read_purchase, read_thresholds
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
    keys_counted,
    lock_wallet,
    open_wallet,
    set_low_balance,
    wallet_of,
    wallets_of,
)

__all__ = [
    "CREDITS_MAX",
    "DESCRIPTION_MAX",
    "DISCREPANCIES_MAX",
    "ENTRY_TYPES",
    "INSERT_ENTRIES",
    "REFERENCE_MAX",
    "SALES_ID",
    "TRANSACTIONS_LIMIT_MAX",
    "Alarm",
    "DailyCapReached",
    "Discrepancy",
    "Entry",
    "Figures",
    "Posted",
    "Thresholds",
    "Wallet",
    "adjust_credits",
    "adjust_money",
    "api",
    "as_record",
    "change_sandbox_credits",
    "close",
    "count_moved",
    "currency",
    "currency_of",
    "files",
    "grant",
    "history",
    "judge_alarm",
    "keys_counted",
    "ledger_hours",
    "levels",
    "lock_wallet",
    "low_balance",
    "money",
    "open_wallet",
    "pay_out",
    "prices",
    "read_purchase",
    "read_thresholds",
    "refusal_to_spend",
    "set_low_balance",
    "size",
    "store_figures",
    "to_minor",
    "to_number",
    "to_text",
    "topup",
    "transfer",
    "verify",
    "verify_hours",
    "wallet_of",
    "wallets_of",
]
