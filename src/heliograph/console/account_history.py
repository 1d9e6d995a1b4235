"""Tells what is known of an account that waits for a decision: how long it is there, what was
decided on it before, and how much it sends.
"""

from collections.abc import Sequence
from typing import Final, NamedTuple

from sqlalchemy.engine import Connection

from heliograph import accounts, senders
from heliograph.accounts import Account
from heliograph.base.clock import DAY_MS
from heliograph.messages.reports import rollup_reports
from heliograph.senders import states

SENT_DAYS: Final = 30
QUARTERS_A_DAY: Final = 96  # of an hour: roll-ups count by these


class AccountHistory(NamedTuple):
    """Holds an account, and what is known of it. `sent` counts live texts of the last 30 days.
    Its live sender IDs count in each status that they have ever been in.
    """

    account: Account
    text_id: str
    approved: int
    rejected: int
    suspended: int
    sent: int


def history_of(tx: Connection, account: Account, now_ms: int) -> AccountHistory:
    """Returns what is known of an account."""
    return histories_of(tx, [account], now_ms)[account.id]


def histories_of(
    tx: Connection, asked: Sequence[Account], now_ms: int
) -> dict[str, AccountHistory]:
    """Returns what is known of these accounts, by their raw ids."""
    account_ids = {account.id for account in asked}
    counted = senders.counted_by_past_status(tx, account_ids)
    quarter_ms = DAY_MS // QUARTERS_A_DAY
    end_ms = now_ms - now_ms % quarter_ms + quarter_ms
    sent = rollup_reports.live_messages_of(
        tx, account_ids, start_ms=end_ms - SENT_DAYS * DAY_MS, end_ms=end_ms
    )
    return {
        account.id: AccountHistory(
            account,
            accounts.text_id(account),
            counted.get(account.id, {}).get(states.APPROVED, 0),
            counted.get(account.id, {}).get(states.REJECTED, 0),
            counted.get(account.id, {}).get(states.SUSPENDED, 0),
            sent.get(account.id, 0),
        )
        for account in asked
    }
