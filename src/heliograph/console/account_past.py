"""Tells what is known of an account that waits for a decision: how long it is there, what was
decided on it before, and how much it sends.
"""

from typing import Final, NamedTuple

from sqlalchemy.engine import Connection

from heliograph import accounts, senders
from heliograph.accounts import Account
from heliograph.base.clock import DAY_MS
from heliograph.messages import rollup_reports
from heliograph.messages.rollup_reports import ReportOf, ReportSpan

SENT_DAYS: Final = 30
QUARTERS_A_DAY: Final = 96  # of an hour: roll-ups count by these


class AccountPast(NamedTuple):
    """Holds an account, and what is known of it. `sent` counts live texts of the last 30 days."""

    account: Account
    text_id: str
    approved: int
    rejected: int
    sent: int


def past_of(tx: Connection, account: Account, now_ms: int) -> AccountPast:
    """Returns what is known of an account."""
    counted = senders.counted_by_status(tx, [account.id]).get(account.id, {})
    return AccountPast(
        account,
        accounts.text_id(account),
        counted.get(senders.APPROVED, 0),
        counted.get(senders.REJECTED, 0),
        sent_in_days(tx, account, now_ms),
    )


def sent_in_days(tx: Connection, account: Account, now_ms: int) -> int:
    """Returns how many live texts of an account have left the queue in the last 30 days."""
    quarter_ms = DAY_MS // QUARTERS_A_DAY
    end_ms = now_ms - now_ms % quarter_ms + quarter_ms
    span = ReportSpan(end_ms - SENT_DAYS * DAY_MS, SENT_DAYS * DAY_MS, 1)
    parts = rollup_reports.parts_of(tx, ReportOf(account.id, False), [span])
    return rollup_reports.total(part.figures for part in parts).messages
