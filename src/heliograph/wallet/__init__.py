"""Manages wallets, money, SMS credits, and the ledger that proves them."""

from heliograph.wallet.account_ledger import TRANSACTIONS_LIMIT_MAX, history
from heliograph.wallet.alarm import Alarm, judge_alarm
from heliograph.wallet.daily_cap import count_moved, refusal_to_spend
from heliograph.wallet.entry import INSERT_ENTRIES, Entry
from heliograph.wallet.events import low_balance
from heliograph.wallet.ledger import (
    BANK_ID,
    DESCRIPTION_MAX,
    SALES_ID,
    Posted,
    adjust_credits,
    adjust_money,
    as_record,
    grant,
    post,
    topup,
)
from heliograph.wallet.money import currency, to_minor, to_number, to_text
from heliograph.wallet.prices import Price, all_prices, buy_credits, remove_price, set_price
from heliograph.wallet.tables import ENTRY_TYPES
from heliograph.wallet.transfer import change_sandbox_credits, transfer
from heliograph.wallet.verify import (
    DISCREPANCIES_MAX,
    Discrepancy,
    raw_id,
    read_one_snapshot,
    size,
    streamed,
    verify,
)
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
    "DESCRIPTION_MAX",
    "DISCREPANCIES_MAX",
    "ENTRY_TYPES",
    "INSERT_ENTRIES",
    "SALES_ID",
    "TRANSACTIONS_LIMIT_MAX",
    "Alarm",
    "Discrepancy",
    "Entry",
    "Figures",
    "Posted",
    "Price",
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
    "grant",
    "history",
    "judge_alarm",
    "keys_counted",
    "locked",
    "low_balance",
    "open_wallet",
    "post",
    "raw_id",
    "read_one_snapshot",
    "refusal_to_spend",
    "remove_price",
    "set_low_balance",
    "set_price",
    "size",
    "streamed",
    "to_minor",
    "to_number",
    "to_text",
    "topup",
    "transfer",
    "verify",
    "wallet_of",
    "wallets_of",
]
