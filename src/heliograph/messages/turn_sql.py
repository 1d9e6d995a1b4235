"""The hot statements of a carrier's turn, in their two texts side by side. Order of locks: in flight, refs, messages, wallets, ledger."""

from typing import Any, Final

from heliograph.base.hot import HotTx, Statement
from heliograph.base.json import encode
from heliograph.messages.fair import HELD_FROM_US
from heliograph.webhooks import EARS, EARS_SQLITE, ENDPOINTS_EXIST, HEARS

# --- what came in ---

# Of this attempt only: a late answer to the first one says nothing of the second. And of the process that was answered only, for a number of try
# may be another's after this one gave it back. What is in doubt ends for NOBODY too: for a receipt, a sweep, an operator.
_END_INFLIGHT: Final = """
    DELETE FROM inflight i USING unnest($1::uuid[], $2::smallint[], $3::smallint[], $4::bigint[]) AS a (message_id, part, attempt, worker)
    WHERE i.message_id = a.message_id AND i.part = a.part AND i.attempt = a.attempt
        AND (i.worker = a.worker OR (a.worker = 0 AND i.state = 'in_doubt'))
    RETURNING i.message_id, i.part, i.parts, i.attempt, i.prefix, i.expires_at_ms"""
_END_INFLIGHT_SQLITE: Final = """
    DELETE FROM inflight WHERE message_id = ?1 AND part = ?2 AND attempt = ?3 AND (worker = ?4 OR (?4 = 0 AND state = 'in_doubt'))
    RETURNING message_id, part, parts, attempt, prefix, expires_at_ms"""

_DOUBT: Final = """
    UPDATE inflight i SET state = 'in_doubt', since_ms = a.since_ms
    FROM unnest($1::uuid[], $2::smallint[], $3::smallint[], $4::bigint[], $5::bigint[]) AS a (message_id, part, attempt, worker, since_ms)
    WHERE i.message_id = a.message_id AND i.part = a.part AND i.attempt = a.attempt AND i.worker = a.worker AND i.state <> 'in_doubt'"""
_DOUBT_SQLITE: Final = """
    UPDATE inflight SET state = 'in_doubt', since_ms = ?5
    WHERE message_id = ?1 AND part = ?2 AND attempt = ?3 AND worker = ?4 AND state <> 'in_doubt'"""

# Answer and receipt both upsert the carrier's id of a segment; RETURNING shows whoever comes second what the first one left. An id that
# belonged to another message is one the carrier uses anew: that message's receipt is forgotten. A final receipt is not overwritten, unless
# it named another handset: then it was none of this message's. An id's age is that of the answer which gave it to its message.
_REF_OF_ANSWER: Final = """
    INSERT INTO carrier_refs AS r (carrier_id, ref, message_id, parts, created_at_ms)
    SELECT * FROM unnest($1::smallint[], $2::text[], $3::uuid[], $4::smallint[], $5::bigint[])
    ON CONFLICT (carrier_id, ref) DO UPDATE SET message_id = excluded.message_id,
        parts = CASE WHEN r.message_id = excluded.message_id THEN r.parts | excluded.parts ELSE excluded.parts END,
        receipt_state = CASE WHEN coalesce(r.message_id, excluded.message_id) = excluded.message_id THEN r.receipt_state END,
        receipt_error = CASE WHEN coalesce(r.message_id, excluded.message_id) = excluded.message_id THEN r.receipt_error END,
        recipient = CASE WHEN coalesce(r.message_id, excluded.message_id) = excluded.message_id THEN r.recipient END,
        created_at_ms = CASE WHEN r.message_id = excluded.message_id THEN r.created_at_ms ELSE excluded.created_at_ms END
    RETURNING r.ref, r.message_id, r.parts, r.recipient, r.receipt_state, r.receipt_error, r.printed"""
_REF_OF_ANSWER_SQLITE: Final = """
    INSERT INTO carrier_refs (carrier_id, ref, message_id, parts, created_at_ms) VALUES (?, ?, ?, ?, ?)
    ON CONFLICT (carrier_id, ref) DO UPDATE SET message_id = excluded.message_id,
        parts = CASE WHEN carrier_refs.message_id = excluded.message_id THEN carrier_refs.parts | excluded.parts ELSE excluded.parts END,
        receipt_state = CASE WHEN coalesce(carrier_refs.message_id, excluded.message_id) = excluded.message_id THEN carrier_refs.receipt_state END,
        receipt_error = CASE WHEN coalesce(carrier_refs.message_id, excluded.message_id) = excluded.message_id THEN carrier_refs.receipt_error END,
        recipient = CASE WHEN coalesce(carrier_refs.message_id, excluded.message_id) = excluded.message_id THEN carrier_refs.recipient END,
        created_at_ms = CASE WHEN carrier_refs.message_id = excluded.message_id THEN carrier_refs.created_at_ms ELSE excluded.created_at_ms END
    RETURNING ref, message_id, parts, recipient, receipt_state, receipt_error, printed"""

_REF_OF_RECEIPT: Final = """
    INSERT INTO carrier_refs AS r (carrier_id, ref, recipient, receipt_state, receipt_error, created_at_ms)
    SELECT * FROM unnest($1::smallint[], $2::text[], $3::bigint[], $4::text[], $5::text[], $6::bigint[])
    ON CONFLICT (carrier_id, ref) DO UPDATE SET
        recipient = excluded.recipient,
        receipt_error = CASE WHEN r.receipt_state NOT IN ('ACCEPTD', 'ENROUTE') AND r.recipient IS NOT DISTINCT FROM excluded.recipient
            THEN r.receipt_error ELSE excluded.receipt_error END,
        receipt_state = CASE WHEN r.receipt_state NOT IN ('ACCEPTD', 'ENROUTE') AND r.recipient IS NOT DISTINCT FROM excluded.recipient
            THEN r.receipt_state ELSE excluded.receipt_state END
    RETURNING r.ref, r.message_id, r.parts, r.recipient, r.receipt_state, r.receipt_error, r.printed"""
_REF_OF_RECEIPT_SQLITE: Final = """
    INSERT INTO carrier_refs (carrier_id, ref, recipient, receipt_state, receipt_error, created_at_ms) VALUES (?, ?, ?, ?, ?, ?)
    ON CONFLICT (carrier_id, ref) DO UPDATE SET
        recipient = excluded.recipient,
        receipt_error = CASE WHEN carrier_refs.receipt_state NOT IN ('ACCEPTD', 'ENROUTE') AND carrier_refs.recipient IS excluded.recipient
            THEN carrier_refs.receipt_error ELSE excluded.receipt_error END,
        receipt_state = CASE WHEN carrier_refs.receipt_state NOT IN ('ACCEPTD', 'ENROUTE') AND carrier_refs.recipient IS excluded.recipient
            THEN carrier_refs.receipt_state ELSE excluded.receipt_state END
    RETURNING ref, message_id, parts, recipient, receipt_state, receipt_error, printed"""

# What else a receipt says, and its id as it was printed: only a doubt or a changed format may need it, so only receipts that found no message
# keep it.
_ECHO: Final = """
    UPDATE carrier_refs r SET printed = e.printed, sender = e.sender, user_message_reference = e.reference
    FROM unnest($1::smallint[], $2::text[], $3::text[], $4::text[], $5::int[]) AS e (carrier_id, ref, printed, sender, reference)
    WHERE r.carrier_id = e.carrier_id AND r.ref = e.ref"""
_ECHO_SQLITE: Final = """
    UPDATE carrier_refs SET printed = ?3, sender = ?4, user_message_reference = ?5 WHERE carrier_id = ?1 AND ref = ?2"""

# A receipt that is none of its row's message, or that waits for a changed format, moves to a row of its own, as it was printed.
_PARKED_COLUMNS: Final = "id, carrier_id, ref, receipt_state, receipt_error, recipient, sender, user_message_reference, raw, received_at_ms"
_PARK: Final = f"""
    INSERT INTO unmatched_receipts ({_PARKED_COLUMNS})
    SELECT p.id, r.carrier_id, coalesce(r.printed, r.ref), r.receipt_state, r.receipt_error, r.recipient, r.sender, r.user_message_reference,
           ''::bytea, CASE WHEN r.message_id IS NULL THEN r.created_at_ms ELSE p.at_ms END
    FROM unnest($1::smallint[], $2::text[], $3::uuid[], $4::bigint[]) AS p (carrier_id, ref, id, at_ms)
    JOIN carrier_refs r ON r.carrier_id = p.carrier_id AND r.ref = p.ref"""
_PARK_SQLITE: Final = f"""
    INSERT INTO unmatched_receipts ({_PARKED_COLUMNS})
    SELECT ?3, carrier_id, coalesce(printed, ref), receipt_state, receipt_error, recipient, sender, user_message_reference, x'',
           CASE WHEN message_id IS NULL THEN created_at_ms ELSE ?4 END
    FROM carrier_refs WHERE carrier_id = ?1 AND ref = ?2"""
_CLEAR_REF: Final = """
    UPDATE carrier_refs r SET receipt_state = NULL, receipt_error = NULL, recipient = NULL, printed = NULL, sender = NULL,
                              user_message_reference = NULL
    FROM unnest($1::smallint[], $2::text[]) AS c (carrier_id, ref) WHERE r.carrier_id = c.carrier_id AND r.ref = c.ref"""
_CLEAR_REF_SQLITE: Final = """
    UPDATE carrier_refs SET receipt_state = NULL, receipt_error = NULL, recipient = NULL, printed = NULL, sender = NULL,
                            user_message_reference = NULL
    WHERE carrier_id = ?1 AND ref = ?2"""
_FORGET_REF: Final = """
    DELETE FROM carrier_refs r USING unnest($1::smallint[], $2::text[]) AS f (carrier_id, ref)
    WHERE r.carrier_id = f.carrier_id AND r.ref = f.ref AND r.message_id IS NULL"""
_FORGET_REF_SQLITE: Final = "DELETE FROM carrier_refs WHERE carrier_id = ? AND ref = ? AND message_id IS NULL"
_FORGET_RECEIPT: Final = "DELETE FROM unmatched_receipts u USING unnest($1::uuid[]) AS f (id) WHERE u.id = f.id"
_FORGET_RECEIPT_SQLITE: Final = "DELETE FROM unmatched_receipts WHERE id = ?"

_HANDSETS: Final = """
    SELECT r.ref, m.recipient FROM unnest($1::smallint[], $2::text[]) AS k (carrier_id, ref)
    JOIN carrier_refs r ON r.carrier_id = k.carrier_id AND r.ref = k.ref JOIN messages m ON m.id = r.message_id"""
_HANDSETS_SQLITE: Final = """
    SELECT r.ref, m.recipient FROM carrier_refs r JOIN messages m ON m.id = r.message_id WHERE r.carrier_id = ? AND r.ref = ?"""

_MESSAGE_COLUMNS: Final = """m.id, m.send_id, m.account_id, m.sandbox, m.recipient, m.status, m.segments, m.credits, m.refunded, m.parts_accepted,
    m.parts_delivered, m.error_code, m.error_message, m.group_id"""
# What events show beside: read only where an endpoint hears of the message's account.
_TOLD_COLUMNS: Final = """s.type, s.sender, m.country_code, s.text, s.encoding, s.reference, s.created_at_ms, m.sent_at_ms, m.delivered_at_ms,
    m.failed_at_ms, g.campaign_id"""
# The bounds tell PostgreSQL which partitions to look into; the list alone would not. SQLite is asked once for all: an execution costs as much as
# a row. While there is no endpoint at all, nobody is looked for.
_SHOWN: Final = f"""heard AS (
        SELECT a.id, {{ears}} AS ears FROM (SELECT DISTINCT account_id FROM m WHERE {ENDPOINTS_EXIST}) d
        JOIN accounts a ON a.id = d.account_id JOIN webhook_endpoints e ON {HEARS} GROUP BY a.id)
    SELECT {_MESSAGE_COLUMNS}, h.ears, {_TOLD_COLUMNS}
    FROM m LEFT JOIN heard h ON h.id = m.account_id LEFT JOIN sends s ON s.id = CASE WHEN h.ears IS NOT NULL THEN m.send_id END
    LEFT JOIN groups g ON g.id = s.group_id ORDER BY m.id"""
_LOCK_MESSAGES: Final = f"""
    WITH m AS (SELECT * FROM messages WHERE id = ANY($1::uuid[]) AND id >= $2::uuid AND id <= $3::uuid ORDER BY id FOR UPDATE),
    {_SHOWN.format(ears=EARS)}"""
_LOCK_MESSAGES_SQLITE: Final = f"""
    WITH m AS MATERIALIZED (SELECT messages.* FROM json_each($1) j JOIN messages ON messages.id = j.value),
    {_SHOWN.format(ears=EARS_SQLITE)}"""

_OUTSTANDING: Final = """
    SELECT message_id, count(*), min(expires_at_ms) FROM inflight WHERE message_id = ANY($1::uuid[]) GROUP BY message_id"""
_OUTSTANDING_SQLITE: Final = "SELECT message_id, count(*), min(expires_at_ms) FROM inflight WHERE message_id = ? GROUP BY message_id"

_STORE_MESSAGES: Final = """
    UPDATE messages m SET status = u.status, parts_accepted = u.accepted, parts_delivered = u.delivered, error_code = u.error_code,
           error_message = u.error_message, refunded = u.refunded, sent_at_ms = coalesce(m.sent_at_ms, u.sent_at_ms),
           delivered_at_ms = coalesce(m.delivered_at_ms, u.delivered_at_ms), failed_at_ms = coalesce(m.failed_at_ms, u.failed_at_ms)
    FROM unnest($1::uuid[], $2::text[], $3::smallint[], $4::smallint[], $5::text[], $6::text[], $7::int[], $8::bigint[], $9::bigint[],
                $10::bigint[])
         AS u (id, status, accepted, delivered, error_code, error_message, refunded, sent_at_ms, delivered_at_ms, failed_at_ms)
    WHERE m.id = u.id AND m.id >= $11::uuid AND m.id <= $12::uuid"""
_STORE_MESSAGES_SQLITE: Final = """
    UPDATE messages SET status = ?2, parts_accepted = ?3, parts_delivered = ?4, error_code = ?5, error_message = ?6, refunded = ?7,
           sent_at_ms = coalesce(sent_at_ms, ?8), delivered_at_ms = coalesce(delivered_at_ms, ?9), failed_at_ms = coalesce(failed_at_ms, ?10)
    WHERE id = ?1"""

# Once in the life of a segment, whatever its other tries meet: so the mark is the message's own, and not one of its place in queue or window.
_RESENT: Final = """
    UPDATE messages m SET parts_resent = m.parts_resent | r.parts FROM unnest($1::uuid[], $2::smallint[]) AS r (id, parts) WHERE m.id = r.id"""
_RESENT_SQLITE: Final = "UPDATE messages SET parts_resent = parts_resent | ?2 WHERE id = ?1"

# What nobody holds: its process has no row any more; and, of one carrier, what this process itself held before.
_ORPHANED: Final = "(NOT EXISTS (SELECT 1 FROM workers w WHERE w.epoch = inflight.worker) OR (worker = $1 AND carrier_id = $2))"
DOUBT_ORPHANS: Final = f"""
    UPDATE inflight SET state = 'in_doubt', since_ms = $4 WHERE state = 'submitting' AND carrier_id <> $3 AND {_ORPHANED}"""
ORPHANS: Final = f"""
    SELECT message_id, part, prefix, attempt, expires_at_ms, carrier_id, worker FROM inflight
    WHERE (state = 'claimed' OR (state = 'submitting' AND carrier_id = $3)) AND {_ORPHANED}"""

# --- what goes out ---

_QUEUE_COLUMNS: Final = "carrier_id, rank_us, first_id, count, send_id, segments, prefix, attempt, not_before_ms, expires_at_ms"
_QUEUE: Final = f"""
    INSERT INTO queue ({_QUEUE_COLUMNS})
    SELECT * FROM unnest($1::smallint[], $2::bigint[], $3::uuid[], $4::int[], $5::uuid[], $6::smallint[], $7::text[], $8::smallint[],
                         $9::bigint[], $10::bigint[])"""
_QUEUE_SQLITE: Final = f"INSERT INTO queue ({_QUEUE_COLUMNS}) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)"
# A message comes back at the same place with each of its parts; whoever claims it takes all that are missing. No part may go out with the
# number of an earlier try of its own: that one's late answer would end it.
_QUEUE_AGAIN: Final = f"{_QUEUE} ON CONFLICT (carrier_id, rank_us, first_id) DO UPDATE SET attempt = greatest(queue.attempt, excluded.attempt)"
_QUEUE_AGAIN_SQLITE: Final = f"{_QUEUE_SQLITE} ON CONFLICT DO UPDATE SET attempt = max(attempt, excluded.attempt)"

# Nothing for a process whose row is gone: it was stopped for so long that others do its work, and may not know yet.
_NEXT_RUNS: Final = f"""
    SELECT {_QUEUE_COLUMNS} FROM queue WHERE carrier_id = $1 AND rank_us < {HELD_FROM_US} AND not_before_ms <= $2 AND expires_at_ms > $2
        AND EXISTS (SELECT 1 FROM workers WHERE epoch = $4)
    ORDER BY rank_us, first_id LIMIT $3 FOR UPDATE SKIP LOCKED"""
_NEXT_RUNS_SQLITE: Final = _NEXT_RUNS.replace("FOR UPDATE SKIP LOCKED", "")

_TAKE_RUNS: Final = """
    DELETE FROM queue q USING unnest($1::smallint[], $2::bigint[], $3::uuid[]) AS t (carrier_id, rank_us, first_id)
    WHERE q.carrier_id = t.carrier_id AND q.rank_us = t.rank_us AND q.first_id = t.first_id"""
_TAKE_RUNS_SQLITE: Final = "DELETE FROM queue WHERE carrier_id = ? AND rank_us = ? AND first_id = ?"

_OUTGOING_COLUMNS: Final = "m.id, m.recipient, m.parts_accepted, s.sender, s.text, s.encoding, s.segments, s.type, m.send_id"
_OUTGOING: Final = f"""
    SELECT {_OUTGOING_COLUMNS} FROM messages m JOIN sends s ON s.id = m.send_id
    WHERE m.id = ANY($1::uuid[]) AND m.id >= $2::uuid AND m.id <= $3::uuid AND m.status = 'queued'"""
_OUTGOING_SQLITE: Final = f"""
    SELECT {_OUTGOING_COLUMNS} FROM messages m JOIN sends s ON s.id = m.send_id WHERE m.id = ? AND m.status = 'queued'"""

_OUTGOING_LOCKED: Final = f"{_OUTGOING} ORDER BY m.id FOR SHARE OF m SKIP LOCKED"

# A part that another process is just ending is in flight still: to insert it would wait for that one's commit, which may wait for a message that
# is held here.
_CLAIM: Final = """
    INSERT INTO inflight (message_id, part, parts, carrier_id, worker, attempt, state, prefix, expires_at_ms, since_ms)
    SELECT * FROM unnest($1::uuid[], $2::smallint[], $3::smallint[], $4::smallint[], $5::bigint[], $6::smallint[], $7::text[], $8::text[],
                         $9::bigint[], $10::bigint[]) AS c (message_id, part)
    WHERE NOT EXISTS (SELECT 1 FROM inflight i WHERE i.message_id = c.message_id AND i.part = c.part)
    ON CONFLICT DO NOTHING RETURNING message_id, part"""
_CLAIM_SQLITE: Final = """
    INSERT INTO inflight (message_id, part, parts, carrier_id, worker, attempt, state, prefix, expires_at_ms, since_ms)
    VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
    ON CONFLICT DO NOTHING RETURNING message_id, part"""

_SUBMITTING: Final = """
    UPDATE inflight i SET state = 'submitting', since_ms = a.since_ms
    FROM unnest($1::uuid[], $2::smallint[], $3::bigint[], $4::bigint[]) AS a (message_id, part, worker, since_ms)
    WHERE i.message_id = a.message_id AND i.part = a.part AND i.worker = a.worker AND i.state = 'claimed' AND i.expires_at_ms > a.since_ms
          AND EXISTS (SELECT 1 FROM messages m WHERE m.id = a.message_id AND m.status = 'queued')
    RETURNING i.message_id, i.part"""
_SUBMITTING_SQLITE: Final = """
    UPDATE inflight SET state = 'submitting', since_ms = ?4
    WHERE message_id = ?1 AND part = ?2 AND worker = ?3 AND state = 'claimed' AND expires_at_ms > ?4
        AND EXISTS (SELECT 1 FROM messages m WHERE m.id = ?1 AND m.status = 'queued')
    RETURNING message_id, part"""

NOBODY: Final = 0  # in place of a process, to END_INFLIGHT: what is in doubt, whoever submitted it

END_INFLIGHT: Final = Statement(_END_INFLIGHT, _END_INFLIGHT_SQLITE)  # (message_id, part, attempt, worker) → rows of InFlight
DOUBT: Final = Statement(_DOUBT, _DOUBT_SQLITE)  # (message_id, part, attempt, worker, since_ms)
REF_OF_ANSWER: Final = Statement(_REF_OF_ANSWER, _REF_OF_ANSWER_SQLITE)  # (carrier_id, ref, message_id, parts, now_ms) → the ref's row
REF_OF_RECEIPT: Final = Statement(_REF_OF_RECEIPT, _REF_OF_RECEIPT_SQLITE)  # (carrier_id, ref, recipient, state, error, now_ms) → the same
ECHO: Final = Statement(_ECHO, _ECHO_SQLITE)  # (carrier_id, ref, printed, sender, user_message_reference)
PARK: Final = Statement(_PARK, _PARK_SQLITE)  # (carrier_id, ref, id of the new row, now_ms)
CLEAR_REF: Final = Statement(_CLEAR_REF, _CLEAR_REF_SQLITE)  # (carrier_id, ref) whose receipt goes
FORGET_REF: Final = Statement(_FORGET_REF, _FORGET_REF_SQLITE)  # (carrier_id, ref) without a message
FORGET_RECEIPT: Final = Statement(_FORGET_RECEIPT, _FORGET_RECEIPT_SQLITE)  # id of unmatched_receipts
HANDSETS: Final = Statement(_HANDSETS, _HANDSETS_SQLITE)  # (carrier_id, ref) → (ref, its message's recipient) of those that have one
OUTSTANDING: Final = Statement(_OUTSTANDING, _OUTSTANDING_SQLITE)  # message_id → (message_id, submissions in flight, …)
RESENT: Final = Statement(_RESENT, _RESENT_SQLITE)  # (message_id, parts that are sent once more after a doubt)
QUEUE: Final = Statement(_QUEUE, _QUEUE_SQLITE)  # the table's ten columns
QUEUE_AGAIN: Final = Statement(_QUEUE_AGAIN, _QUEUE_AGAIN_SQLITE)  # the same; what stands there already takes it in
TAKE_RUNS: Final = Statement(_TAKE_RUNS, _TAKE_RUNS_SQLITE)  # (carrier_id, rank_us, first_id)
CLAIM: Final = Statement(_CLAIM, _CLAIM_SQLITE)  # the table's ten columns → (message_id, part) that are not in flight already
SUBMITTING: Final = Statement(_SUBMITTING, _SUBMITTING_SQLITE)  # (message_id, part, worker, since_ms) → (message_id, part) still to be sent


async def lock_messages(tx: HotTx, message_ids: set[str]) -> list[Any]:
    """Rows for `settle.row_of`, locked in order of their ids."""
    ordered = sorted(message_ids)
    if not ordered:
        return []
    if tx.postgresql:
        return await tx.fetch(_LOCK_MESSAGES, ordered, ordered[0], ordered[-1])
    return await tx.fetch(_LOCK_MESSAGES_SQLITE, encode(ordered).decode())


async def store_messages(tx: HotTx, rows: list[tuple[Any, ...]]) -> None:
    """(id, status, parts_accepted, parts_delivered, error_code, error_message, refunded, sent, delivered, failed at), in order of ids."""
    if not rows:
        return
    columns = list(map(list, zip(*rows, strict=True)))
    if tx.postgresql:
        await tx.fetch(_STORE_MESSAGES, *columns, rows[0][0], rows[-1][0])
    else:
        await tx.over(_STORE_MESSAGES_SQLITE, *columns)


async def next_runs(tx: HotTx, carrier_id: int, now_ms: int, most: int, worker: int) -> list[Any]:
    return await tx.fetch(_NEXT_RUNS if tx.postgresql else _NEXT_RUNS_SQLITE, carrier_id, now_ms, most, worker)


async def outgoing(tx: HotTx, message_ids: list[str]) -> list[Any]:
    """What a submit_sm needs, of those messages that are still queued."""
    if tx.postgresql:
        return await tx.fetch(_OUTGOING, message_ids, min(message_ids), max(message_ids)) if message_ids else []
    return await tx.over(_OUTGOING_SQLITE, message_ids)


async def outgoing_locked(tx: HotTx, message_ids: list[str]) -> list[Any]:
    """The same on PostgreSQL, kept from others' changes until the transaction ends; without those that somebody else has locked."""
    return await tx.fetch(_OUTGOING_LOCKED, message_ids, message_ids[0], message_ids[-1])
