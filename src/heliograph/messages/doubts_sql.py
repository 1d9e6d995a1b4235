"""The statements of settling doubts by receipts: what is on the wire, what is parked, and whose receipt a parked one may be."""

from typing import Final

from heliograph.base.hot import Statement

ON_THE_WIRE: Final = """
    SELECT i.message_id, i.part, i.parts, i.attempt, i.prefix, i.expires_at_ms, i.state, m.account_id, m.recipient, m.segments, m.parts_resent,
           s.sender
    FROM inflight i JOIN messages m ON m.id = i.message_id JOIN sends s ON s.id = m.send_id
    WHERE i.carrier_id = $1 AND i.state <> 'claimed'"""
WITH_AN_ID: Final = """
    SELECT ref, recipient, sender, user_message_reference, receipt_state, receipt_error, created_at_ms, coalesce(printed, ref) FROM carrier_refs
    WHERE carrier_id = $1 AND message_id IS NULL AND created_at_ms >= $2 ORDER BY created_at_ms DESC LIMIT $3"""
WITHOUT: Final = """
    SELECT id, recipient, sender, user_message_reference, receipt_state, receipt_error, received_at_ms, NULL FROM unmatched_receipts
    WHERE carrier_id = $1 AND ref IS NULL AND receipt_state IS NOT NULL AND received_at_ms >= $2 ORDER BY received_at_ms DESC LIMIT $3"""

UNTOLD_MAX: Final = 100  # messages to one handset that are looked at: among more, somebody's may be meant
# Of each message in doubt: who has sent its handset another one since then whose receipt may still come. Always one of which the carrier was given
# something whose id was never learnt: sent once more, ended as unknown, failed by another part, or decided by the operator. Where `accepted` is asked
# for, also one that it has accepted and not told the end of, unless it is `but_not`. Which carrier has it is not asked: who fails over keeps the
# column of the first.
_WAITS: Final = """(m.status = 'sent'
        OR (m.segments > 1 AND m.status IN ('queued', 'failed') AND (m.parts_accepted & ~m.parts_delivered) <> 0))"""
_OWES: Final = """(m.parts_resent <> 0 OR m.error_code = 'unknown'
        OR (m.segments > 1 AND m.status = 'failed' AND m.parts_accepted <> (1 << m.segments) - 1)
        OR EXISTS (SELECT 1 FROM operator_decisions d WHERE d.message_id = m.id))"""
_UNTOLD: Final = f"""
    SELECT k.message_id, s.sender
    FROM unnest($1::uuid[], $2::uuid[], $3::uuid[], $4::uuid[], $5::bigint[], $6::bool[])
         AS k (message_id, since, but_not, account_id, recipient, accepted)
    CROSS JOIN LATERAL (
        SELECT m.send_id FROM messages m WHERE m.id >= k.since AND m.account_id = k.account_id AND m.recipient = k.recipient
            AND ((k.accepted AND m.id <> k.but_not AND {_WAITS}) OR (m.id <> k.message_id AND {_OWES})) LIMIT {UNTOLD_MAX}
    ) w JOIN sends s ON s.id = w.send_id"""
_UNTOLD_SQLITE: Final = f"""
    SELECT ?1, s.sender FROM messages m JOIN sends s ON s.id = m.send_id
    WHERE m.id >= ?2 AND m.account_id = ?4 AND m.recipient = ?5
        AND ((?6 AND m.id <> ?3 AND {_WAITS}) OR (m.id <> ?1 AND {_OWES})) LIMIT {UNTOLD_MAX}"""

UNTOLD: Final = Statement(_UNTOLD, _UNTOLD_SQLITE)  # (message_id, since, but_not, account_id, recipient, accepted) → (message_id, a sender) each
