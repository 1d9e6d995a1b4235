"""The hot statements of accepting a batch of sends, in their two texts side by side: PostgreSQL over arrays, SQLite row by row.

Ids are raw, times milliseconds. One behaviour suite runs over both (`tests/capability/test_accept.py`).
"""

from collections.abc import Sequence
from typing import Any, Final, NamedTuple, TypeAlias

from heliograph.base.hot import HotTx
from heliograph.base.outage import Overtaken
from heliograph.messages.fair import HELD_FROM_US
from heliograph.requests import KEPT_MS

# Locks the batch's wallets in order of their ids, and tells the configuration's epoch.
_LOCK_WALLETS: Final = """
    SELECT account_id, coalesce(sandbox_credits, sms_credits), spent_day, spent_credits, balance_minor, currency, low_balance_credits,
           credits_alarm_armed,
           (SELECT epoch FROM config), keys_day, keys_octets, sandbox_keys_octets, closed
    FROM wallets WHERE account_id = ANY($1::uuid[]) ORDER BY account_id FOR UPDATE"""
# The same before a batch is judged, telling also whether any of its Idempotency-Keys was ever used: as good as never, and then there is
# nothing to look up. What a transaction that held the locks a moment ago has used is not seen here: _STORE finds out, and who is refused looks again.
_LOCK_AND_LOOK: Final = _LOCK_WALLETS.replace("closed", """closed,
           EXISTS (SELECT FROM unnest($2::uuid[], $3::bool[], $4::text[], $5::text[]) AS asked (account_id, sandbox, path, key)
                   JOIN idempotency_keys k USING (account_id, sandbox, path, key))""")
_LOCK_WALLETS_SQLITE: Final = """
    SELECT account_id, coalesce(sandbox_credits, sms_credits), spent_day, spent_credits, balance_minor, currency, low_balance_credits,
           credits_alarm_armed,
           (SELECT epoch FROM config), keys_day, keys_octets, sandbox_keys_octets, closed
    FROM wallets WHERE account_id = ?"""

_HEADS: Final = f"""
    SELECT c.id, (SELECT q.rank_us FROM queue q WHERE q.carrier_id = c.id AND q.rank_us >= $1 AND q.rank_us < {HELD_FROM_US}
                  ORDER BY q.rank_us LIMIT 1) FROM carriers c"""

_SEND_COLUMNS: Final = """s.id, s.account_id, s.sandbox, s.type, s.sender, s.encoding, s.segments, s.message_count, s.reference,
    s.credits_required, s.credits_used, s.credits_remaining, s.exceptions, s.created_at_ms"""

_FIND_KEYS: Final = f"""
    SELECT k.account_id, k.sandbox, k.path, k.key, k.body_sha256, {_SEND_COLUMNS}
    FROM unnest($1::uuid[], $2::bool[], $3::text[], $4::text[], $5::bigint[])
         AS asked (account_id, sandbox, path, key, since_ms)
    JOIN idempotency_keys k USING (account_id, sandbox, path, key)
    LEFT JOIN sends s ON s.id = k.send_id
    WHERE k.created_at_ms > asked.since_ms"""
_FIND_KEYS_SQLITE: Final = f"""
    SELECT k.account_id, k.sandbox, k.path, k.key, k.body_sha256, {_SEND_COLUMNS}
    FROM idempotency_keys k LEFT JOIN sends s ON s.id = k.send_id
    WHERE k.account_id = ? AND k.sandbox = ? AND k.path = ? AND k.key = ? AND k.created_at_ms > ?"""

_FIND_SENDS: Final = f"SELECT {_SEND_COLUMNS} FROM sends s WHERE s.id = ANY($1::uuid[])"
_FIND_SENDS_SQLITE: Final = f"SELECT {_SEND_COLUMNS} FROM sends s WHERE s.id = ?"

# One statement stores a whole batch. Per message only what differs stands in arrays; the rest is joined from its send, by its place.
_STORE: Final = """
    WITH batch AS MATERIALIZED (
        SELECT * FROM unnest($1::uuid[], $2::uuid[], $3::bool[], $4::text[], $5::text[], $6::text[], $7::text[], $8::smallint[], $9::int[],
                             $10::text[], $11::bigint[], $12::bigint[], $13::bigint[], $14::bigint[], $15::text[], $16::bigint[], $52::int[])
            WITH ORDINALITY
            AS s (id, account_id, sandbox, type, sender, text, encoding, segments, message_count, reference, expires_at_ms,
                  credits_required, credits_used, credits_remaining, exceptions, created_at_ms, group_id, place)
    ), stored_sends AS (
        INSERT INTO sends (id, account_id, sandbox, type, sender, text, encoding, segments, message_count, reference, expires_at_ms,
                           credits_required, credits_used, credits_remaining, exceptions, created_at_ms, group_id)
        SELECT id, account_id, sandbox, type, sender, text, encoding, segments, message_count, reference, expires_at_ms,
               credits_required, credits_used, credits_remaining, exceptions, created_at_ms, group_id FROM batch
    ), stored_messages AS (
        INSERT INTO messages (id, send_id, account_id, sandbox, recipient, country_code, carrier_id, status, segments, credits, group_id)
        SELECT m.id, s.id, s.account_id, s.sandbox, m.recipient, m.country_code, m.carrier_id, 'queued', s.segments, m.credits, s.group_id
        FROM unnest($17::uuid[], $18::bigint[], $19::bigint[], $20::text[], $21::smallint[], $22::int[])
             AS m (id, place, recipient, country_code, carrier_id, credits) JOIN batch s USING (place)
    ), stored_runs AS (
        INSERT INTO queue (carrier_id, rank_us, first_id, count, send_id, segments, prefix, attempt, not_before_ms, expires_at_ms)
        SELECT q.carrier_id, q.rank_us, q.first_id, q.count, s.id, s.segments, q.prefix, 1, 0, s.expires_at_ms
        FROM unnest($23::smallint[], $24::bigint[], $25::uuid[], $26::int[], $27::bigint[], $28::text[])
             AS q (carrier_id, rank_us, first_id, count, place, prefix) JOIN batch s USING (place)
    ), stored_keys AS (
        INSERT INTO idempotency_keys (account_id, sandbox, path, key, body_sha256, send_id, created_at_ms)
        SELECT * FROM unnest($29::uuid[], $30::bool[], $31::text[], $32::text[], $33::bytea[], $34::uuid[], $35::bigint[])
        ON CONFLICT (account_id, sandbox, path, key) DO UPDATE SET
            body_sha256 = excluded.body_sha256, send_id = excluded.send_id, created_at_ms = excluded.created_at_ms
            WHERE idempotency_keys.created_at_ms <= excluded.created_at_ms - $51::bigint  -- one that is too old to count
        RETURNING 1
    ), charged AS (
        INSERT INTO ledger_entries (id, account_id, counterpart_id, type, currency, amount_minor, credits, balance_after_minor, credits_after,
                                    description, reference, created_at_ms)
        SELECT l.id, l.account_id, $44::uuid, 'sms_charge', l.currency, 0, l.credits, l.balance_minor, l.credits_after, l.description, l.reference,
               l.created_at_ms
        FROM unnest($36::uuid[], $37::uuid[], $38::text[], $39::bigint[], $40::bigint[], $41::bigint[], $42::text[], $43::text[], $45::bigint[])
             AS l (id, account_id, currency, credits, balance_minor, credits_after, description, reference, created_at_ms)
    ), debited AS (
        UPDATE wallets SET sms_credits = coalesce(w.sms_credits, wallets.sms_credits), spent_day = w.spent_day, spent_credits = w.spent_credits,
                           credits_alarm_armed = w.armed, keys_day = w.keys_day, keys_octets = w.keys_octets,
                           sandbox_keys_octets = w.sandbox_keys_octets
        FROM unnest($46::uuid[], $47::bigint[], $48::int[], $49::bigint[], $50::bool[], $53::int[], $54::bigint[], $55::bigint[])
             AS w (account_id, sms_credits, spent_day, spent_credits, armed, keys_day, keys_octets, sandbox_keys_octets)
        WHERE wallets.account_id = w.account_id
    )
    SELECT count(*) FROM stored_keys"""

_STORE_SQLITE: Final = {
    "sends": """
        INSERT INTO sends (id, account_id, sandbox, type, sender, text, encoding, segments, message_count, reference, expires_at_ms,
                           credits_required, credits_used, credits_remaining, exceptions, created_at_ms, group_id)
        VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)""",
    "messages": """
        INSERT INTO messages (id, send_id, account_id, sandbox, recipient, country_code, carrier_id, status, segments, credits, group_id)
        VALUES (?, ?, ?, ?, ?, ?, ?, 'queued', ?, ?, ?)""",
    "runs": """
        INSERT INTO queue (carrier_id, rank_us, first_id, count, send_id, segments, prefix, attempt, not_before_ms, expires_at_ms)
        VALUES (?, ?, ?, ?, ?, ?, ?, 1, 0, ?)""",
    "keys": """
        INSERT INTO idempotency_keys (account_id, sandbox, path, key, body_sha256, send_id, created_at_ms) VALUES (?, ?, ?, ?, ?, ?, ?)
        ON CONFLICT (account_id, sandbox, path, key) DO UPDATE SET
            body_sha256 = excluded.body_sha256, send_id = excluded.send_id, created_at_ms = excluded.created_at_ms""",
    "entries": """
        INSERT INTO ledger_entries (id, account_id, counterpart_id, type, currency, amount_minor, credits, balance_after_minor, credits_after,
                                    description, reference, created_at_ms)
        VALUES (?, ?, ?, 'sms_charge', ?, 0, ?, ?, ?, ?, ?, ?)""",
    "wallets": """
        UPDATE wallets SET sms_credits = coalesce(?, sms_credits), spent_day = ?, spent_credits = ?, credits_alarm_armed = ?, keys_day = ?,
               keys_octets = ?, sandbox_keys_octets = ?
        WHERE account_id = ?""",
}


AskedKey: TypeAlias = tuple[str, bool, str, str, int]  # account, mode, path, key, and since when a use of it counts


class Columns(NamedTuple):
    """A batch as columns of values, equally long within each table."""

    sends: tuple[list[Any], ...]  # 17: as the table
    messages: tuple[list[Any], ...]  # id, send (its place, from 1), recipient, country_code, carrier_id, credits
    runs: tuple[list[Any], ...]  # carrier_id, rank_us, first_id, count, send, prefix
    keys: tuple[list[Any], ...]  # account_id, sandbox, path, key, body_sha256, send_id, created_at_ms
    entries: tuple[list[Any], ...]  # id, account_id, currency, credits, balance_minor, credits_after, description, reference, created_at_ms
    wallets: tuple[list[Any], ...]  # account_id, sms_credits (None: as they are), spent_day, spent_credits, armed, keys_day, keys_octets, sandbox…


async def lock_wallets(tx: HotTx, account_ids: list[str]) -> list[Any]:
    """Of each account: its wallet's figures, the configuration's epoch, and whether it is closed."""
    return await tx.over(_LOCK_WALLETS if tx.postgresql else _LOCK_WALLETS_SQLITE, account_ids)


async def lock_and_look(tx: HotTx, account_ids: list[str], asked: Sequence[AskedKey]) -> tuple[list[Any], bool]:
    """The same, and whether any of these Idempotency-Keys may have been used."""
    if not tx.postgresql or not asked:
        return await lock_wallets(tx, account_ids), bool(asked)
    rows = await tx.fetch(_LOCK_AND_LOOK, account_ids, *map(list, list(zip(*asked, strict=True))[:4]))
    return rows, rows[0][13]


async def heads(tx: HotTx, bulk_from_us: int) -> list[Any]:
    """Of each carrier: its id, and the rank of bulk that its queue serves next (None: none waits)."""
    return await tx.fetch(_HEADS, bulk_from_us)


async def find_keys(tx: HotTx, asked: Sequence[AskedKey]) -> list[Any]:
    """Of (account, mode, path, key, since_ms) the rows that were used since: account, mode, path, key, body_sha256, then the send's columns."""
    if not asked:
        return []
    return await tx.over(_FIND_KEYS if tx.postgresql else _FIND_KEYS_SQLITE, *map(list, zip(*asked, strict=True)))


async def find_sends(tx: HotTx, send_ids: list[str]) -> list[Any]:
    return await tx.over(_FIND_SENDS if tx.postgresql else _FIND_SENDS_SQLITE, send_ids)


async def store(tx: HotTx, columns: Columns, sales_account: str) -> None:
    """Stores a batch: sends, messages, queue, idempotency keys, ledger entries, and the wallets' new figures.

    Raises Overtaken when one of the keys was used since the batch looked."""
    if tx.postgresql:
        entries = columns.entries
        *sends, group_ids = columns.sends
        rows = await tx.fetch(_STORE, *sends, *columns.messages, *columns.runs, *columns.keys, *entries[:8], sales_account, entries[8],
                              *columns.wallets[:5], KEPT_MS, group_ids, *columns.wallets[5:])
        if rows[0][0] < len(columns.keys[0]):
            raise Overtaken
        return
    of_send, (ids, places, *rest) = columns.sends, columns.messages
    at = [place - 1 for place in places]
    await tx.over(_STORE_SQLITE["sends"], *of_send)
    await tx.over(_STORE_SQLITE["messages"], ids, *([of_send[column][i] for i in at] for column in (0, 1, 2)), *rest[:3], [of_send[7][i] for i in at],
                  rest[3], [of_send[16][i] for i in at])
    carrier_ids, ranks, firsts, counts, of_runs, prefixes = columns.runs
    at = [place - 1 for place in of_runs]
    await tx.over(_STORE_SQLITE["runs"], carrier_ids, ranks, firsts, counts, [of_send[0][i] for i in at], [of_send[7][i] for i in at], prefixes,
                  [of_send[10][i] for i in at])
    await tx.over(_STORE_SQLITE["keys"], *columns.keys)
    entry_id, account, *others = columns.entries
    await tx.over(_STORE_SQLITE["entries"], entry_id, account, [sales_account] * len(entry_id), *others)
    account_ids, *figures = columns.wallets
    await tx.over(_STORE_SQLITE["wallets"], *figures, account_ids)
