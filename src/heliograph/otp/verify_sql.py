"""Declares the hot statements of verifying, in both dialects. They lock wallets, then the rest. Ids
are raw, times are in milliseconds.
"""

from typing import Final

from heliograph.accounts import quotas, storage_of_keys
from heliograph.database.statements import (
    BatchStatement,
    BigInt,
    Bool,
    Id,
    Int,
    Nothing,
    Row,
    SmallInt,
)
from heliograph.otp.issue_sql import OTP_COLUMNS, RangeKey
from heliograph.otp.limits import Otp
from heliograph.otp.states import LOCKED, OTP, PENDING, VERIFIED


class AccountKey(Row, frozen=True):
    account_id: Id


class KeysOfDay(Row, frozen=True):
    """Counts the octets of Idempotency-Keys that an account has stored on one day, in each mode."""

    day: Int
    live: BigInt
    sandbox: BigInt


class LockedAccount(Row, frozen=True):
    """Holds an account whose wallet is locked. `config_epoch` is the configuration's epoch.
    `keys_quota` is in the form that `quota_of_column` reads.
    """

    account_id: Id
    config_epoch: BigInt
    keys: KeysOfDay
    keys_quota: BigInt | None
    partner_id: Id | None


# As sends lock them: what is sent to a phone and what is given back wait for each other, in
# whatever process. On SQLite there is one writer.
_LOCKED: Final = f"""
    SELECT account_id, (SELECT epoch FROM config) AS config_epoch, keys_day AS day,
        keys_octets AS live, sandbox_keys_octets AS sandbox,
           (SELECT coalesce(q.octets, {storage_of_keys.NO_BOUND}) FROM storage_quotas q
            WHERE q.account_id = wallets.account_id
                AND q.kind = '{quotas.StoredKind.KEYS.value}') AS keys_quota,
           (SELECT a.parent_id FROM accounts a WHERE a.id = wallets.account_id) AS partner_id
    FROM wallets WHERE account_id """
# With a customer's partner, whose tallies count what is verified; on SQLite, where nothing has to
# be locked, without. Who is whose customer never changes.
LOCK_ACCOUNTS: Final = BatchStatement(
    AccountKey,
    LockedAccount,
    postgresql=f"""{_LOCKED} IN (
            SELECT unnest(:account_id) UNION SELECT c.parent_id FROM accounts c
                WHERE c.id = ANY(:account_id) AND c.parent_id IS NOT NULL)
        ORDER BY account_id FOR NO KEY UPDATE OF wallets""",
    sqlite=f"{_LOCKED} = :account_id",
)


class PhoneKey(Row, frozen=True):
    account_id: Id
    sandbox: Bool
    phone: BigInt


LATEST: Final = BatchStatement(
    PhoneKey,
    Otp,
    postgresql=f"""
        SELECT {OTP_COLUMNS} FROM :given AS g
        CROSS JOIN LATERAL (SELECT * FROM otps WHERE otps.account_id = g.account_id
            AND otps.sandbox = g.sandbox AND otps.phone = g.phone
                            ORDER BY otps.id DESC LIMIT 1) o""",
    sqlite=f"""
        SELECT {OTP_COLUMNS} FROM otps o WHERE o.account_id = :account_id AND o.sandbox = :sandbox
            AND o.phone = :phone ORDER BY o.id DESC LIMIT 1""",
)


class JudgedOtp(Row, frozen=True):
    """Holds what a try has changed of a one-time password."""

    id: Id
    failures: SmallInt
    locked_until_ms: BigInt | None
    verified_at_ms: BigInt | None
    verified_by: Id | None


STORE: Final = BatchStatement(
    JudgedOtp,
    Nothing,
    postgresql=f"""
        UPDATE otps SET failures = g.failures, locked_until_ms = g.locked_until_ms,
            verified_at_ms = g.verified_at_ms, verified_by = g.verified_by
        FROM :given AS g
        WHERE otps.id = g.id AND {OTP.may_become(PENDING, LOCKED, VERIFIED, of="otps.")}""",
    sqlite=f"""
        UPDATE otps SET failures = :failures, locked_until_ms = :locked_until_ms,
            verified_at_ms = :verified_at_ms, verified_by = :verified_by
        WHERE id = :id AND {OTP.may_become(PENDING, LOCKED, VERIFIED)}""",
)


FORGET_RANGES: Final = BatchStatement(
    RangeKey,
    Nothing,
    postgresql="""
        DELETE FROM otp_ranges r USING :given AS g WHERE r.account_id = g.account_id
            AND r.digits = g.digits""",
    sqlite="DELETE FROM otp_ranges WHERE account_id = :account_id AND digits = :digits",
)
