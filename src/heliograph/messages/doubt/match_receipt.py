"""Gives a receipt that matched no message to the message that an operator names."""

from collections.abc import Sequence
from typing import Final

from heliograph.base import ids
from heliograph.base.errors import InvalidRequest, NotFound
from heliograph.base.paging import CLOCK_SLACK_MS
from heliograph.carriers import ReceiptState
from heliograph.carriers.smpp import user_message_reference
from heliograph.database.database import Database
from heliograph.database.hot import HotTx
from heliograph.database.statements import BigInt, Id, Int, Row, SmallInt, Text, portable
from heliograph.messages.carrier.refs import CarrierFacts
from heliograph.messages.carrier.refs_sql import (
    FORGET_RECEIPT,
    REF_OF_ANSWER,
    AnsweredRef,
    ReceiptKey,
)
from heliograph.messages.carrier.settle import agrees, settle_receipt
from heliograph.messages.carrier.store import store_changes
from heliograph.messages.changes.collect import Changes, MessageRow, row_of
from heliograph.messages.changes.message_lock import lock_messages
from heliograph.messages.doubt import decide
from heliograph.messages.doubt.doubts_sql import (
    DOUBTS_OF,
    RECEIPT_SAID,
    OfMessage,
    OnTheWire,
    StoredReceipt,
)
from heliograph.messages.doubt.receipts import adopt
from heliograph.messages.doubt.unmatched import parse_id, receipt_not_found
from heliograph.messages.read.message import MESSAGE_PREFIX
from heliograph.messages.states import FINAL_RECEIPTS, SENT


class _RefOfCarrier(Row, frozen=True):
    """Identifies a receipt of a carrier by the id that it printed."""

    carrier_id: SmallInt
    ref: Text


class _RowOfCarrier(Row, frozen=True):
    """Identifies a receipt of a carrier by its row in `unmatched_receipts`."""

    carrier_id: SmallInt
    row_id: Id


class _ReceiptRow(Row, frozen=True):
    """Holds what a receipt says; a state that cannot be read is None."""

    ref_or_row_id: Text
    recipient: BigInt | None
    sender: Text | None
    reference: Int | None
    state: Text | None
    error: Text | None
    at_ms: BigInt


class _AskedMessage(Row, frozen=True):
    message_id: Id


class _Times(Row, frozen=True):
    sent_at_ms: BigInt | None
    decided_at_ms: BigInt


class _Within(Row, frozen=True):
    """Names a message, and says from when to when a carrier's id of it may have been stored."""

    message_id: Id
    since_ms: BigInt
    until_ms: BigInt


class _CarrierOfSegments(Row, frozen=True):
    """Names a carrier that has segments of a message. It has no name if it was removed."""

    carrier_id: SmallInt
    name: Text | None
    parts: SmallInt


_UNMATCHED_REF: Final = portable(
    _RefOfCarrier,
    _ReceiptRow,
    f"""
    SELECT ref AS ref_or_row_id, {RECEIPT_SAID}, created_at_ms AS at_ms FROM carrier_refs
    WHERE carrier_id = :carrier_id AND ref = :ref AND message_id IS NULL""",
    lock="FOR UPDATE",
)
_UNMATCHED_ROW: Final = portable(
    _RowOfCarrier,
    _ReceiptRow,
    f"""
    SELECT id AS ref_or_row_id, {RECEIPT_SAID}, received_at_ms AS at_ms FROM unmatched_receipts
        WHERE carrier_id = :carrier_id AND id = :row_id""",
)
_SENT_BY: Final = portable(
    _AskedMessage,
    _Times,
    """
    SELECT m.sent_at_ms, coalesce((SELECT max(decided_at_ms) FROM operator_decisions
        WHERE message_id = m.id), 0) AS decided_at_ms
    FROM messages m WHERE m.id = :message_id""",
)
_LEAVES_TO_CARRIER: Final = ", ".join(f"'{each.value}'" for each in decide.LEAVES_TO_CARRIER)
_HOLDERS: Final = portable(
    _Within,
    _CarrierOfSegments,
    f"""
    SELECT held.carrier_id, c.name, held.parts FROM (
        SELECT carrier_id, parts FROM carrier_refs WHERE message_id = :message_id
            AND created_at_ms >= :since_ms AND created_at_ms <= :until_ms
        UNION ALL SELECT carrier_id, parts FROM operator_decisions
        WHERE message_id = :message_id AND decision IN ({_LEAVES_TO_CARRIER})
    ) held LEFT JOIN carriers c ON c.id = held.carrier_id""",
)


async def match_to(
    db: Database,
    carrier: CarrierFacts,
    receipt_id: str,
    message_id: str,
    by: str,
    now_ms: int,
    *,
    as_one: bool,
) -> None:
    """Says that a receipt, named by its id in the operator's form, is this message's (raw id): it
    settles what is in doubt of it, or ends it if it is sent. `as_one` says whether this carrier
    takes a message's segments as one. Raises NotFound, InvalidRequest when the receipt cannot be
    the message's.
    """
    async with db.hot() as tx:
        await match_within(tx, carrier, receipt_id, message_id, by, now_ms, as_one=as_one)


async def match_within(
    tx: HotTx,
    carrier: CarrierFacts,
    receipt_id: str,
    message_id: str,
    by: str,
    now_ms: int,
    *,
    as_one: bool,
) -> decide.DecisionResult:
    """Does what `match_to` does in the caller's transaction, and returns what became of the
    message. Raises NotFound, InvalidRequest.
    """
    doubts = await DOUBTS_OF.rows(tx, OfMessage(carrier.id, message_id))
    receipt = await _lock_receipt(tx, carrier.id, receipt_id)
    locked = await lock_messages(tx, {message_id})
    if not locked:
        raise NotFound(f"There is no message {ids.text_of_raw(MESSAGE_PREFIX, message_id)}.")
    row = row_of(locked[0])
    _check(receipt, receipt_id, row, doubts, carrier)
    if doubts:
        segment = next(
            (each for each in doubts if _names_segment(receipt, row.id, each.part)), doubts[0]
        )
        parts = segment.parts
        await adopt(tx, carrier, [(receipt, segment)], now_ms)
    else:
        bits_elsewhere, names = await _bits_elsewhere(tx, row, carrier)
        left = row.parts_accepted & ~row.parts_delivered & ~bits_elsewhere
        if not left:
            message = f"the message {ids.text_of_raw(MESSAGE_PREFIX, row.id)}"
            raise InvalidRequest(
                f"The receipt {receipt_id} is of {carrier.name}, but {message} waits for one of"
                f" {names}."
            )
        parts = left if as_one else _undelivered(receipt, row, left)
        await _end_sent(tx, carrier, receipt, row, parts, now_ms)
    who = decide.read_decided_by(by, f"receipt {receipt_id} ({receipt.state})")
    await decide.record(tx, carrier.id, {row.id: parts}, decide.Decision.RECEIPT, who, now_ms)
    [now] = await lock_messages(tx, {message_id})
    return decide.DecisionResult(
        now.id, now.status, now.error_code, now.refunded - locked[0].refunded
    )


async def _lock_receipt(tx: HotTx, carrier_id: int, receipt_id: str) -> StoredReceipt:
    """Returns the receipt, kept from being matched otherwise. Raises NotFound."""
    name, ref_or_row_id = parse_id(receipt_id)
    found = (
        await _UNMATCHED_ROW.rows(tx, _RowOfCarrier(carrier_id, ref_or_row_id))
        if name is None
        else await _UNMATCHED_REF.rows(tx, _RefOfCarrier(carrier_id, ref_or_row_id))
    )
    if not found:
        raise receipt_not_found(receipt_id)
    stored = found[0]
    return StoredReceipt(
        stored.ref_or_row_id,
        stored.recipient,
        stored.sender,
        reference=stored.reference,
        state=stored.state or "",
        error=stored.error,
        at_ms=stored.at_ms,
        printed=None if name is None else stored.ref_or_row_id,
    )


def _check(
    receipt: StoredReceipt,
    receipt_id: str,
    row: MessageRow,
    doubts: Sequence[OnTheWire],
    carrier: CarrierFacts,
) -> None:
    """Checks that the receipt may be the message's. The sender need not agree, for carriers
    change it; the handset must, otherwise it is another message's.
    """
    message = f"the message {ids.text_of_raw(MESSAGE_PREFIX, row.id)}"
    if not receipt.state:
        raise InvalidRequest(
            f"The receipt {receipt_id} cannot be read: ask the carrier what it says, and settle"
            f" {message}."
        )
    if not agrees(row.recipient, receipt.recipient):
        raise InvalidRequest(f"The receipt {receipt_id} names another handset than {message}.")
    if receipt.at_ms < ids.made_at_ms(int(row.id, 16)):
        raise InvalidRequest(f"The receipt {receipt_id} came before {message} was made.")
    if not doubts and row.status != SENT:
        raise InvalidRequest(
            f"T{message[1:]} is not in doubt with {carrier.name}, nor sent: it is {row.status}."
        )
    if not doubts and ReceiptState(receipt.state) not in FINAL_RECEIPTS:
        raise InvalidRequest(
            f"The receipt {receipt_id} says {receipt.state}, which changes nothing of a message"
            " that is sent."
        )


async def _bits_elsewhere(tx: HotTx, row: MessageRow, carrier: CarrierFacts) -> tuple[int, str]:
    """Returns the bits of a sent message's segments that only other carriers have, and their names.
    The carriers' ids of the message tell this, and so do the decisions about it. These ids are
    looked up by their age, because there is no index by message. A segment that no carrier is known
    to have may be with any of them.
    """
    [times] = await _SENT_BY.rows(tx, _AskedMessage(row.id))
    since_ms, until_ms = (
        ids.made_at_ms(int(row.id, 16)),
        max(times.sent_at_ms or 0, times.decided_at_ms),
    )
    holders = await _HOLDERS.rows(
        tx, _Within(row.id, since_ms - CLOCK_SLACK_MS, until_ms + CLOCK_SLACK_MS)
    )
    own = others = 0
    names = set()
    for holder in holders:
        if holder.carrier_id == carrier.id:
            own |= holder.parts
        else:
            others |= holder.parts
            names.add(holder.name or "a carrier that was removed")
    return others & ~own, " and ".join(sorted(names))


def _names_segment(receipt: StoredReceipt, message_id: str, part: int) -> bool:
    """Returns whether the receipt brings back our reference of this segment."""
    return receipt.names_a_part and user_message_reference(message_id, part) == receipt.reference


def _undelivered(receipt: StoredReceipt, row: MessageRow, left: int) -> int:
    """Returns the bit of the segment to which a receipt belongs, out of those that are `left`: the
    one whose reference the receipt brings back, else the first.
    """
    numbers = [number for number in range(1, row.segments + 1) if left >> (number - 1) & 1]
    number = next(
        (number for number in numbers if _names_segment(receipt, row.id, number)), numbers[0]
    )
    return 1 << (number - 1)


async def _end_sent(
    tx: HotTx,
    carrier: CarrierFacts,
    receipt: StoredReceipt,
    row: MessageRow,
    parts: int,
    now_ms: int,
) -> None:
    """Does what `receipts.adopt` does, for a segment that a carrier has accepted."""
    if not receipt.has_id:
        await FORGET_RECEIPT.rows(tx, [ReceiptKey(receipt.ref_or_row_id)])
    else:
        await REF_OF_ANSWER.rows(
            tx, [AnsweredRef(carrier.id, receipt.ref_or_row_id, row.id, parts, now_ms)]
        )
    changes = Changes(now_ms, {row.id: row})
    settle_receipt(row, parts, ReceiptState(receipt.state), receipt.error, now_ms)
    await store_changes(tx, carrier.id, changes)
