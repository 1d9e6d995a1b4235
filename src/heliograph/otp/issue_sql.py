"""The hot statements of sending one-time passwords, in their two texts side by side. Ids are raw, times milliseconds."""

from typing import Final

from heliograph.base.hot import Statement

COLUMNS: Final = """o.id, o.account_id, o.sandbox, o.phone, o.code_hmac, o.failures, o.locked_until_ms, o.verified_at_ms, o.verified_by,
    o.created_at_ms"""

# Of each phone what it was sent in a day, the latest first: 450 at most, as three in ten minutes are. The limit also keeps a plan that was made while
# the table was empty from reading all of it later.
RECENT: Final = Statement(
    f"""SELECT {COLUMNS} FROM unnest($1::uuid[], $2::bigint[], $3::uuid[]) AS asked (account_id, phone, since)
        CROSS JOIN LATERAL (SELECT * FROM otps WHERE otps.account_id = asked.account_id AND otps.sandbox = false AND otps.phone = asked.phone
                            AND otps.id >= asked.since ORDER BY otps.id DESC LIMIT 500) o""",
    f"SELECT {COLUMNS} FROM otps o WHERE o.account_id = ? AND o.sandbox = false AND o.phone = ? AND o.id >= ? ORDER BY o.id DESC LIMIT 500")

RANGES: Final = Statement(
    """SELECT r.account_id, r.digits, r.sent_at_ms, r.blocked_at_ms
       FROM unnest($1::uuid[], $2::text[]) AS asked (account_id, digits) JOIN otp_ranges r USING (account_id, digits)""",
    "SELECT account_id, digits, sent_at_ms, blocked_at_ms FROM otp_ranges WHERE account_id = ? AND digits = ?")

STORE_OTPS: Final = Statement(
    """INSERT INTO otps (id, account_id, sandbox, phone, code_hmac, failures, created_at_ms)
       SELECT * FROM unnest($1::uuid[], $2::uuid[], $3::bool[], $4::bigint[], $5::bytea[], $6::smallint[], $7::bigint[])""",
    "INSERT INTO otps (id, account_id, sandbox, phone, code_hmac, failures, created_at_ms) VALUES (?, ?, ?, ?, ?, ?, ?)")

_CHANGED: Final = """ON CONFLICT (account_id, digits) DO UPDATE SET
    sent_at_ms = excluded.sent_at_ms, blocked_at_ms = excluded.blocked_at_ms, changed_at_ms = excluded.changed_at_ms"""
STORE_RANGES: Final = Statement(
    f"""INSERT INTO otp_ranges (account_id, digits, sent_at_ms, blocked_at_ms, changed_at_ms)
        SELECT * FROM unnest($1::uuid[], $2::text[], $3::text[], $4::bigint[], $5::bigint[]) {_CHANGED}""",
    f"INSERT INTO otp_ranges (account_id, digits, sent_at_ms, blocked_at_ms, changed_at_ms) VALUES (?, ?, ?, ?, ?) {_CHANGED}")
