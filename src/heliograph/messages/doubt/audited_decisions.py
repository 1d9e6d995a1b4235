"""Lets an operator decide about messages in doubt in a transaction that stores more than that, such
as who did it in the audit log. What a decision would change is found out by making it and taking it
back, so that it is always what the decision itself does.
"""

from collections.abc import Callable, Sequence
from typing import Final, NamedTuple, TypeVar

from sqlalchemy.engine import Connection

from heliograph.database.hot import run_in
from heliograph.messages.carrier.refs import CarrierFacts
from heliograph.messages.doubt.decide import (
    DecidedBy,
    Decision,
    DecisionResult,
    decide_within,
)
from heliograph.messages.doubt.match_receipt import match_within

T = TypeVar("T")

# decided about in one transaction: of ten segments each, it holds them for 0.1 s
AT_ONCE_MAX: Final = 100


class ReceiptMatch(NamedTuple):
    """Says which receipt, by its id in the operator's form, belongs to which message (raw id).
    `as_one` says whether its carrier takes the segments of a message as one.
    """

    receipt_id: str
    message_id: str
    as_one: bool


def settle(
    tx: Connection,
    carrier: CarrierFacts,
    message_ids: Sequence[str],
    decision: Decision,
    who: DecidedBy,
    now_ms: int,
) -> list[DecisionResult]:
    """Decides about the segments of these messages (raw ids, at most AT_ONCE_MAX) that are in doubt
    with this carrier.
    """
    assert len(message_ids) <= AT_ONCE_MAX
    return run_in(
        tx, lambda hot: decide_within(hot, carrier, sorted(message_ids), decision, who, now_ms)
    )


def match(
    tx: Connection, carrier: CarrierFacts, wanted: ReceiptMatch, by: str, now_ms: int
) -> DecisionResult:
    """Gives a receipt that matched nothing to a message. Raises NotFound, and InvalidRequest if it
    cannot be the message's.
    """
    return run_in(
        tx,
        lambda hot: match_within(
            hot,
            carrier,
            wanted.receipt_id,
            wanted.message_id,
            by,
            now_ms,
            as_one=wanted.as_one,
        ),
    )


def preview_of(tx: Connection, change: Callable[[], T]) -> T:
    """Returns what a change of this transaction returns, and takes the change back."""
    with tx.begin_nested() as savepoint:
        try:
            return change()
        finally:
            savepoint.rollback()
