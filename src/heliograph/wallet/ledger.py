"""Every change of a wallet is one entry of the ledger: a transfer between the account and a
counterpart, written with the figures after it.

What the account gains the counterpart loses, so every entry sums to zero. Entries are only ever
added; a correction is a new one.
"""

from decimal import Decimal
from typing import Any, Final, NamedTuple

import sqlalchemy as sa
from sqlalchemy.engine import Connection

from heliograph.base import ids
from heliograph.base.clock import rfc3339
from heliograph.base.errors import InsufficientCredits, InvalidRequest, NotFound
from heliograph.base.forms import quote_value
from heliograph.base.paging import CLOCK_SLACK_MS, PageWanted
from heliograph.base.short_texts import invalid_field, one_line
from heliograph.wallet import account_ledger
from heliograph.wallet.entry import ENTRY_COLUMNS, Entry, add_entry
from heliograph.wallet.events import low_balance
from heliograph.wallet.money import MINOR_MAX, to_minor, to_number, to_text
from heliograph.wallet.tables import ledger_entries, wallets
from heliograph.wallet.wallet import (
    CREDITS_MAX,
    Figures,
    Wallet,
    alarms,
    lock_open_wallet,
    lock_wallet,
)
from heliograph.webhooks import emit_to_listeners

# The service's own accounts: counterparts without a row in `accounts` and without a stored balance,
# which all transfers would have to lock. SMS credits come into being here, given or sold for money,
# and go back here when taken away
ISSUANCE_ID: Final = f"{1:032x}"
SALES_ID: Final = f"{2:032x}"  # where the credits go that messages cost
BANK_ID: Final = f"{3:032x}"  # the outside world, where money comes from

ID_PREFIX: Final = "txn"
DESCRIPTION_MAX: Final = 255
REFERENCE_MAX: Final = 128
# as in the index ledger_entries_once
_REFERENCE_TYPES: Final = ("topup", "credit_grant", "adjustment", "credit_purchase")


class Posted(NamedTuple):
    """Reports what became of a posting. If it was not applied, `entry` is the one that its
    reference had made before. `alarms` are the low-balance alarms that it fired.
    """

    entry: Entry
    applied: bool
    alarms: tuple[str, ...] = ()


def grant(
    tx: Connection,
    account_id: str,
    credits: int,
    reason: str,
    reference: str | None = None,
    *,
    now_ms: int,
) -> Posted:
    """Gives SMS credits. Raises NotFound, InvalidRequest."""
    if credits < 1:
        raise invalid_field(
            "credits", f"must be 1 or more, not {credits}; to take credits away, adjust"
        )
    return post(
        tx,
        account_id,
        "credit_grant",
        ISSUANCE_ID,
        credits=credits,
        description=reason,
        reference=reference,
        now_ms=now_ms,
    )


def topup(
    tx: Connection,
    account_id: str,
    amount: Decimal | int | float | str,
    reason: str,
    reference: str | None = None,
    *,
    now_ms: int,
) -> Posted:
    """Adds money, in the wallet's currency. Raises NotFound, InvalidRequest."""
    amount_minor = to_minor(amount, lock_wallet(tx, account_id).currency)
    if amount_minor < 1:
        raise invalid_field(
            "amount",
            f"must be more than 0, not {quote_value(str(amount))}; to take money away, adjust",
        )
    return post(
        tx,
        account_id,
        "topup",
        BANK_ID,
        amount_minor=amount_minor,
        description=reason,
        reference=reference,
        now_ms=now_ms,
    )


def adjust_credits(
    tx: Connection,
    account_id: str,
    credits: int,
    reason: str,
    reference: str | None = None,
    *,
    now_ms: int,
) -> Posted:
    """Corrects the credits, up or down. Raises NotFound, InvalidRequest, InsufficientCredits."""
    if credits == 0:
        raise invalid_field("credits", "must not be 0")
    return post(
        tx,
        account_id,
        "adjustment",
        ISSUANCE_ID,
        credits=credits,
        description=reason,
        reference=reference,
        now_ms=now_ms,
    )


def adjust_money(
    tx: Connection,
    account_id: str,
    amount: Decimal | int | float | str,
    reason: str,
    reference: str | None = None,
    *,
    now_ms: int,
) -> Posted:
    """Corrects the money, up or down. Raises NotFound, InvalidRequest, InsufficientCredits
    (`insufficient_balance`).
    """
    amount_minor = to_minor(amount, lock_wallet(tx, account_id).currency)
    if amount_minor == 0:
        raise invalid_field("amount", "must not be 0")
    return post(
        tx,
        account_id,
        "adjustment",
        BANK_ID,
        amount_minor=amount_minor,
        description=reason,
        reference=reference,
        now_ms=now_ms,
    )


def post(
    tx: Connection,
    account_id: str,
    entry_type: str,
    counterpart_id: str,
    *,
    amount_minor: int = 0,
    credits: int = 0,
    description: str,
    reference: str | None = None,
    now_ms: int,
) -> Posted:
    """Posts one transfer with a counterpart of the service's own. The same reference, for the same
    account and type, is applied once. An entry that waited for the wallet's lock comes after the
    one that it waited for: its time is then later than `now_ms`.

    Raises NotFound, AccountClosed, InvalidRequest for a text or figure that cannot be stored and
    for a reference that was applied with other figures, InsufficientCredits rather than leave a
    figure below zero.
    """
    description_line = one_line("reason", description, most=DESCRIPTION_MAX)
    if reference is not None:
        reference = one_line("reference", reference, most=REFERENCE_MAX)
    wallet = lock_open_wallet(tx, account_id)
    if wallet.sandbox_credits is not None:
        raise InvalidRequest("This is a sandbox customer: it has no part in the ledger.")
    if (
        reference is not None
        and (earlier := entry_with_reference(tx, account_id, entry_type, reference)) is not None
    ):
        return result_of_repeat(earlier, amount_minor, credits)
    after = figures_after(wallet.figures, wallet.currency, amount_minor, credits)
    number = number_behind_all(tx, account_id, now_ms)
    entry = Entry(
        ids.raw_of_number(number),
        account_id,
        counterpart_id,
        type=entry_type,
        currency=wallet.currency,
        amount_minor=amount_minor,
        credits=credits,
        balance_after_minor=after.balance_minor,
        credits_after=after.sms_credits,
        description=description_line,
        reference=reference,
        created_at_ms=ids.made_at_ms(number),
    )
    add_entry(tx, entry)
    return Posted(entry, applied=True, alarms=store_figures(tx, wallet, after, now_ms))


def number_behind_all(tx: Connection, account_id: str, now_ms: int) -> int:
    """Returns the number of an entry that is made now: above those of the entries that the account
    (raw id) has, as their figures are what it begins with. The wallet is locked.
    """
    number = ids.new_number(now_ms)
    newest = next(iter(account_ledger.page(tx, account_id, PageWanted(1, None))), None)
    if newest is None or newest.id < ids.raw_of_number(number):
        return number
    newest_ms = ids.made_at_ms(int(newest.id, 16))
    # more than a wait and two clocks that differ can make: it is meant to have another time
    return number if newest_ms > now_ms + CLOCK_SLACK_MS else ids.new_number(newest_ms + 1)


def store_figures(tx: Connection, wallet: Wallet, after: Figures, now_ms: int) -> tuple[str, ...]:
    """Stores what a locked wallet holds after an entry, and tells of what has become low.
    Returns the alarms that it fired.
    """
    fired, armed = alarms(wallet.armed, wallet.figures, after, wallet.thresholds)
    tx.execute(
        sa.update(wallets)
        .where(wallets.c.account_id == wallet.account_id)
        .values(
            balance_minor=after.balance_minor,
            sms_credits=after.sms_credits,
            credits_alarm_armed=armed.credits,
            balance_alarm_armed=armed.balance,
        )
    )
    if fired:
        emit_to_listeners(
            tx,
            wallet.account_id,
            lambda listeners: [
                low_balance(
                    listeners,
                    wallet.account_id,
                    figure,
                    after=after,
                    currency=wallet.currency,
                    thresholds=wallet.thresholds,
                    now_ms=now_ms,
                )
                for figure in fired
            ],
        )
    return fired


def owners_of_entry(tx: Connection, entry_text_id: str) -> list[str]:
    """Returns the accounts (raw ids) that see an entry: one, or both sides of a transfer. Raises
    NotFound.
    """
    columns = ledger_entries.c
    row = tx.execute(
        sa.select(
            columns.account_id, columns.counterpart_id, columns.counterpart_credits_after
        ).where(columns.id == ids.raw_of_text(ID_PREFIX, entry_text_id))
    ).one_or_none()
    if row is None:
        raise NotFound(f"There is no entry {quote_value(entry_text_id)}.")
    is_of_two = row.counterpart_credits_after is not None
    return [row.account_id, row.counterpart_id] if is_of_two else [row.account_id]


def entry_with_reference(
    tx: Connection, account_id: str, entry_type: str, reference: str
) -> Entry | None:
    """Returns the entry that this reference has made. The wallet must be locked meanwhile."""
    if entry_type not in _REFERENCE_TYPES:
        return None
    columns = ledger_entries.c
    row = tx.execute(
        sa.select(*ENTRY_COLUMNS).where(
            columns.account_id == account_id,
            columns.type == entry_type,
            columns.reference == reference,
            columns.type.in_(_REFERENCE_TYPES),
        )
    ).one_or_none()
    return None if row is None else Entry(**row._asdict())


def result_of_repeat(earlier: Entry, amount_minor: int, credits: int) -> Posted:
    """Returns what a reference that was applied already makes of a posting. With other figures
    it is not the same posting, and this raises InvalidRequest.
    """
    if (earlier.amount_minor, earlier.credits) != (amount_minor, credits):
        was = (
            f"{earlier.credits} SMS credits"
            if earlier.credits
            else to_text(earlier.amount_minor, earlier.currency)
        )
        raise invalid_field(
            "reference",
            f"{quote_value(earlier.reference)} was already applied, with {was}"
            f" ({ids.text_of_raw(ID_PREFIX, earlier.id)})",
        )
    return Posted(earlier, applied=False)


def figures_after(before: Figures, currency: str, amount_minor: int, credits: int) -> Figures:
    """Returns what is held after a change. Raises InsufficientCredits rather than go below zero,
    InvalidRequest above what a figure can be.
    """
    after = Figures(before.balance_minor + amount_minor, before.sms_credits + credits)
    if after.sms_credits < 0:
        raise InsufficientCredits(
            f"The wallet holds {before.sms_credits} SMS credits; this takes {-credits}.",
            required=-credits,
            available=before.sms_credits,
        )
    if after.balance_minor < 0:
        required, available = (
            to_text(-amount_minor, currency),
            to_text(before.balance_minor, currency),
        )
        raise InsufficientCredits(
            f"The wallet holds {available}; this takes {required}.",
            reason="insufficient_balance",
            required=to_number(-amount_minor, currency),
            available=to_number(before.balance_minor, currency),
        )
    if after.sms_credits > CREDITS_MAX:
        raise invalid_field("credits", f"would bring the wallet above {CREDITS_MAX}")
    if after.balance_minor > MINOR_MAX:
        raise invalid_field(
            "amount", f"would bring the wallet above {to_text(MINOR_MAX, currency)}"
        )
    return after


def as_record(entry: Entry) -> dict[str, Any]:
    """Returns the fields of /wallet/transactions (docs/api.md, "Wallet")."""
    return {
        "id": ids.text_of_raw(ID_PREFIX, entry.id),
        "type": entry.type,
        "amount": to_number(entry.amount_minor, entry.currency),
        "currency": entry.currency,
        "credits": entry.credits,
        "balance_after": to_number(entry.balance_after_minor, entry.currency),
        "credits_after": entry.credits_after,
        "description": entry.description,
        "reference": entry.reference,
        "created_at": rfc3339(entry.created_at_ms),
    }
