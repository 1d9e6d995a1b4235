"""Declares the hot statements of sending one-time passwords, in both dialects. Ids are raw, times
are in milliseconds.
"""

from typing import Final

from heliograph.database.statements import (
    BatchStatement,
    BigInt,
    Bool,
    Bytes,
    Id,
    Insert,
    Row,
    SmallInt,
    Text,
)
from heliograph.otp.limits import Otp


class PhoneSince(Row, frozen=True):
    """Asks for the one-time passwords of an account's live mode to a phone. `since` is the lowest
    id that counts.
    """

    account_id: Id
    phone: BigInt
    since: Id


OTP_COLUMNS: Final = ", ".join(f"o.{name}" for name in Otp.__struct_fields__)

# Of each phone what it was sent in a day, the latest first: 450 at most, as three in ten minutes
# are. The limit also keeps a plan that was made while the table was empty from reading all of it
# later.
RECENT: Final = BatchStatement(
    PhoneSince,
    Otp,
    postgresql=f"""
        SELECT {OTP_COLUMNS} FROM :given AS g
        CROSS JOIN LATERAL (SELECT * FROM otps WHERE otps.account_id = g.account_id
            AND otps.sandbox = false AND otps.phone = g.phone
                            AND otps.id >= g.since ORDER BY otps.id DESC LIMIT 500) o""",
    sqlite=f"""
        SELECT {OTP_COLUMNS} FROM otps o WHERE o.account_id = :account_id AND o.sandbox = false
            AND o.phone = :phone AND o.id >= :since
        ORDER BY o.id DESC LIMIT 500""",
)


class RangeKey(Row, frozen=True):
    """Identifies a range of numbers to which an account sends."""

    account_id: Id
    digits: Text


class StoredRange(Row, frozen=True):
    """Holds when one-time passwords were sent to a range. The times are comma-separated."""

    account_id: Id
    digits: Text
    sent_at_ms: Text
    blocked_at_ms: BigInt | None


RANGES: Final = BatchStatement(
    RangeKey,
    StoredRange,
    postgresql="""
        SELECT r.account_id, r.digits, r.sent_at_ms, r.blocked_at_ms FROM :given AS g
            JOIN otp_ranges r USING (account_id, digits)""",
    sqlite="""
        SELECT account_id, digits, sent_at_ms, blocked_at_ms FROM otp_ranges
            WHERE account_id = :account_id AND digits = :digits""",
)


class NewOtp(Row, frozen=True):
    id: Id
    account_id: Id
    sandbox: Bool
    phone: BigInt
    code_hmac: Bytes
    failures: SmallInt
    created_at_ms: BigInt


STORE_OTPS: Final = Insert("otps", NewOtp)


class ChangedRange(Row, frozen=True):
    account_id: Id
    digits: Text
    sent_at_ms: Text
    blocked_at_ms: BigInt | None
    changed_at_ms: BigInt


_CHANGED: Final = """ON CONFLICT (account_id, digits) DO UPDATE SET
    sent_at_ms = excluded.sent_at_ms, blocked_at_ms = excluded.blocked_at_ms,
        changed_at_ms = excluded.changed_at_ms"""
STORE_RANGES: Final = Insert("otp_ranges", ChangedRange, _CHANGED)


class TallyKey(Row, frozen=True):
    """Identifies the tally of an account and a country, or of all countries (`*`)."""

    account_id: Id
    country_code: Text


class StoredTally(Row, frozen=True):
    """Holds a tally, and what the operator allows (`otp_unverified`). The tally's columns are null
    if there is none yet.
    """

    account_id: Id
    country_code: Text
    otp_unverified: BigInt | None
    hour: BigInt | None
    sent: Text | None
    verified: Text | None
    best: Text | None
    capped_at_ms: BigInt | None


TALLIES: Final = BatchStatement(
    TallyKey,
    StoredTally,
    postgresql="""
        SELECT a.id AS account_id, g.country_code, a.otp_unverified, t.hour, t.sent, t.verified,
            t.best, t.capped_at_ms
        FROM :given AS g JOIN accounts a ON a.id = g.account_id
        LEFT JOIN otp_tallies t ON t.account_id = g.account_id
            AND t.country_code = g.country_code""",
    sqlite="""
        SELECT a.id AS account_id, :country_code AS country_code, a.otp_unverified, t.hour, t.sent,
            t.verified, t.best, t.capped_at_ms
        FROM accounts a LEFT JOIN otp_tallies t ON t.account_id = a.id
            AND t.country_code = :country_code WHERE a.id = :account_id""",
)


class CountedTally(Row, frozen=True):
    account_id: Id
    country_code: Text
    hour: BigInt
    sent: Text
    verified: Text
    best: Text
    capped_at_ms: BigInt | None
    changed_at_ms: BigInt


_COUNTED: Final = """
    ON CONFLICT (account_id, country_code) DO UPDATE SET hour = excluded.hour,
        sent = excluded.sent, verified = excluded.verified, best = excluded.best,
        capped_at_ms = excluded.capped_at_ms, changed_at_ms = excluded.changed_at_ms"""
STORE_TALLIES: Final = Insert("otp_tallies", CountedTally, _COUNTED)
