"""Manages wallets, money, SMS credits, and the ledger that proves them."""

from heliograph.wallet.account_ledger import TRANSACTIONS_LIMIT_MAX, history
from heliograph.wallet.alarm import Alarm, judge_alarm
from heliograph.wallet.daily_cap import DailyCapReached, count_moved, refusal_to_spend
from heliograph.wallet.entry import INSERT_ENTRIES, Entry
from heliograph.wallet.events import low_balance
from heliograph.wallet.ledger import (
    BANK_ID,
    DESCRIPTION_MAX,
    REFERENCE_MAX,
    SALES_ID,
    Posted,
    adjust_credits,
    adjust_money,
    as_record,
    grant,
    post,
    topup,
)
from heliograph.wallet.ledger_hours import (
    DAYS_SHOWN,
    DaySums,
    due_hour,
    store_hour,
    summed_days,
    sums_of_hour,
)
from heliograph.wallet.levels import levels
from heliograph.wallet.money import currency, currency_of, to_minor, to_number, to_text
from heliograph.wallet.prices import (
    CreditsOffer,
    Price,
    all_prices,
    buy_credits,
    price_in,
    quote,
    remove_price,
    set_price,
)
from heliograph.wallet.request import read_purchase, read_thresholds
from heliograph.wallet.statement import read_month, statement, statement_file
from heliograph.wallet.store_figures import (
    CountedKeys,
    RefundedWallet,
    store_counted_keys,
    store_refunded,
)
from heliograph.wallet.tables import ENTRY_TYPES
from heliograph.wallet.transfer import change_sandbox_credits, transfer
from heliograph.wallet.verify import (
    DISCREPANCIES_MAX,
    Discrepancy,
    read_one_snapshot,
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
    locked,
    open_wallet,
    set_low_balance,
    wallet_of,
    wallets_of,
)

__all__ = [
    "BANK_ID",
    "CREDITS_MAX",
    "DAYS_SHOWN",
    "DESCRIPTION_MAX",
    "DISCREPANCIES_MAX",
    "ENTRY_TYPES",
    "INSERT_ENTRIES",
    "REFERENCE_MAX",
    "SALES_ID",
    "TRANSACTIONS_LIMIT_MAX",
    "Alarm",
    "CountedKeys",
    "CreditsOffer",
    "DailyCapReached",
    "DaySums",
    "Discrepancy",
    "Entry",
    "Figures",
    "Posted",
    "Price",
    "RefundedWallet",
    "Thresholds",
    "Wallet",
    "adjust_credits",
    "adjust_money",
    "all_prices",
    "api",
    "as_record",
    "buy_credits",
    "change_sandbox_credits",
    "close",
    "count_moved",
    "currency",
    "currency_of",
    "due_hour",
    "files",
    "grant",
    "history",
    "judge_alarm",
    "keys_counted",
    "ledger_file",
    "levels",
    "locked",
    "low_balance",
    "money",
    "open_wallet",
    "post",
    "price_in",
    "quote",
    "read_month",
    "read_one_snapshot",
    "read_purchase",
    "read_thresholds",
    "refusal_to_spend",
    "remove_price",
    "set_low_balance",
    "set_price",
    "size",
    "statement",
    "statement_file",
    "store_counted_keys",
    "store_hour",
    "store_refunded",
    "summed_days",
    "sums_of_hour",
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
