"""A ref is a carrier's id for a submission. Submit answers and receipts meet by it, whichever comes
first, and however the carrier prints its ids.

A number is kept in one canonical form, lower case and without leading zeros; every other id is kept
as it is printed. Where a carrier's receipts print another base than its answers (its setting says
so, or `match.py` learnt it from evidence), the receipt's id is turned into the answer's. Nothing is
ever tried in turn: decimal 100 is not hex 100.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from heliograph.base import ids
from heliograph.carriers import Carrier, Receipt, SubmitAnswer, SubmitOutcome
from heliograph.database.hot import HotTx
from heliograph.messages.carrier.refs_sql import (
    RECEIPT_EXTRAS,
    REF_OF_ANSWER,
    REF_OF_RECEIPT,
    STORE_UNMATCHED,
    AnsweredRef,
    ReceiptExtras,
    ReceivedRef,
    StoredRef,
    UnmatchedReceipt,
)
from heliograph.messages.states import FINAL_RECEIPTS

AUTO: Final = "auto"  # how a carrier's receipts print ids is not known yet
AS_IS: Final = "as_is"  # as its answers do
DEC: Final = "dec"  # decimal where its answers are hex
HEX: Final = "hex"  # hex where they are decimal
REF_MAX: Final = 65  # message_id of SMPP 3.4, 5.2.23
ERROR_MAX: Final = 32  # these three: as wide as their columns
SENDER_MAX: Final = 21
RAW_OCTETS_MAX: Final = 1_024
_NO_NUMBER: Final = re.compile(r"[^0-9a-fA-F]")


@dataclass(frozen=True, slots=True)
class CarrierFacts:
    """Holds what must be known of a carrier to read its answers and receipts."""

    id: int
    name: str
    receipts: str = "all"  # all, last or none
    id_format: str = AUTO  # how receipts print the carrier's ids


def facts_of(carrier: Carrier) -> CarrierFacts:
    """Returns what a turn needs to know of a carrier."""
    return CarrierFacts(
        carrier.id,
        carrier.name,
        carrier.settings.get("receipts", "all"),
        carrier.id_format or carrier.settings.get("id_format", AUTO),
    )


class Ref(StoredRef, frozen=True):
    """Holds a carrier's id of a segment, with what is known from both sides, and the receipt that
    came now.
    """

    receipt: Receipt | None = None


def canonical(ref: str) -> str:
    """Returns the canonical form of an id as an answer printed it."""
    text = ref.strip()
    return text[:REF_MAX] if _NO_NUMBER.search(text) else text.lower().lstrip("0")[:REF_MAX] or "0"


def canonical_of_receipt(ref: str, id_format: str) -> str:
    """Returns the answer's id for one that a receipt printed."""
    text = ref.strip()
    if id_format == DEC and re.fullmatch(r"[0-9]{1,40}", text, re.ASCII):
        return f"{int(text):x}"
    if id_format == HEX and re.fullmatch(r"[0-9a-fA-F]{1,32}", text, re.ASCII):
        return str(int(text, 16))
    return canonical(text)


async def upsert(
    tx: HotTx,
    carrier_id: int,
    id_format: str,
    answers: Sequence[SubmitAnswer],
    receipts: Sequence[Receipt],
    now_ms: int,
) -> list[Ref]:
    """Stores the ids of accepted answers and of all receipts. Returns the Refs of both, each with
    what the other side had stored.
    """
    of_answers: dict[str, tuple[str, int]] = {}
    for answer in answers:
        if answer.outcome is SubmitOutcome.ACCEPTED and answer.ref:
            ref = canonical(answer.ref)
            message_id, parts = of_answers.get(ref, (answer.message_id, 0))
            of_answers[ref] = (
                answer.message_id,
                answer.parts | (parts if message_id == answer.message_id else 0),
            )
    found = [
        _with_receipt(stored)
        for stored in await REF_OF_ANSWER.rows(
            tx,
            [
                AnsweredRef(carrier_id, ref, message_id, parts, created_at_ms=now_ms)
                for ref, (message_id, parts) in sorted(of_answers.items())
            ],
        )
    ]
    readable, unreadable = _one_per_id(receipts, id_format)
    await _keep(tx, carrier_id, unreadable, now_ms)
    received = [
        _with_receipt(stored, readable[stored.ref])
        for stored in await REF_OF_RECEIPT.rows(
            tx,
            [
                ReceivedRef(
                    carrier_id,
                    ref,
                    recipient=_number(receipt.recipient),
                    receipt_state=receipt.state.value,
                    receipt_error=_text(receipt.error, ERROR_MAX),
                    created_at_ms=receipt.at_ms or now_ms,
                )
                for ref, receipt in sorted(readable.items())
                if receipt.state is not None
            ],
        )
    ]
    await store_further_details(tx, carrier_id, [ref for ref in received if ref.message_id is None])
    return found + received


def _with_receipt(stored: StoredRef, receipt: Receipt | None = None) -> Ref:
    return Ref(
        stored.ref,
        stored.message_id,
        stored.parts,
        recipient=stored.recipient,
        state=stored.state,
        error=stored.error,
        printed=stored.printed,
        receipt=receipt,
    )


async def store_further_details(tx: HotTx, carrier_id: int, refs: Sequence[Ref]) -> None:
    """Stores the further fields of receipts that came now and found no message."""
    await RECEIPT_EXTRAS.rows(
        tx,
        [
            ReceiptExtras(
                carrier_id,
                ref.ref,
                _text(ref.receipt.ref, REF_MAX),
                _text(ref.receipt.sender, SENDER_MAX),
                ref.receipt.user_message_reference,
            )
            for ref in refs
            if ref.receipt is not None
        ],
    )


def _one_per_id(
    receipts: Sequence[Receipt], id_format: str
) -> tuple[dict[str, Receipt], list[Receipt]]:
    """Returns one receipt an id (the first final one, else the last), and those without an id or
    a state.
    """
    readable: dict[str, Receipt] = {}
    unreadable = []
    for receipt in receipts:
        if not receipt.ref or receipt.state is None or not receipt.ref.isprintable():
            unreadable.append(receipt)
            continue
        ref = canonical_of_receipt(receipt.ref, id_format)
        earlier = readable.get(ref)
        if earlier is None or earlier.state not in FINAL_RECEIPTS:
            readable[ref] = receipt
    return readable, unreadable


async def _keep(tx: HotTx, carrier_id: int, receipts: Sequence[Receipt], now_ms: int) -> None:
    await STORE_UNMATCHED.rows(
        tx,
        [
            UnmatchedReceipt(
                ids.raw_of_number(ids.new_number(now_ms)),
                carrier_id,
                _text(receipt.ref, REF_MAX),
                receipt_state=receipt.state and receipt.state.value,
                receipt_error=_text(receipt.error, ERROR_MAX),
                recipient=_number(receipt.recipient),
                sender=_text(receipt.sender, SENDER_MAX),
                user_message_reference=receipt.user_message_reference,
                raw=receipt.raw[:RAW_OCTETS_MAX],
                received_at_ms=now_ms,
            )
            for receipt in receipts
        ],
    )


def _text(value: str | None, most: int) -> str | None:
    """Returns the first `most` characters of a text, if there is one, without NUL: PostgreSQL
    refuses that.
    """
    return value and value.replace("\0", "")[:most]


def _number(recipient: str | None) -> int | None:
    digits = (recipient or "").lstrip("+")
    return int(digits) if digits.isascii() and digits.isdigit() and len(digits) <= 18 else None
