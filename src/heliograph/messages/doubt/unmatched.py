"""Shows the operator the receipts that found no message."""

from collections import defaultdict
from collections.abc import Sequence
from typing import Any, Final, NamedTuple

import sqlalchemy as sa
from sqlalchemy.engine import Connection

from heliograph.base import ids
from heliograph.base.errors import NotFound
from heliograph.base.forms import quote_value
from heliograph.database.reads import records_of
from heliograph.messages.carrier.settle import LAST_DIGITS
from heliograph.messages.doubt.doubts_sql import OnTheWire, StoredReceipt
from heliograph.messages.doubt.plausible_match import may_belong
from heliograph.messages.states import IN_DOUBT
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


class ReceiptToMatch(NamedTuple):
    """Describes a receipt that matched no message. `ref_or_row_id` identifies it, as in
    `StoredReceipt`, and `printed` is its id as it came.
    """

    carrier_id: int
    ref_or_row_id: str
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
            ids.made_at_ms(int(self.ref_or_row_id, 16)) if self.has_row else self.at_ms
        ) + RECEIPTS_KEPT_MS

    @property
    def unmatched(self) -> StoredReceipt:
        """Returns the receipt as it is stored when it has found no message."""
        printed = None if self.has_row else self.printed or self.ref_or_row_id
        return StoredReceipt(
            self.ref_or_row_id,
            self.recipient,
            self.sender,
            reference=self.reference,
            state=self.state or "",
            error=self.error,
            at_ms=self.at_ms,
            printed=printed,
        )


def text_id(receipt: ReceiptToMatch, carrier_name: str) -> str:
    """Returns the receipt's id as the operator sees it: its carrier's name and the carrier's id in
    its canonical form, or the id of its row.
    """
    return (
        ids.text_of_raw(RECEIPT_PREFIX, receipt.ref_or_row_id)
        if receipt.has_row
        else f"{carrier_name}/{receipt.ref_or_row_id}"
    )


def select_receipts(has_row: bool) -> Any:
    """Returns the query of all fields of a receipt: of receipts that have a row of
    `unmatched_receipts`, or of carriers' ids, of which some have found their message.
    """
    refs, rows = carrier_refs.c, unmatched_receipts.c
    if has_row:
        return sa.select(
            rows.carrier_id,
            rows.id.label("ref_or_row_id"),
            rows.ref.label("printed"),
            rows.receipt_state.label("state"),
            rows.receipt_error.label("error"),
            rows.recipient,
            rows.sender,
            rows.user_message_reference.label("reference"),
            rows.received_at_ms.label("at_ms"),
            sa.true().label("has_row"),
        )
    return sa.select(
        refs.carrier_id,
        refs.ref.label("ref_or_row_id"),
        sa.func.coalesce(refs.printed, refs.ref).label("printed"),
        refs.receipt_state.label("state"),
        refs.receipt_error.label("error"),
        refs.recipient,
        refs.sender,
        refs.user_message_reference.label("reference"),
        refs.created_at_ms.label("at_ms"),
        sa.false().label("has_row"),
    )


def find_unmatched(tx: Connection, carrier_id: int | None, limit: int) -> list[ReceiptToMatch]:
    """Returns at most `limit` receipts, newest first."""
    refs, rows = carrier_refs.c, unmatched_receipts.c
    of_refs, of_rows = (
        select_receipts(False).where(refs.message_id.is_(None)),
        select_receipts(True),
    )
    if carrier_id is not None:
        of_refs, of_rows = (
            of_refs.where(refs.carrier_id == carrier_id),
            of_rows.where(rows.carrier_id == carrier_id),
        )
    found = [
        receipt
        for query in (
            of_refs.order_by(refs.created_at_ms.desc()),
            of_rows.order_by(rows.received_at_ms.desc()),
        )
        for receipt in records_of(ReceiptToMatch, tx.execute(query.limit(limit)))
    ]
    return sorted(found, key=lambda receipt: (-receipt.at_ms, receipt.ref_or_row_id))[:limit]


def receipt_at(
    tx: Connection, carrier_id: int, ref_or_row_id: str, *, has_row: bool
) -> ReceiptToMatch | None:
    """Returns the receipt of a carrier with this id, unless it has found its message."""
    refs, rows = carrier_refs.c, unmatched_receipts.c
    query = (
        select_receipts(True).where(rows.carrier_id == carrier_id, rows.id == ref_or_row_id)
        if has_row
        else select_receipts(False).where(
            refs.carrier_id == carrier_id, refs.ref == ref_or_row_id, refs.message_id.is_(None)
        )
    )
    row = tx.execute(query).one_or_none()
    return None if row is None else ReceiptToMatch(**row._asdict())


def candidates(tx: Connection, receipts: Sequence[ReceiptToMatch]) -> list[list[str]]:
    """Returns, for each receipt, the messages in doubt with its carrier (raw ids) that it may
    belong to, as `receipts.py` judges it.
    """
    other_columns = {
        "account_id": messages.c.account_id,
        "recipient": messages.c.recipient,
        "segments": messages.c.segments,
        "parts_resent": messages.c.parts_resent,
        "sender": sends.c.sender,
    }
    columns = [
        other_columns.get(name, inflight.c.get(name)) for name in OnTheWire.__struct_fields__
    ]
    query = (
        sa.select(inflight.c.carrier_id, *columns)
        .join_from(inflight, messages, messages.c.id == inflight.c.message_id)
        .join(sends, sends.c.id == messages.c.send_id)
        .where(
            inflight.c.state == IN_DOUBT,
            inflight.c.carrier_id.in_({receipt.carrier_id for receipt in receipts}),
            messages.c.recipient.is_not(None),
        )
    )
    by_digits: dict[tuple[int, int], list[OnTheWire]] = defaultdict(list)
    for row in tx.execute(query.order_by(inflight.c.message_id)):
        values = row._asdict()
        carrier_id: int = values.pop("carrier_id")
        segment = OnTheWire(**values)
        by_digits[carrier_id, (segment.recipient or 0) % LAST_DIGITS].append(segment)
    return [
        (
            []
            if receipt.recipient is None or receipt.state is None
            else list(
                dict.fromkeys(
                    segment.message_id
                    for segment in by_digits[receipt.carrier_id, receipt.recipient % LAST_DIGITS]
                    if may_belong(receipt.unmatched, segment)
                )
            )
        )
        for receipt in receipts
    ]


def why_unmatched(receipt: ReceiptToMatch) -> str:
    """Returns why a receipt belongs to no message."""
    if receipt.state is None:
        return "it cannot be read"
    if receipt.printed is None:
        return "it has no id"
    if receipt.has_row:
        return "its id is of a message to another handset, or may be of two"
    return "no message has its id"


def parse_id(receipt_id: str) -> tuple[str | None, str]:
    """Returns (name of its carrier, its ref), or (None, the id of its row), as the row tells the
    carrier. Raises NotFound when it is malformed.
    """
    raw = ids.raw_of_text(RECEIPT_PREFIX, receipt_id)
    if raw is not None:
        return None, raw
    carrier_name, slash, ref = receipt_id.partition("/")
    if not slash or not ref:
        raise receipt_not_found(receipt_id)
    return carrier_name, ref


def carrier_of(tx: Connection, raw_id: str) -> int | None:
    """Returns the carrier of a row of unmatched_receipts, or None if there is no such row."""
    return tx.execute(
        sa.select(unmatched_receipts.c.carrier_id).where(unmatched_receipts.c.id == raw_id)
    ).scalar()


def receipt_not_found(receipt_id: str) -> NotFound:
    """Returns the error about an id that no unmatched receipt has."""
    return NotFound(f"There is no unmatched receipt {quote_value(receipt_id)}.")
