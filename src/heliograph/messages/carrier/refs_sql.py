"""Declares the statements of carriers' ids, and of the receipts that match none, in both
dialects.
"""

from typing import Final

from heliograph.database.statements import (
    BatchStatement,
    BigInt,
    Bytes,
    Id,
    Insert,
    Int,
    Nothing,
    Row,
    SmallInt,
    Text,
    columns_of,
    portable,
    values_of,
)
from heliograph.messages.states import CLAIMED


class RefKey(Row, frozen=True):
    """Holds the primary key of a carrier's id, in its canonical form (`refs.canonical`)."""

    carrier_id: SmallInt
    ref: Text


class StoredRef(Row, frozen=True):
    """Holds a carrier's id of a segment, with what is known from both sides. `printed` is the id as
    a receipt printed it that came before its answer, if one did.
    """

    ref: Text
    message_id: Id | None
    parts: SmallInt | None
    recipient: BigInt | None
    state: Text | None
    error: Text | None
    printed: Text | None


class AnsweredRef(Row, frozen=True):
    """Holds an id as an answer gives it to the segments of a message."""

    carrier_id: SmallInt
    ref: Text
    message_id: Id
    parts: SmallInt
    created_at_ms: BigInt


class ReceivedRef(Row, frozen=True):
    """Holds an id as a receipt names it, and what the receipt says."""

    carrier_id: SmallInt
    ref: Text
    recipient: BigInt | None
    receipt_state: Text
    receipt_error: Text | None
    created_at_ms: BigInt


_RETURNED: Final = (
    "ref, message_id, parts, recipient, receipt_state AS state, receipt_error AS error, printed"
)
_OF_ANSWER: Final = f"""
    ON CONFLICT (carrier_id, ref) DO UPDATE SET message_id = excluded.message_id,
        parts = CASE WHEN r.message_id = excluded.message_id THEN r.parts | excluded.parts
            ELSE excluded.parts END,
        receipt_state = CASE WHEN coalesce(r.message_id,
            excluded.message_id) = excluded.message_id THEN r.receipt_state END,
        receipt_error = CASE WHEN coalesce(r.message_id,
            excluded.message_id) = excluded.message_id THEN r.receipt_error END,
        recipient = CASE WHEN coalesce(r.message_id,
            excluded.message_id) = excluded.message_id THEN r.recipient END,
        created_at_ms = CASE WHEN r.message_id = excluded.message_id THEN r.created_at_ms
            ELSE excluded.created_at_ms END
    RETURNING {_RETURNED}"""
# A final receipt is not overwritten, unless it named another handset: then it was none of this
# message's.
_IS_FINAL: Final = "r.receipt_state NOT IN ('ACCEPTD', 'ENROUTE')"


def _of_receipt(stays: str) -> str:
    """Returns which columns a receipt changes of an id that is stored. `stays` says whether the
    stored state stays.
    """
    return f"""
    ON CONFLICT (carrier_id, ref) DO UPDATE SET
        recipient = excluded.recipient,
        receipt_error = CASE WHEN {stays} THEN r.receipt_error ELSE excluded.receipt_error END,
        receipt_state = CASE WHEN {stays} THEN r.receipt_state ELSE excluded.receipt_state END
    RETURNING {_RETURNED}"""


# Answer and receipt both upsert the carrier's id of a segment; RETURNING shows whoever comes second
# what the first one left. An id that belonged to another message is one the carrier uses anew: that
# message's receipt is forgotten. An id's age is that of the answer which gave it to its message.
REF_OF_ANSWER: Final = BatchStatement(
    AnsweredRef,
    StoredRef,
    postgresql=f"""
        INSERT INTO carrier_refs AS r ({columns_of(AnsweredRef)}) SELECT * FROM :given AS g
        {_OF_ANSWER}""",
    sqlite=f"""
        INSERT INTO carrier_refs AS r ({columns_of(AnsweredRef)}) VALUES ({values_of(AnsweredRef)})
        {_OF_ANSWER}""",
)
REF_OF_RECEIPT: Final = BatchStatement(
    ReceivedRef,
    StoredRef,
    postgresql=f"""
        INSERT INTO carrier_refs AS r ({columns_of(ReceivedRef)}) SELECT * FROM :given AS g
        {_of_receipt(f"{_IS_FINAL} AND r.recipient IS NOT DISTINCT FROM excluded.recipient")}""",
    sqlite=f"""
        INSERT INTO carrier_refs AS r ({columns_of(ReceivedRef)}) VALUES ({values_of(ReceivedRef)})
        {_of_receipt(f"{_IS_FINAL} AND r.recipient IS excluded.recipient")}""",
)


class ReceiptExtras(Row, frozen=True):
    """Holds what a receipt says beside its state: its id as it was printed, and what else it brings
    back.
    """

    carrier_id: SmallInt
    ref: Text
    printed: Text | None
    sender: Text | None
    user_message_reference: Int | None


# Only a doubt or a changed format may need it, so only receipts that found no message keep it.
RECEIPT_EXTRAS: Final = BatchStatement(
    ReceiptExtras,
    Nothing,
    postgresql="""
        UPDATE carrier_refs r SET printed = g.printed, sender = g.sender,
            user_message_reference = g.user_message_reference
        FROM :given AS g WHERE r.carrier_id = g.carrier_id AND r.ref = g.ref""",
    sqlite="""
        UPDATE carrier_refs SET printed = :printed, sender = :sender,
            user_message_reference = :user_message_reference
        WHERE carrier_id = :carrier_id AND ref = :ref""",
)


class ToSetAside(Row, frozen=True):
    """Names a receipt that moves to a row of its own, which gets the id `id`."""

    carrier_id: SmallInt
    ref: Text
    id: Id
    now_ms: BigInt


# A receipt that does not belong to its row's message, or that waits for a changed format, moves to
# a row of its own, as it was printed.
_UNMATCHED_COLUMNS: Final = (
    "id, carrier_id, ref, receipt_state, receipt_error, recipient, sender, user_message_reference,"
    " raw, received_at_ms"
)
_UNMATCHED: Final = """
    coalesce(r.printed, r.ref), r.receipt_state, r.receipt_error, r.recipient, r.sender,
    r.user_message_reference"""
SET_ASIDE: Final = BatchStatement(
    ToSetAside,
    Nothing,
    postgresql=f"""
        INSERT INTO unmatched_receipts ({_UNMATCHED_COLUMNS})
        SELECT g.id, r.carrier_id, {_UNMATCHED}, ''::bytea, CASE
            WHEN r.message_id IS NULL THEN r.created_at_ms ELSE g.now_ms END
        FROM :given AS g JOIN carrier_refs r ON r.carrier_id = g.carrier_id AND r.ref = g.ref""",
    sqlite=f"""
        INSERT INTO unmatched_receipts ({_UNMATCHED_COLUMNS})
        SELECT :id, r.carrier_id, {_UNMATCHED}, x'', CASE
            WHEN r.message_id IS NULL THEN r.created_at_ms ELSE :now_ms END
        FROM carrier_refs r WHERE r.carrier_id = :carrier_id AND r.ref = :ref""",
)

_CLEARED: Final = """
    receipt_state = NULL, receipt_error = NULL, recipient = NULL, printed = NULL, sender = NULL,
    user_message_reference = NULL"""
# The receipt goes; the id stays its message's.
CLEAR_REF: Final = BatchStatement(
    RefKey,
    Nothing,
    postgresql=f"""
        UPDATE carrier_refs r SET {_CLEARED} FROM :given AS g WHERE r.carrier_id = g.carrier_id
            AND r.ref = g.ref""",
    sqlite=f"UPDATE carrier_refs SET {_CLEARED} WHERE carrier_id = :carrier_id AND ref = :ref",
)
# An id without a message goes.
FORGET_REF: Final = BatchStatement(
    RefKey,
    Nothing,
    postgresql="""
        DELETE FROM carrier_refs r USING :given AS g WHERE r.carrier_id = g.carrier_id
            AND r.ref = g.ref AND r.message_id IS NULL""",
    sqlite="""
        DELETE FROM carrier_refs WHERE carrier_id = :carrier_id AND ref = :ref
            AND message_id IS NULL""",
)


class UnmatchedReceipt(Row, frozen=True):
    """Holds a row of `unmatched_receipts`. A field that the receipt does not give is None. `raw` is
    the short_message as it came.
    """

    id: Id
    carrier_id: SmallInt
    ref: Text | None
    receipt_state: Text | None
    receipt_error: Text | None
    recipient: BigInt | None
    sender: Text | None
    user_message_reference: Int | None
    raw: Bytes
    received_at_ms: BigInt


STORE_UNMATCHED: Final = Insert("unmatched_receipts", UnmatchedReceipt)


class ReceiptKey(Row, frozen=True):
    """Holds the primary key of a row of `unmatched_receipts`."""

    id: Id


FORGET_RECEIPT: Final = BatchStatement(
    ReceiptKey,
    Nothing,
    postgresql="DELETE FROM unmatched_receipts u USING :given AS g WHERE u.id = g.id",
    sqlite="DELETE FROM unmatched_receipts WHERE id = :id",
)


class Handset(Row, frozen=True):
    """Holds an id that a message has, and the handset that the message is to."""

    ref: Text
    recipient: BigInt | None


HANDSETS: Final = BatchStatement(
    RefKey,
    Handset,
    postgresql="""
        SELECT r.ref, m.recipient FROM :given AS g
        JOIN carrier_refs r ON r.carrier_id = g.carrier_id AND r.ref = g.ref
            JOIN messages m ON m.id = r.message_id""",
    sqlite="""
        SELECT r.ref, m.recipient FROM carrier_refs r JOIN messages m ON m.id = r.message_id
        WHERE r.carrier_id = :carrier_id AND r.ref = :ref""",
)


class Since(Row, frozen=True):
    carrier_id: SmallInt
    since_ms: BigInt
    most: Int


class Printed(Row, frozen=True):
    """Holds an id as a receipt printed it, and the handset that the receipt named."""

    printed: Text
    recipient: BigInt | None


PRINTED_REFS: Final = portable(
    Since,
    Printed,
    """
    SELECT coalesce(printed, ref) AS printed, recipient FROM carrier_refs
    WHERE carrier_id = :carrier_id AND message_id IS NULL AND created_at_ms >= :since_ms
        ORDER BY created_at_ms DESC LIMIT :most""",
)
PRINTED_RECEIPTS: Final = portable(
    Since,
    Printed,
    """
    SELECT ref AS printed, recipient FROM unmatched_receipts
    WHERE carrier_id = :carrier_id AND ref IS NOT NULL AND receipt_state IS NOT NULL
        AND received_at_ms >= :since_ms
    ORDER BY received_at_ms DESC LIMIT :most""",
)


class OfCarrier(Row, frozen=True):
    carrier_id: SmallInt


class Recipient(Row, frozen=True):
    recipient: BigInt


UNANSWERED: Final = portable(
    OfCarrier,
    Recipient,
    f"""
    SELECT DISTINCT m.recipient FROM inflight i JOIN messages m ON m.id = i.message_id
    WHERE i.carrier_id = :carrier_id AND i.state <> '{CLAIMED}' AND m.recipient IS NOT NULL""",
)


class Oldest(Row, frozen=True):
    carrier_id: SmallInt
    most: Int


class _RefText(Row, frozen=True):
    ref: Text


UNMATCHED_REFS: Final = portable(
    Oldest,
    _RefText,
    """
        SELECT ref FROM carrier_refs WHERE carrier_id = :carrier_id AND message_id IS NULL
            ORDER BY created_at_ms LIMIT :most""",
)


class After(Row, frozen=True):
    """Asks for at most `most` rows whose ids are larger than `after`, in order of their ids."""

    carrier_id: SmallInt
    after: Id
    most: Int


class ReadableReceipt(Row, frozen=True):
    """Holds a receipt in a row of its own that has an id and a state."""

    id: Id
    ref: Text
    state: Text
    error: Text | None
    recipient: BigInt | None
    sender: Text | None
    user_message_reference: Int | None
    received_at_ms: BigInt


UNMATCHED_RECEIPTS: Final = portable(
    After,
    ReadableReceipt,
    """
    SELECT id, ref, receipt_state AS state, receipt_error AS error, recipient, sender,
        user_message_reference, received_at_ms
    FROM unmatched_receipts
    WHERE carrier_id = :carrier_id AND ref IS NOT NULL AND receipt_state IS NOT NULL AND id > :after
        ORDER BY id LIMIT :most""",
)
