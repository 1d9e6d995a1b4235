"""Receipts that found no message, as the operator sees them; and his word that one is a certain
message's.
"""

from collections import defaultdict
from collections.abc import Sequence
from typing import Final, NamedTuple

import sqlalchemy as sa
from sqlalchemy.engine import Connection

from heliograph.base import ids
from heliograph.base.errors import InvalidRequest, NotFound
from heliograph.base.forms import shown
from heliograph.carriers import ReceiptState, user_message_reference
from heliograph.database.database import Database
from heliograph.database.hot import HotTx
from heliograph.database.statements import BigInt, Id, Int, Row, SmallInt, Text, same
from heliograph.messages.carrier.refs import CarrierFacts
from heliograph.messages.carrier.refs_sql import (
    FORGET_RECEIPT,
    REF_OF_ANSWER,
    AnsweredRef,
    ReceiptKey,
)
from heliograph.messages.carrier.settle import agrees, settle_receipt
from heliograph.messages.carrier.store import store_changes
from heliograph.messages.changes import Changes, MessageRow, row_of
from heliograph.messages.doubt import decide
from heliograph.messages.doubt.receipts import LAST_DIGITS, adopt, may_be
from heliograph.messages.doubt.sql import DOUBTS_OF, OfMessage, OnTheWire, Parked
from heliograph.messages.message_lock import lock_messages
from heliograph.messages.read import CLOCK_SLACK_MS
from heliograph.messages.states import FINAL_RECEIPTS, SENT
from heliograph.messages.tables import (
    RECEIPTS_KEPT_MS,
    carrier_refs,
    inflight,
    messages,
    sends,
    unmatched_receipts,
)

RECEIPT_PREFIX: Final = "rcp"
CANDIDATES_MAX: Final = 10  # messages that are named as those it may be


class _AtPlace(Row, frozen=True):
    """A receipt of a carrier, by its id or by that of its row."""

    carrier_id: SmallInt
    place: Text


class _InRow(Row, frozen=True):
    carrier_id: SmallInt
    place: Id


class _Said(Row, frozen=True):
    """What a receipt says; a state that cannot be read is None."""

    place: Text
    recipient: BigInt | None
    sender: Text | None
    reference: Int | None
    state: Text | None
    error: Text | None
    at_ms: BigInt


class _Message(Row, frozen=True):
    message_id: Id


class _Times(Row, frozen=True):
    sent_at_ms: BigInt | None
    decided_at_ms: BigInt


class _Within(Row, frozen=True):
    """A message, and from when to when a carrier's id of it may have been stored."""

    message_id: Id
    since_ms: BigInt
    until_ms: BigInt


class _Holder(Row, frozen=True):
    """A carrier that has segments of a message; no name: it was removed."""

    carrier_id: SmallInt
    name: Text | None
    parts: SmallInt


_SAID: Final = (
    "recipient, sender, user_message_reference AS reference, receipt_state AS state, receipt_error"
    " AS error"
)
_PARKED_REF: Final = same(
    _AtPlace,
    _Said,
    f"""
    SELECT ref AS place, {_SAID}, created_at_ms AS at_ms FROM carrier_refs
    WHERE carrier_id = :carrier_id AND ref = :place AND message_id IS NULL""",
    lock="FOR UPDATE",
)
_PARKED_ROW: Final = same(
    _InRow,
    _Said,
    f"""
    SELECT id AS place, {_SAID}, received_at_ms AS at_ms FROM unmatched_receipts
        WHERE carrier_id = :carrier_id AND id = :place""",
)
_SENT_BY: Final = same(
    _Message,
    _Times,
    """
    SELECT m.sent_at_ms, coalesce((SELECT max(decided_at_ms) FROM operator_decisions
        WHERE message_id = m.id), 0) AS decided_at_ms
    FROM messages m WHERE m.id = :message_id""",
)
_HOLDERS: Final = same(
    _Within,
    _Holder,
    """
    SELECT held.carrier_id, c.name, held.parts FROM (
        SELECT carrier_id, parts FROM carrier_refs WHERE message_id = :message_id
            AND created_at_ms >= :since_ms AND created_at_ms <= :until_ms
        UNION ALL SELECT carrier_id, parts FROM operator_decisions
        WHERE message_id = :message_id AND decision IN ('sent', 'delivered', 'undeliverable',
            'receipt')
    ) held LEFT JOIN carriers c ON c.id = held.carrier_id""",
)


class Unmatched(NamedTuple):
    """A receipt without a message. `place`: where it is stored, as in Parked; `printed`:
    its id as it came.
    """

    carrier_id: int
    place: str
    printed: str | None
    state: str | None
    error: str | None
    recipient: int | None
    sender: str | None
    reference: int | None
    at_ms: int
    has_row: bool  # of unmatched_receipts

    @property
    def kept_until_ms(self) -> int:
        return (
            ids.made_at_ms(int(self.place, 16)) if self.has_row else self.at_ms
        ) + RECEIPTS_KEPT_MS

    @property
    def parked(self) -> Parked:
        printed = None if self.has_row else self.printed or self.place
        return Parked(
            self.place,
            self.recipient,
            self.sender,
            reference=self.reference,
            state=self.state or "",
            error=self.error,
            at_ms=self.at_ms,
            printed=printed,
        )


def text_id(receipt: Unmatched, carrier_name: str) -> str:
    """What the operator calls it: its carrier and that one's id as it is compared, or the id of its
    row.
    """
    return (
        ids.text_of_raw(RECEIPT_PREFIX, receipt.place)
        if receipt.has_row
        else f"{carrier_name}/{receipt.place}"
    )


def unmatched(tx: Connection, carrier_id: int | None, limit: int) -> list[Unmatched]:
    """At most so many, newest first."""
    refs, rows = carrier_refs.c, unmatched_receipts.c
    of_refs = sa.select(
        refs.carrier_id,
        refs.ref,
        sa.func.coalesce(refs.printed, refs.ref),
        refs.receipt_state,
        refs.receipt_error,
        refs.recipient,
        refs.sender,
        refs.user_message_reference,
        refs.created_at_ms,
    ).where(refs.message_id.is_(None))
    of_rows = sa.select(
        rows.carrier_id,
        rows.id,
        rows.ref,
        rows.receipt_state,
        rows.receipt_error,
        rows.recipient,
        rows.sender,
        rows.user_message_reference,
        rows.received_at_ms,
    )
    if carrier_id is not None:
        of_refs, of_rows = (
            of_refs.where(refs.carrier_id == carrier_id),
            of_rows.where(rows.carrier_id == carrier_id),
        )
    found = [
        Unmatched(*row, False)
        for row in tx.execute(of_refs.order_by(refs.created_at_ms.desc()).limit(limit))
    ]
    found += [
        Unmatched(*row, True)
        for row in tx.execute(of_rows.order_by(rows.received_at_ms.desc()).limit(limit))
    ]
    return sorted(found, key=lambda receipt: (-receipt.at_ms, receipt.place))[:limit]


def candidates(tx: Connection, receipts: Sequence[Unmatched]) -> list[list[str]]:
    """Of each receipt: the messages in doubt with its carrier (raw ids) that it may be, as
    `doubts.py` judges it.
    """
    elsewhere = {
        "account_id": messages.c.account_id,
        "recipient": messages.c.recipient,
        "segments": messages.c.segments,
        "parts_resent": messages.c.parts_resent,
        "sender": sends.c.sender,
    }
    columns = [elsewhere.get(name, inflight.c.get(name)) for name in OnTheWire.__struct_fields__]
    query = (
        sa.select(inflight.c.carrier_id, *columns)
        .join_from(inflight, messages, messages.c.id == inflight.c.message_id)
        .join(sends, sends.c.id == messages.c.send_id)
        .where(inflight.c.state == "in_doubt", messages.c.recipient.is_not(None))
    )
    by_digits: dict[tuple[int, int], list[OnTheWire]] = defaultdict(list)
    for carrier_id, *row in tx.execute(query.order_by(inflight.c.message_id)):
        segment = OnTheWire(*row)
        by_digits[carrier_id, (segment.recipient or 0) % LAST_DIGITS].append(segment)
    return [
        (
            []
            if receipt.recipient is None or receipt.state is None
            else list(
                dict.fromkeys(
                    segment.message_id
                    for segment in by_digits[receipt.carrier_id, receipt.recipient % LAST_DIGITS]
                    if may_be(receipt.parked, segment)
                )
            )
        )
        for receipt in receipts
    ]


def why(receipt: Unmatched) -> str:
    """Why it is no message's."""
    if receipt.state is None:
        return "it cannot be read"
    if receipt.printed is None:
        return "it has no id"
    if receipt.has_row:
        return "its id is of a message to another handset, or may be of two"
    return "no message has its id"


def parse_id(receipt_id: str) -> tuple[str | None, str]:
    """(name of its carrier, its place); no name where the row tells. Raises NotFound when it is
    malformed.
    """
    raw = ids.raw_of_text(RECEIPT_PREFIX, receipt_id)
    if raw is not None:
        return None, raw
    carrier_name, slash, ref = receipt_id.partition("/")
    if not slash or not ref:
        raise none_such(receipt_id)
    return carrier_name, ref


def carrier_of(tx: Connection, raw_id: str) -> int | None:
    """The carrier of a row of unmatched_receipts."""
    return tx.execute(
        sa.select(unmatched_receipts.c.carrier_id).where(unmatched_receipts.c.id == raw_id)
    ).scalar()


def none_such(receipt_id: str) -> NotFound:
    return NotFound(f"There is no unmatched receipt {shown(receipt_id)}.")


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
    """A receipt, by its id in the operator's form, is this message's (raw id): it settles what is
    in doubt of it, or ends it if it is sent. `as_one`: this carrier takes a message's segments as
    one. Raises NotFound, InvalidRequest when the receipt cannot be the message's.
    """
    async with db.hot() as tx:
        doubts = await DOUBTS_OF.rows(tx, OfMessage(carrier.id, message_id))
        receipt = await _locked(tx, carrier.id, receipt_id)
        locked = await lock_messages(tx, {message_id})
        if not locked:
            raise NotFound(f"There is no message {ids.text_of_raw('msg', message_id)}.")
        row = row_of(locked[0])
        _check(receipt, receipt_id, row, doubts, carrier)
        if doubts:
            segment = next(
                (each for each in doubts if _names(receipt, row.id, each.part)), doubts[0]
            )
            parts = segment.parts
            await adopt(tx, carrier, [(receipt, segment)], now_ms)
        else:
            elsewhere, names = await _elsewhere(tx, row, carrier)
            left = row.parts_accepted & ~row.parts_delivered & ~elsewhere
            if not left:
                message = f"the message {ids.text_of_raw('msg', row.id)}"
                raise InvalidRequest(
                    f"The receipt {receipt_id} is of {carrier.name}, but {message} waits for one of"
                    f" {names}."
                )
            parts = left if as_one else _undelivered(receipt, row, left)
            await _end_sent(tx, carrier, receipt, row, parts, now_ms)
        word = decide.signed(by, f"receipt {receipt_id} ({receipt.state})")
        await decide.record(tx, carrier.id, {row.id: parts}, decide.Decision.RECEIPT, word, now_ms)


async def _locked(tx: HotTx, carrier_id: int, receipt_id: str) -> Parked:
    """The receipt, kept from being matched otherwise. Raises NotFound."""
    name, place = parse_id(receipt_id)
    found = (
        await _PARKED_ROW.rows(tx, _InRow(carrier_id, place))
        if name is None
        else await _PARKED_REF.rows(tx, _AtPlace(carrier_id, place))
    )
    if not found:
        raise none_such(receipt_id)
    said = found[0]
    return Parked(
        said.place,
        said.recipient,
        said.sender,
        reference=said.reference,
        state=said.state or "",
        error=said.error,
        at_ms=said.at_ms,
        printed=None if name is None else said.place,
    )


def _check(
    receipt: Parked,
    receipt_id: str,
    row: MessageRow,
    doubts: Sequence[OnTheWire],
    carrier: CarrierFacts,
) -> None:
    """That it may be the message's. The sender need not agree, for carriers change it; the handset
    must: otherwise it is another message's.
    """
    message = f"the message {ids.text_of_raw('msg', row.id)}"
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


async def _elsewhere(tx: HotTx, row: MessageRow, carrier: CarrierFacts) -> tuple[int, str]:
    """Bits of a sent message's segments that only other carriers have, and their names. That is
    told by their ids of it, which are looked for by their age, for there is no index of their
    messages; and by what was decided about it. What nobody is known to have may be anybody's.
    """
    [times] = await _SENT_BY.rows(tx, _Message(row.id))
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


def _names(receipt: Parked, message_id: str, part: int) -> bool:
    """Whether it brings our reference of this segment back."""
    return receipt.names_a_part and user_message_reference(message_id, part) == receipt.reference


def _undelivered(receipt: Parked, row: MessageRow, left: int) -> int:
    """The bit of that one of the segments `left` that a receipt is of: the one whose reference it
    brings back, else the first.
    """
    numbers = [number for number in range(1, row.segments + 1) if left >> (number - 1) & 1]
    number = next((number for number in numbers if _names(receipt, row.id, number)), numbers[0])
    return 1 << (number - 1)


async def _end_sent(
    tx: HotTx, carrier: CarrierFacts, receipt: Parked, row: MessageRow, parts: int, now_ms: int
) -> None:
    """As `adopt`, of a segment that a carrier has accepted."""
    if not receipt.has_id:
        await FORGET_RECEIPT.rows(tx, [ReceiptKey(receipt.place)])
    else:
        await REF_OF_ANSWER.rows(
            tx, [AnsweredRef(carrier.id, receipt.place, row.id, parts, now_ms)]
        )
    changes = Changes(now_ms, {row.id: row})
    settle_receipt(row, parts, ReceiptState(receipt.state), receipt.error, now_ms)
    await store_changes(tx, carrier.id, changes)
