"""Declares the statements that store texts from handsets, in both dialects."""

from typing import Final

from heliograph.database.statements import (
    AffectedRow,
    BatchStatement,
    BigInt,
    Bool,
    Bytes,
    Id,
    Insert,
    Int,
    Nothing,
    Row,
    SmallInt,
    Statement,
    Text,
    columns_of,
    portable,
)


class TextsOfCarrier(Row, frozen=True):
    carrier_id: SmallInt


# Those who record texts of one carrier do so one after the other: two parts of a text that two
# processes hear at once must see each other, and so must a PDU and its repetition.
LOCK_CARRIER: Final = portable(
    TextsOfCarrier,
    AffectedRow,
    "SELECT 1 AS one FROM carriers WHERE id = :carrier_id",
    lock="FOR NO KEY UPDATE",
)


class PduSince(Row, frozen=True):
    """Asks for a text that came in one PDU, of those stored since the id `since`."""

    carrier_id: SmallInt
    pdu: Id
    since: Id


class KnownPdu(Row, frozen=True):
    pdu: Id
    id: Id
    account_id: Id | None


KNOWN_PDUS: Final = BatchStatement(
    PduSince,
    KnownPdu,
    postgresql="""
        SELECT i.pdu, i.id, i.account_id FROM :given AS g JOIN inbound i
            ON i.carrier_id = g.carrier_id AND i.pdu = g.pdu AND i.id >= g.since
        ORDER BY i.id""",
    sqlite="""
        SELECT pdu, id, account_id FROM inbound
        WHERE carrier_id = :carrier_id AND pdu = :pdu AND id >= :since ORDER BY id""",
)


class TextOfParts(Row, frozen=True):
    """Says what the parts of one text have in common."""

    carrier_id: SmallInt
    sender: Text
    recipient: Text
    reference: Int
    total: SmallInt


class StoredPart(Row, frozen=True):
    """Holds a row of `inbound_parts`."""

    group_id: Id
    number: SmallInt
    total: SmallInt
    carrier_id: SmallInt
    sender: Text
    recipient: Text
    reference: Int
    alphabet: Text
    octets: Bytes
    pdu: Id
    repeats: Int
    received_at_ms: BigInt
    inbound_id: Id | None
    is_national: Bool


_PART: Final = ", ".join(f"p.{name}" for name in StoredPart.__struct_fields__)
KNOWN_PARTS: Final = BatchStatement(
    TextOfParts,
    StoredPart,
    postgresql=f"""
        SELECT {_PART} FROM :given AS g JOIN inbound_parts p ON p.carrier_id = g.carrier_id
            AND p.sender = g.sender AND p.recipient = g.recipient AND p.reference = g.reference
            AND p.total = g.total""",
    sqlite=f"""
        SELECT {columns_of(StoredPart)} FROM inbound_parts WHERE carrier_id = :carrier_id
            AND sender = :sender AND recipient = :recipient AND reference = :reference
            AND total = :total""",
)
STORE_PARTS: Final = Insert("inbound_parts", StoredPart)


class StoredText(Row, frozen=True):
    """Holds a row of `inbound` as it is made."""

    id: Id
    carrier_id: SmallInt
    account_id: Id | None
    sandbox: Bool
    sender: Text
    recipient: Text
    text: Text
    encoding: Text
    parts: SmallInt
    parts_received: SmallInt
    pdu: Id | None
    repeats: Int
    received_at_ms: BigInt
    keyword: Text | None
    opt_out_suspected: Bool
    in_reply_to: Id | None


STORE_TEXTS: Final = Insert("inbound", StoredText)


class JoinedParts(Row, frozen=True):
    group_id: Id
    inbound_id: Id


# They are kept for a while, without what they said: one that is sent again is known by them.
JOIN_PARTS: Final = BatchStatement(
    JoinedParts,
    Nothing,
    postgresql="""
        UPDATE inbound_parts p SET inbound_id = g.inbound_id, octets = ''::bytea
        FROM :given AS g WHERE p.group_id = g.group_id""",
    sqlite="""
        UPDATE inbound_parts SET inbound_id = :inbound_id, octets = x''
        WHERE group_id = :group_id""",
)


class RepeatedText(Row, frozen=True):
    id: Id
    more: Int


REPEAT_TEXTS: Final = BatchStatement(
    RepeatedText,
    Nothing,
    postgresql="""
        UPDATE inbound i SET repeats = i.repeats + g.more FROM :given AS g WHERE i.id = g.id""",
    sqlite="UPDATE inbound SET repeats = repeats + :more WHERE id = :id",
)


class RepeatedPart(Row, frozen=True):
    group_id: Id
    number: SmallInt
    more: Int


REPEAT_PARTS: Final = BatchStatement(
    RepeatedPart,
    Nothing,
    postgresql="""
        UPDATE inbound_parts p SET repeats = p.repeats + g.more
        FROM :given AS g WHERE p.group_id = g.group_id AND p.number = g.number""",
    sqlite="""
        UPDATE inbound_parts SET repeats = repeats + :more
        WHERE group_id = :group_id AND number = :number""",
)


class Overdue(Row, frozen=True):
    until_ms: BigInt
    most: Int


class OverdueText(Row, frozen=True):
    carrier_id: SmallInt
    group_id: Id


OVERDUE: Final = portable(
    Overdue,
    OverdueText,
    """
    SELECT DISTINCT carrier_id, group_id FROM inbound_parts
    WHERE inbound_id IS NULL AND received_at_ms <= :until_ms ORDER BY group_id LIMIT :most""",
)


class PartsOfText(Row, frozen=True):
    group_id: Id


PARTS_OF_GROUP: Final = portable(
    PartsOfText,
    StoredPart,
    f"""
    SELECT {columns_of(StoredPart)} FROM inbound_parts
    WHERE group_id = :group_id AND inbound_id IS NULL ORDER BY number""",
)
# Only of texts that are stored: what still waits is known nowhere else.
FORGET_PARTS: Final = Statement(
    Overdue,
    AffectedRow,
    postgresql="""
        DELETE FROM inbound_parts WHERE ctid = ANY(ARRAY(
            SELECT ctid FROM inbound_parts WHERE inbound_id IS NOT NULL
                AND received_at_ms <= :until_ms ORDER BY received_at_ms LIMIT :most))
        RETURNING 1 AS one""",
    sqlite="""
        DELETE FROM inbound_parts WHERE rowid IN (
            SELECT rowid FROM inbound_parts WHERE inbound_id IS NOT NULL
                AND received_at_ms <= :until_ms ORDER BY received_at_ms LIMIT :most)
        RETURNING 1 AS one""",
)


class BeforeId(Row, frozen=True):
    until: Id
    most: Int


# What it came in is forgotten too: a hash of few digits and words tells both.
ERASE_TEXTS: Final = Statement(
    BeforeId,
    AffectedRow,
    postgresql="""
        UPDATE inbound SET sender = NULL, text = NULL, pdu = NULL WHERE id = ANY(ARRAY(
            SELECT id FROM inbound WHERE id < :until AND sender IS NOT NULL ORDER BY id
                LIMIT :most))
        RETURNING 1 AS one""",
    sqlite="""
        UPDATE inbound SET sender = NULL, text = NULL, pdu = NULL WHERE id IN (
            SELECT id FROM inbound WHERE id < :until AND sender IS NOT NULL ORDER BY id
                LIMIT :most)
        RETURNING 1 AS one""",
)
