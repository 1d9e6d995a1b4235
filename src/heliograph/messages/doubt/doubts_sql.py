"""Declares the statements that settle doubts by receipts: they read what is on the wire, the
receipts that matched nothing, and the messages that such a receipt may belong to.
"""

from typing import Final

from heliograph.database.statements import (
    BatchStatement,
    BigInt,
    Bool,
    Id,
    Int,
    Row,
    SmallInt,
    Text,
    portable,
)
from heliograph.messages.carrier.inflight_sql import InFlight, InFlightOf
from heliograph.messages.carrier.refs_sql import OfCarrier, Since
from heliograph.messages.states import CLAIMED, FAILED, IN_DOUBT, MESSAGE, QUEUED, SEGMENT, SENT

PARTS_MAX: Final = 10  # of a message: our references end in the number of a part


class OnTheWire(Row, frozen=True):
    """Holds a segment that the carrier was given. It is in doubt, or its answer may still come."""

    message_id: Id
    part: SmallInt
    parts: SmallInt
    attempt: SmallInt
    prefix: Text
    expires_at_ms: BigInt
    state: Text
    account_id: Id
    recipient: BigInt | None
    segments: SmallInt
    parts_resent: SmallInt
    sender: Text

    @property
    def key(self) -> tuple[str, int]:
        return self.message_id, self.part

    @property
    def in_flight(self) -> InFlight:
        """Returns what was stored of the segment when it was claimed."""
        return InFlight(
            self.message_id, self.part, self.parts, self.attempt, self.prefix, self.expires_at_ms
        )

    @property
    def is_in_doubt(self) -> bool:
        return self.state == IN_DOUBT

    @property
    def tries_in_doubt(self) -> int:
        """Returns how many receipts of the segment may come: one for each submission."""
        return 2 if self.parts_resent & self.parts else 1


class StoredReceipt(Row, frozen=True):
    """Holds a receipt that matched no message. `ref_or_row_id` is its id as the carrier prints it
    or, if it has none, the id of its row of `unmatched_receipts`.
    """

    ref_or_row_id: Text
    recipient: BigInt | None
    sender: Text | None
    reference: Int | None
    state: Text
    error: Text | None
    at_ms: BigInt
    printed: Text | None  # its id as the receipt has it: `ref_or_row_id` is how that was read

    @property
    def has_id(self) -> bool:
        return self.printed is not None

    @property
    def names_a_part(self) -> bool:
        """Returns whether the receipt's reference can be one of ours. A reference that others made
        says nothing.
        """
        return self.reference is not None and 1 <= self.reference & 0xF <= PARTS_MAX


class OfMessage(Row, frozen=True):
    """Asks for what is stored of one message and carrier."""

    carrier_id: SmallInt
    message_id: Id


ANY_IN_DOUBT: Final = portable(
    OfCarrier,
    InFlightOf,
    f"""
    SELECT message_id FROM inflight WHERE carrier_id = :carrier_id AND {SEGMENT.is_in(IN_DOUBT)}
    LIMIT 1""",
)

_ON_THE_WIRE: Final = f"""
    SELECT i.message_id, i.part, i.parts, i.attempt, i.prefix, i.expires_at_ms, i.state,
        m.account_id, m.recipient, m.segments, m.parts_resent,
           s.sender
    FROM inflight i JOIN messages m ON m.id = i.message_id JOIN sends s ON s.id = m.send_id
    WHERE i.carrier_id = :carrier_id AND i.state <> '{CLAIMED}'"""
ON_THE_WIRE: Final = portable(OfCarrier, OnTheWire, _ON_THE_WIRE)
DOUBTS_OF: Final = portable(
    OfMessage,
    OnTheWire,
    f"""{_ON_THE_WIRE} AND i.message_id = :message_id AND {SEGMENT.is_in(IN_DOUBT, of="i.")}
    ORDER BY i.part""",
    lock="FOR UPDATE OF i",
)

RECEIPT_SAID: Final = (
    "recipient, sender, user_message_reference AS reference, receipt_state AS state, receipt_error"
    " AS error"
)
WITH_AN_ID: Final = portable(
    Since,
    StoredReceipt,
    f"""
    SELECT ref AS ref_or_row_id, {RECEIPT_SAID}, created_at_ms AS at_ms,
        coalesce(printed, ref) AS printed
    FROM carrier_refs
    WHERE carrier_id = :carrier_id AND message_id IS NULL AND created_at_ms >= :since_ms
        ORDER BY created_at_ms DESC LIMIT :most""",
)
WITHOUT: Final = portable(
    Since,
    StoredReceipt,
    f"""
    SELECT id AS ref_or_row_id, {RECEIPT_SAID}, received_at_ms AS at_ms, NULL AS printed
        FROM unmatched_receipts
    WHERE carrier_id = :carrier_id AND ref IS NULL AND receipt_state IS NOT NULL
        AND received_at_ms >= :since_ms
    ORDER BY received_at_ms DESC LIMIT :most""",
)

# messages to one handset that are looked at: among more, somebody's may be meant
OWED_RECEIPTS_MAX: Final = 100
# Of each message in doubt: who has sent its handset another one since then whose receipt may still
# come. Always one of which the carrier was given something whose id was never learnt: sent once
# more, ended as unknown, failed by another part, or decided by the operator. Where `accepted` is
# asked for, also one that it has accepted and not told the end of, unless it is `but_not`. Which
# carrier has it is not asked: who fails over keeps the column of the first.
_WAITS: Final = f"""({MESSAGE.is_in(SENT, of="m.")}
        OR (m.segments > 1 AND {MESSAGE.is_in(QUEUED, FAILED, of="m.")}
            AND (m.parts_accepted & ~m.parts_delivered) <> 0))"""
_OWES: Final = f"""(m.parts_resent <> 0 OR m.error_code = 'unknown'
        OR (m.segments > 1 AND {MESSAGE.is_in(FAILED, of="m.")}
            AND m.parts_accepted <> (1 << m.segments) - 1)
        OR EXISTS (SELECT 1 FROM operator_decisions d WHERE d.message_id = m.id))"""


class OwedReceiptQuery(Row, frozen=True):
    """Asks for a message in doubt whether its recipient may still be owed another one's receipt."""

    message_id: Id
    since: Id
    but_not: Id
    account_id: Id
    recipient: BigInt | None
    accepted: Bool


class SenderOwedReceipt(Row, frozen=True):
    """Names a message in doubt, and the sender of another one whose receipt may come."""

    message_id: Id
    sender: Text


OWED_RECEIPTS: Final = BatchStatement(
    OwedReceiptQuery,
    SenderOwedReceipt,
    postgresql=f"""
        SELECT g.message_id, s.sender FROM :given AS g
        CROSS JOIN LATERAL (
            SELECT m.send_id FROM messages m WHERE m.id >= g.since AND m.account_id = g.account_id
                AND m.recipient = g.recipient
                AND ((g.accepted AND m.id <> g.but_not AND {_WAITS})
                    OR (m.id <> g.message_id AND {_OWES})) LIMIT {OWED_RECEIPTS_MAX}
        ) w JOIN sends s ON s.id = w.send_id""",
    sqlite=f"""
        SELECT :message_id AS message_id, s.sender FROM messages m JOIN sends s ON s.id = m.send_id
        WHERE m.id >= :since AND m.account_id = :account_id AND m.recipient = :recipient
            AND ((:accepted AND m.id <> :but_not AND {_WAITS}) OR (m.id <> :message_id AND {_OWES}))
                LIMIT {OWED_RECEIPTS_MAX}""",
)
