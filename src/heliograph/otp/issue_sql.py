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

# Of each country (and of all, `*`) of an account: what the operator allows, and the tally, whose columns are null where there is none yet.
TALLIES: Final = Statement(
    """SELECT a.id, asked.country_code, a.otp_unverified, t.hour, t.sent, t.verified, t.best, t.capped_at_ms
       FROM unnest($1::uuid[], $2::text[]) AS asked (account_id, country_code) JOIN accounts a ON a.id = asked.account_id
       LEFT JOIN otp_tallies t ON t.account_id = asked.account_id AND t.country_code = asked.country_code""",
    """SELECT a.id, ?2, a.otp_unverified, t.hour, t.sent, t.verified, t.best, t.capped_at_ms
       FROM accounts a LEFT JOIN otp_tallies t ON t.account_id = a.id AND t.country_code = ?2 WHERE a.id = ?1""")

_COUNTED: Final = """ON CONFLICT (account_id, country_code) DO UPDATE SET hour = excluded.hour, sent = excluded.sent, verified = excluded.verified,
    best = excluded.best, capped_at_ms = excluded.capped_at_ms, changed_at_ms = excluded.changed_at_ms"""
STORE_TALLIES: Final = Statement(
    f"""INSERT INTO otp_tallies (account_id, country_code, hour, sent, verified, best, capped_at_ms, changed_at_ms)
        SELECT * FROM unnest($1::uuid[], $2::text[], $3::bigint[], $4::text[], $5::text[], $6::text[], $7::bigint[], $8::bigint[]) {_COUNTED}""",
    f"""INSERT INTO otp_tallies (account_id, country_code, hour, sent, verified, best, capped_at_ms, changed_at_ms)
        VALUES (?, ?, ?, ?, ?, ?, ?, ?) {_COUNTED}""")
