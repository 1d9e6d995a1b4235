"""Keeps wallets: a wallet is an account's money and SMS credits. It also says when a low balance is
to be told.
"""

from typing import Any, Final, NamedTuple

import sqlalchemy as sa
from sqlalchemy.engine import Connection

from heliograph.accounts import AccountClosed, storage_of_keys
from heliograph.base.errors import NotFound
from heliograph.base.short_texts import invalid_field
from heliograph.wallet import alarm
from heliograph.wallet.alarm import is_below
from heliograph.wallet.money import MINOR_MAX, currency
from heliograph.wallet.tables import wallets

LOW_BALANCE_CREDITS: Final = 100  # of a new account (docs/api.md, "Low balance")
CREDITS_MAX: Final = MINOR_MAX  # as for money: every figure is exact in JSON


class Figures(NamedTuple):
    """Holds the credits and the money of a wallet at one moment."""

    balance_minor: int
    sms_credits: int


class Thresholds(NamedTuple):
    """Holds the figures below which `wallet.low_balance` fires; None means never."""

    credits: int | None
    amount_minor: int | None


class Armed(NamedTuple):
    """Says which alarms are armed. A fired alarm is silent until its figure has been at or above
    the threshold again.
    """

    credits: bool
    balance: bool


class Wallet(NamedTuple):
    """Holds a wallet. `account_id` is raw. A sandbox customer holds nothing; it has figures to look
    at (docs/api.md, "Sandbox"), which nobody else has.
    """

    account_id: str
    currency: str
    balance_minor: int
    sms_credits: int
    low_balance_credits: int | None
    low_balance_amount_minor: int | None
    credits_alarm_armed: bool
    balance_alarm_armed: bool
    sandbox_balance_minor: int | None
    sandbox_credits: int | None
    closed: bool

    @property
    def has_few_credits(self) -> bool:
        """Returns whether the credits are below their threshold."""
        return is_below(self.sms_credits, self.low_balance_credits)

    @property
    def has_little_money(self) -> bool:
        """Returns whether the money is below its threshold."""
        return is_below(self.balance_minor, self.low_balance_amount_minor)

    @property
    def visible_figures(self) -> Figures:
        """Returns what is shown of the wallet to whoever asks."""
        if self.sandbox_balance_minor is None or self.sandbox_credits is None:
            return self.figures
        return Figures(self.sandbox_balance_minor, self.sandbox_credits)

    @property
    def figures(self) -> Figures:
        return Figures(self.balance_minor, self.sms_credits)

    @property
    def thresholds(self) -> Thresholds:
        return Thresholds(self.low_balance_credits, self.low_balance_amount_minor)

    @property
    def armed(self) -> Armed:
        return Armed(self.credits_alarm_armed, self.balance_alarm_armed)

    @property
    def is_low(self) -> bool:
        """Returns whether a figure lies below its threshold now."""
        return is_below(self.visible_figures.sms_credits, self.low_balance_credits) or is_below(
            self.visible_figures.balance_minor, self.low_balance_amount_minor
        )


def keys_counted(tx: Connection, account_id: str) -> storage_of_keys.KeyCount:
    """Returns the count of the Idempotency-Keys that were stored for an account's sends (raw id).
    Raises NotFound.
    """
    query = sa.select(
        wallets.c.keys_day.label("day"),
        wallets.c.keys_octets.label("live"),
        wallets.c.sandbox_keys_octets.label("sandbox"),
    )
    row = tx.execute(query.where(wallets.c.account_id == account_id)).one_or_none()
    if row is None:
        raise NotFound("There is no such account.")
    return storage_of_keys.KeyCount(**row._asdict())


_COLUMNS: Final = [wallets.c[name] for name in Wallet._fields]


def open_wallet(
    tx: Connection, account_id: str, currency_code: str, *, sandbox: Figures | None = None
) -> Wallet:
    """Makes an empty wallet for a new account. `sandbox` holds the figures of a sandbox
    customer's wallet. Raises InvalidRequest for an unknown currency.
    """
    balance_minor, credits = sandbox or (None, None)
    wallet = Wallet(
        account_id,
        currency(currency_code),
        0,
        sms_credits=0,
        low_balance_credits=LOW_BALANCE_CREDITS,
        low_balance_amount_minor=None,
        credits_alarm_armed=True,
        balance_alarm_armed=True,
        sandbox_balance_minor=balance_minor,
        sandbox_credits=credits,
        closed=False,
    )
    tx.execute(wallets.insert().values(wallet._asdict() | {"spent_day": 0, "spent_credits": 0}))
    return wallet


def wallet_of(tx: Connection, account_id: str) -> Wallet:
    """Returns the wallet of an account (raw id). Raises NotFound."""
    return _read_wallet(tx, sa.select(*_COLUMNS).where(wallets.c.account_id == account_id))


def wallets_of(tx: Connection, account_ids: list[str]) -> dict[str, Wallet]:
    """Returns the wallets of several accounts (a page of them), by account."""
    return {
        row.account_id: Wallet(**row._asdict())
        for row in tx.execute(sa.select(*_COLUMNS).where(wallets.c.account_id.in_(account_ids)))
    }


def lock_wallet(tx: Connection, account_id: str) -> Wallet:
    """Returns the wallet, kept from every other change until the transaction ends (on SQLite every
    writer is alone anyway). Raises NotFound.
    """
    return _read_wallet(
        tx, sa.select(*_COLUMNS).where(wallets.c.account_id == account_id).with_for_update()
    )


def lock_open_wallet(tx: Connection, account_id: str) -> Wallet:
    """Does what `lock_wallet` does, for an account that is not closed. Raises NotFound,
    AccountClosed.
    """
    wallet = lock_wallet(tx, account_id)
    if wallet.closed:
        raise AccountClosed()
    return wallet


def close(tx: Connection, account_id: str) -> None:
    """Marks the wallet's row, which every send locks, as that of a closed account: a send that was
    let in before, and waited for the lock, is refused. The caller has locked it, and found it
    empty.
    """
    tx.execute(sa.update(wallets).where(wallets.c.account_id == account_id).values(closed=True))


def _read_wallet(tx: Connection, query: sa.Select[Any]) -> Wallet:
    row = tx.execute(query).one_or_none()
    if row is None:
        raise NotFound("There is no such wallet.")
    return Wallet(**row._asdict())


def alarms(
    armed: Armed, before: Figures, after: Figures, thresholds: Thresholds
) -> tuple[tuple[str, ...], Armed]:
    """Returns which low-balance alarms a change of figures fires (of "credits", "balance"), and
    which are armed afterwards.
    """
    credits = alarm.judge(
        is_armed=armed.credits,
        before=before.sms_credits,
        after=after.sms_credits,
        threshold=thresholds.credits,
    )
    balance = alarm.judge(
        is_armed=armed.balance,
        before=before.balance_minor,
        after=after.balance_minor,
        threshold=thresholds.amount_minor,
    )
    fired = ("credits",) * credits.fires + ("balance",) * balance.fires
    return fired, Armed(credits.is_armed, balance.is_armed)


def set_low_balance(tx: Connection, account_id: str, thresholds: Thresholds) -> Wallet:
    """Sets both thresholds. An alarm that has fired is armed again if its figure is not
    below the new one. Raises NotFound, InvalidRequest.
    """
    for field, value in zip(("low_balance_credits", "low_balance_amount"), thresholds, strict=True):
        if value is not None and not 0 <= value <= MINOR_MAX:
            raise invalid_field(field, "must not be negative, and have at most 15 digits")
    wallet = lock_open_wallet(tx, account_id)
    _, armed = alarms(wallet.armed, wallet.figures, wallet.figures, thresholds)
    changed = wallet._replace(
        low_balance_credits=thresholds.credits,
        low_balance_amount_minor=thresholds.amount_minor,
        credits_alarm_armed=armed.credits,
        balance_alarm_armed=armed.balance,
    )
    tx.execute(
        sa.update(wallets).where(wallets.c.account_id == account_id).values(changed._asdict())
    )
    return changed
