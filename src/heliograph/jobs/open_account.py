"""Opens an account with its wallet, and with what the wallet holds to begin with."""

from typing import NamedTuple

from sqlalchemy.engine import Connection

from heliograph import accounts, wallet
from heliograph.accounts import Account, unique_name
from heliograph.base.short_texts import invalid_field
from heliograph.wallet import ledger, money


class NewAccount(NamedTuple):
    """Says what an account begins with. `daily_credits` is its cap a UTC day, and None for none."""

    name: str
    country_code: str
    currency: str
    credits: int = 0
    balance_minor: int = 0
    daily_credits: int | None = accounts.DAILY_CREDITS


def open_account(
    tx: Connection, wanted: NewAccount, *, is_same_name_allowed: bool, now_ms: int
) -> Account:
    """Opens an account. Raises NameTaken unless the name is allowed to be that of another account,
    and InvalidRequest for a field that is not valid.
    """
    if not is_same_name_allowed:
        unique_name.require_unique_name(tx, wanted.name)
    currency = money.currency(wanted.currency)
    for field, figure in (("credits", wanted.credits), ("balance", wanted.balance_minor)):
        if figure < 0:
            raise invalid_field(field, "must not be negative")
    account = accounts.create(
        tx,
        wanted.name,
        wanted.country_code,
        daily_credits=wanted.daily_credits,
        now_ms=now_ms,
    )
    wallet.open_wallet(tx, account.id, currency)
    if wanted.credits:
        ledger.grant(tx, account.id, wanted.credits, "Opening credits", now_ms=now_ms)
    if wanted.balance_minor:
        balance = money.to_text(wanted.balance_minor, currency).split()[0]
        ledger.topup(tx, account.id, balance, "Opening balance", now_ms=now_ms)
    return account
