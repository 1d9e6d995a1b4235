"""Guards against pumping. If many one-time passwords go to a range of numbers and none is ever
given back, somebody earns money for nothing.

It looks at an account's live sends only. What else guards an account, its countries and its daily
credits, stands with the account and holds for every send.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, NamedTuple

import sqlalchemy as sa
from sqlalchemy.engine import Connection

from heliograph.base.clock import DAY_MS
from heliograph.base.errors import DoneAlready, NotFound, RateLimited
from heliograph.base.forms import quote_value
from heliograph.base.short_texts import invalid_field
from heliograph.otp.limits import seconds_until
from heliograph.otp.tables import otp_ranges
from heliograph.text import read_prefix
from heliograph.wallet.tables import wallets

RANGE_DIGITS: Final = 8
SENDS_MAX: Final = 50  # to a range, in WINDOW_MS, without one verification
WINDOW_MS: Final = 3_600_000
BLOCKED_MS: Final = DAY_MS  # unless a code of the range is verified, or the operator unblocks it


class RangeBlocked(RateLimited):
    """Many one-time passwords went to this range of numbers, and none was verified; it is
    blocked for now.
    """

    reason = "otp_range_blocked"


@dataclass(slots=True)
class Range:
    """Counts the sends to a range since its last verification. `account_id` is raw."""

    account_id: str
    digits: str
    sent_at_ms: list[int]  # oldest first
    blocked_at_ms: int | None = None

    def refusal(self, now_ms: int) -> RangeBlocked | None:
        if self.blocked_at_ms is None or self.blocked_at_ms + BLOCKED_MS <= now_ms:
            return None
        return RangeBlocked(retry_after_s=seconds_until(self.blocked_at_ms + BLOCKED_MS, now_ms))

    def sent(self, now_ms: int) -> bool:
        """Counts one more send, and returns whether that blocks the range."""
        self.sent_at_ms = [
            *(at_ms for at_ms in self.sent_at_ms if at_ms > now_ms - WINDOW_MS),
            now_ms,
        ]
        self.blocked_at_ms = now_ms if len(self.sent_at_ms) >= SENDS_MAX else None
        return self.blocked_at_ms is not None


def digits_of(phone: int) -> str:
    """Returns the range of a number in E.164 digits."""
    return str(phone)[:RANGE_DIGITS]


def encode_times(sent_at_ms: Sequence[int]) -> str:
    """Returns the times as the column holds them; `decode_times` is the other way."""
    return ",".join(map(str, sent_at_ms))


def decode_times(text: str) -> list[int]:
    """Returns the times, in milliseconds, that a column holds; `encode_times` is the other way."""
    return [int(at_ms) for at_ms in text.split(",") if at_ms]


class BlockedRange(NamedTuple):
    """Describes a blocked range, as the operator sees it. `account_id` is raw."""

    account_id: str
    digits: str
    sends: int
    blocked_at_ms: int

    @property
    def until_ms(self) -> int:
        return self.blocked_at_ms + BLOCKED_MS


def find_blocked(
    tx: Connection,
    now_ms: int,
    *,
    limit: int,
    account_id: str | None = None,
    phone: str | None = None,
) -> list[BlockedRange]:
    """Returns ranges that are blocked now, those blocked last first; without `account_id` (raw) it
    returns everybody's. With `phone` (E.164 digits), it returns only the range of this number.
    """
    columns = otp_ranges.c
    query = sa.select(columns.account_id, columns.digits, columns.sent_at_ms, columns.blocked_at_ms)
    query = query.where(columns.blocked_at_ms > now_ms - BLOCKED_MS).order_by(
        columns.blocked_at_ms.desc(), columns.account_id, columns.digits
    )
    if account_id is not None:
        query = query.where(columns.account_id == account_id)
    if phone is not None:
        query = query.where(columns.digits == digits_of(int(phone)))
    return [
        BlockedRange(
            row.account_id, row.digits, len(decode_times(row.sent_at_ms)), row.blocked_at_ms
        )
        for row in tx.execute(query.limit(limit))
    ]


def count_blocked(tx: Connection, now_ms: int) -> int:
    """Returns how many ranges are blocked now, of all accounts."""
    count: int = tx.execute(
        sa.select(sa.func.count()).where(otp_ranges.c.blocked_at_ms > now_ms - BLOCKED_MS)
    ).scalar_one()
    return count


def _range_digits(text: str) -> str:
    """Returns the digits of a range as they are stored. Raises InvalidRequest."""
    digits = read_prefix(text)
    if digits is None or len(digits) != RANGE_DIGITS:
        raise invalid_field(
            "range",
            f"must be the first {RANGE_DIGITS} digits of numbers (never 0 first), not"
            f" {quote_value(text)}",
        )
    return digits


def block(tx: Connection, account_id: str, digits: str, now_ms: int) -> BlockedRange:
    """Refuses one-time passwords of an account (raw id) to a range, as if the guard had found it.
    It waits for those that are just being counted. Raises InvalidRequest for digits that are not
    a range, and DoneAlready when it is blocked already.
    """
    digits = _range_digits(digits)
    tx.execute(
        sa.select(wallets.c.account_id)
        .where(wallets.c.account_id == account_id)
        .with_for_update(key_share=True)
    )
    columns = otp_ranges.c
    here = (columns.account_id == account_id) & (columns.digits == digits)
    existing = tx.execute(sa.select(columns.sent_at_ms, columns.blocked_at_ms).where(here)).first()
    if existing is not None and (existing.blocked_at_ms or 0) > now_ms - BLOCKED_MS:
        raise DoneAlready(f"The range {digits} is blocked for this account already.")
    if existing is None:
        tx.execute(
            otp_ranges.insert().values(
                account_id=account_id,
                digits=digits,
                sent_at_ms="",
                blocked_at_ms=now_ms,
                changed_at_ms=now_ms,
            )
        )
    else:
        tx.execute(
            otp_ranges.update().where(here).values(blocked_at_ms=now_ms, changed_at_ms=now_ms)
        )
    sent = [] if existing is None else decode_times(existing.sent_at_ms)
    return BlockedRange(account_id, digits, len(sent), now_ms)


def unblock(tx: Connection, account_id: str, digits: str, now_ms: int) -> None:
    """Lets one-time passwords go to the range again, and counts them anew. Raises NotFound when it
    is not blocked.
    """
    columns = otp_ranges.c
    found = tx.execute(
        otp_ranges.delete().where(
            columns.account_id == account_id,
            columns.digits == digits,
            columns.blocked_at_ms > now_ms - BLOCKED_MS,
        )
    )
    if found.rowcount == 0:
        raise NotFound(f"The range {quote_value(digits)} is not blocked for this account.")
