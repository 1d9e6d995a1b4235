"""Pays out what a wallet holds when its account is about to be closed."""

from sqlalchemy.engine import Connection

from heliograph.accounts import Account, require_open
from heliograph.base import clock
from heliograph.base.errors import InvalidRequest
from heliograph.base.short_texts import one_line
from heliograph.wallet.daily_cap import count_moved
from heliograph.wallet.entry import Entry
from heliograph.wallet.ledger import BANK_ID, DESCRIPTION_MAX, adjust_credits, post
from heliograph.wallet.transfer import transfer
from heliograph.wallet.wallet import lock_wallet


def pay_out(tx: Connection, account: Account, reason: str) -> list[Entry]:
    """Takes all credits and money out of the wallet. A customer's go to its partner, where they
    came from; other credits go back to issuance, and other money is booked as paid. Returns the
    entries; there are none if the wallet was empty. Raises AccountClosed, InvalidRequest for a
    reason of several lines or a sandbox customer.
    """
    require_open(account)
    reason_line = one_line("reason", reason, most=DESCRIPTION_MAX)
    if account.sandbox and account.parent_id is not None:
        raise InvalidRequest(
            "This is a sandbox customer: it has no part in the ledger, and nothing is owed to it."
        )
    both = {
        account_id: lock_wallet(tx, account_id)
        for account_id in sorted({account.id, account.parent_id or account.id})
    }
    # each of the time of its turn: the ledger lists them in the order of their figures
    own_wallet, entries = both[account.id], list[Entry]()
    credits, balance_minor = own_wallet.sms_credits, own_wallet.balance_minor
    if account.parent_id is not None:
        minor = balance_minor if both[account.parent_id].currency == own_wallet.currency else 0
        if credits or minor:
            moved = transfer(
                tx,
                account.id,
                account.parent_id,
                amount_minor=minor,
                credits=credits,
                description=reason_line,
            )
            count_moved(tx, account.parent_id, account.id, -credits, moved.created_at_ms)
            entries.append(moved)
        credits, balance_minor = 0, balance_minor - minor
    if credits:
        entries.append(
            adjust_credits(tx, account.id, -credits, reason_line, now_ms=clock.now_ms()).entry
        )
    if balance_minor:
        entries.append(
            post(
                tx,
                account.id,
                "adjustment",
                BANK_ID,
                amount_minor=-balance_minor,
                description=reason_line,
                now_ms=clock.now_ms(),
            ).entry
        )
    return entries
