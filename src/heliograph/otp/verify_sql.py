"""The hot statements of verifying, in their two texts side by side. Order of locks: wallets, then the rest. Ids are raw, times milliseconds."""

from typing import Any, Final

from heliograph.accounts import NO_BOUND, Stored
from heliograph.base.hot import HotTx, Statement
from heliograph.otp.issue_sql import COLUMNS

# As sends lock them: what is sent to a phone and what is given back wait for each other, in whatever process. On SQLite there is one writer.
_LOCKED: Final = f"""
    SELECT account_id, (SELECT epoch FROM config), keys_day, keys_octets, sandbox_keys_octets,
           (SELECT coalesce(q.octets, {NO_BOUND}) FROM storage_quotas q WHERE q.account_id = wallets.account_id AND q.kind = '{Stored.KEYS.value}'),
           (SELECT a.parent_id FROM accounts a WHERE a.id = wallets.account_id)
    FROM wallets WHERE account_id """
# A customer's partner as well, whose tallies count what is verified. Who is whose customer never changes.
_LOCK: Final = f"""{_LOCKED} IN (
        SELECT unnest($1::uuid[]) UNION SELECT c.parent_id FROM accounts c WHERE c.id = ANY($1::uuid[]) AND c.parent_id IS NOT NULL)
    ORDER BY account_id FOR NO KEY UPDATE OF wallets"""
_LOCK_SQLITE: Final = f"{_LOCKED} = ?"

LATEST: Final = Statement(
    f"""SELECT {COLUMNS} FROM unnest($1::uuid[], $2::bool[], $3::bigint[]) AS asked (account_id, sandbox, phone)
        CROSS JOIN LATERAL (SELECT * FROM otps WHERE otps.account_id = asked.account_id AND otps.sandbox = asked.sandbox AND otps.phone = asked.phone
                            ORDER BY otps.id DESC LIMIT 1) o""",
    f"SELECT {COLUMNS} FROM otps o WHERE o.account_id = ? AND o.sandbox = ? AND o.phone = ? ORDER BY o.id DESC LIMIT 1")

KEYS: Final = Statement(
    """SELECT k.account_id, k.sandbox, k.key, k.body_sha256, k.answer
       FROM unnest($1::uuid[], $2::bool[], $3::text[], $4::text[], $5::bigint[]) AS asked (account_id, sandbox, path, key, since_ms)
       JOIN idempotency_keys k USING (account_id, sandbox, path, key) WHERE k.created_at_ms > asked.since_ms""",
    """SELECT k.account_id, k.sandbox, k.key, k.body_sha256, k.answer FROM idempotency_keys k
       WHERE k.account_id = ? AND k.sandbox = ? AND k.path = ? AND k.key = ? AND k.created_at_ms > ?""")

STORE: Final = Statement(
    """UPDATE otps SET failures = t.failures, locked_until_ms = t.locked_until_ms, verified_at_ms = t.verified_at_ms, verified_by = t.verified_by
       FROM unnest($1::uuid[], $2::smallint[], $3::bigint[], $4::bigint[], $5::uuid[])
            AS t (id, failures, locked_until_ms, verified_at_ms, verified_by) WHERE otps.id = t.id""",
    "UPDATE otps SET failures = ?2, locked_until_ms = ?3, verified_at_ms = ?4, verified_by = ?5 WHERE id = ?1")

FORGET_RANGES: Final = Statement(
    """DELETE FROM otp_ranges r USING unnest($1::uuid[], $2::text[]) AS v (account_id, digits)
       WHERE r.account_id = v.account_id AND r.digits = v.digits""",
    "DELETE FROM otp_ranges WHERE account_id = ? AND digits = ?")

COUNT_KEYS: Final = Statement(
    """UPDATE wallets SET keys_day = k.day, keys_octets = k.live, sandbox_keys_octets = k.sandbox
       FROM unnest($1::uuid[], $2::int[], $3::bigint[], $4::bigint[]) AS k (account_id, day, live, sandbox)
       WHERE wallets.account_id = k.account_id""",
    "UPDATE wallets SET keys_day = ?2, keys_octets = ?3, sandbox_keys_octets = ?4 WHERE account_id = ?1")

_ANSWERED: Final = """ON CONFLICT (account_id, sandbox, path, key) DO UPDATE SET
    body_sha256 = excluded.body_sha256, answer = excluded.answer, created_at_ms = excluded.created_at_ms"""
STORE_KEYS: Final = Statement(
    f"""INSERT INTO idempotency_keys (account_id, sandbox, path, key, body_sha256, answer, created_at_ms)
        SELECT * FROM unnest($1::uuid[], $2::bool[], $3::text[], $4::text[], $5::bytea[], $6::text[], $7::bigint[]) {_ANSWERED}""",
    f"INSERT INTO idempotency_keys (account_id, sandbox, path, key, body_sha256, answer, created_at_ms) VALUES (?, ?, ?, ?, ?, ?, ?) {_ANSWERED}")


async def lock_accounts(tx: HotTx, account_ids: list[str]) -> list[Any]:
    """Locks the wallets of these accounts (raw ids, in order) and of their partners; of each its id, the configuration's epoch, its KeyCount, the
    quota of it, as `quota_told` reads it, and its partner (on SQLite, where no partner's wallet has to be locked, of these accounts alone)."""
    return await tx.over(_LOCK if tx.postgresql else _LOCK_SQLITE, account_ids)
