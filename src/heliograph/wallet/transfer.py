"""A transfer between two accounts, a partner and its customer, is one entry, written for whoever
gives and seen by both. In sandbox, `change_sandbox_credits` stands in for it.
"""

import sqlalchemy as sa
from sqlalchemy.engine import Connection

from heliograph.base import clock, ids
from heliograph.base.short_texts import one_line
from heliograph.wallet.entry import Entry, add_entry
from heliograph.wallet.ledger import (
    DESCRIPTION_MAX,
    REFERENCE_MAX,
    figures_after,
    number_behind_all,
    store_figures,
)
from heliograph.wallet.tables import wallets
from heliograph.wallet.wallet import Wallet, lock_open_wallet


def transfer(
    tx: Connection,
    giver_id: str,
    taker_id: str,
    *,
    amount_minor: int = 0,
    credits: int = 0,
    description: str,
    reference: str | None = None,
) -> Entry:
    """Moves money, credits or both, neither below zero; money between wallets of one currency only.
    The entry is the giver's. Its time is that of its turn, not of the request: an entry that waited
    for the wallets' locks comes after the one that it waited for, whose process may have another
    clock.

    Raises NotFound, AccountClosed, InvalidRequest for a text or figure that cannot be stored,
    InsufficientCredits when the giver holds less.
    """
    assert amount_minor >= 0 <= credits
    description_line = one_line("description", description, most=DESCRIPTION_MAX)
    if reference is not None:
        reference = one_line("reference", reference, most=REFERENCE_MAX)
    # as accepting locks them: by id
    both = {
        account_id: lock_open_wallet(tx, account_id) for account_id in sorted((giver_id, taker_id))
    }
    giver, taker = both[giver_id], both[taker_id]
    assert giver.currency == taker.currency or not amount_minor
    giver_after = figures_after(giver.figures, giver.currency, -amount_minor, -credits)
    taker_after = figures_after(taker.figures, taker.currency, amount_minor, credits)
    number = max(number_behind_all(tx, account_id, clock.now_ms()) for account_id in both)
    now_ms = ids.made_at_ms(number)
    entry = Entry(
        ids.raw_of_number(number),
        giver_id,
        taker_id,
        type="transfer_out",
        currency=giver.currency,
        amount_minor=-amount_minor,
        credits=-credits,
        balance_after_minor=giver_after.balance_minor,
        credits_after=giver_after.sms_credits,
        counterpart_balance_after_minor=taker_after.balance_minor,
        counterpart_credits_after=taker_after.sms_credits,
        description=description_line,
        reference=reference,
        created_at_ms=now_ms,
    )
    add_entry(tx, entry)
    store_figures(tx, giver, giver_after, now_ms)
    store_figures(tx, taker, taker_after, now_ms)
    return entry


def change_sandbox_credits(tx: Connection, account_id: str, credits: int) -> Wallet:
    """Changes what a sandbox customer is shown to hold, up or down; nobody pays. Raises NotFound,
    InvalidRequest, InsufficientCredits.
    """
    wallet = lock_open_wallet(tx, account_id)
    after = figures_after(wallet.visible_figures, wallet.currency, 0, credits)
    tx.execute(
        sa.update(wallets)
        .where(wallets.c.account_id == account_id, wallets.c.sandbox_credits.is_not(None))
        .values(sandbox_credits=after.sms_credits)
    )
    return wallet._replace(sandbox_credits=after.sms_credits)
