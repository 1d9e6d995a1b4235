"""Stores an operator's decisions about messages in doubt. The operator has asked the carrier, and
so knows more than its answers and receipts said.

A decision changes messages by the same functions as answers and receipts, and refunds are made in
the same way. Whatever comes first ends a doubt: a later answer finds nothing in flight, and a later
decision finds no doubt.
"""

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from enum import Enum
from functools import partial
from typing import Final, NamedTuple, TypeVar

from heliograph.base import clock, ids
from heliograph.base.short_texts import BY_MAX, REASON_MAX, one_line
from heliograph.carriers import ReceiptState, SubmitAnswer, SubmitOutcome
from heliograph.database.database import Database
from heliograph.database.hot import HotTx
from heliograph.database.outage import run_again
from heliograph.database.statements import (
    BatchStatement,
    BigInt,
    Id,
    Insert,
    Row,
    SmallInt,
    Text,
    columns_of,
)
from heliograph.messages.carrier.inflight_sql import END_INFLIGHT, NOBODY, InFlight, Try
from heliograph.messages.carrier.messages_sql import RESENT, ResentParts
from heliograph.messages.carrier.refs import CarrierFacts
from heliograph.messages.carrier.settle import move, settle_answer, settle_receipt
from heliograph.messages.carrier.store import store_changes
from heliograph.messages.changes.collect import Changes, MessageRow, Requeued
from heliograph.messages.changes.message_lock import lock_messages
from heliograph.messages.read.message import MESSAGE_PREFIX, OTP
from heliograph.messages.states import FAILED, IN_DOUBT, QUEUED, SEGMENT

T = TypeVar("T")

SEGMENTS_MAX: Final = 500  # in doubt, decided about in one transaction: sends must not wait for it
BY_OPERATOR: Final = "(it was in doubt whether it was sent; the operator decided so)"


class _WithCarrier(Row, frozen=True):
    message_id: Id
    carrier_id: SmallInt


class _DoubtOfType(Row, frozen=True):
    """Holds a segment in doubt, and the type of its message."""

    segment: InFlight
    type: Text


_DOUBT: Final = """
    SELECT i.message_id, i.part, i.parts, i.attempt, i.prefix, i.expires_at_ms, s.type
        FROM inflight i"""
_LOCK_DOUBTS: Final = BatchStatement(
    _WithCarrier,
    _DoubtOfType,
    postgresql=f"""
        {_DOUBT} JOIN :given AS g ON i.message_id = g.message_id AND i.carrier_id = g.carrier_id
        JOIN messages m ON m.id = i.message_id JOIN sends s ON s.id = m.send_id
        WHERE {SEGMENT.is_in(IN_DOUBT, of="i.")} ORDER BY i.message_id, i.part FOR UPDATE OF i""",
    sqlite=f"""
        {_DOUBT} JOIN messages m ON m.id = i.message_id JOIN sends s ON s.id = m.send_id
        WHERE i.message_id = :message_id AND i.carrier_id = :carrier_id
            AND {SEGMENT.is_in(IN_DOUBT, of="i.")} ORDER BY i.part""",
)


class _DecisionRow(Row, frozen=True):
    """Holds a row of `operator_decisions`."""

    id: Id
    message_id: Id
    carrier_id: SmallInt
    parts: SmallInt
    decision: Text
    decided_by: Text
    reason: Text
    decided_at_ms: BigInt


_RECORD_COLUMNS: Final = columns_of(_DecisionRow)
_RECORD: Final = Insert("operator_decisions", _DecisionRow)


class Decision(Enum):
    """Lists what an operator can decide about a message in doubt. The last one says that a receipt
    belongs to the message.
    """

    SENT = "sent"  # the carrier has it
    DELIVERED = "delivered"  # the carrier has delivered it
    UNDELIVERABLE = "undeliverable"  # the carrier has it, and could not deliver it
    CANCELED = "canceled"  # the carrier never got it, and it is not to be sent any more
    RESENT = "resent"  # it is to be sent again
    RECEIPT = "receipt"


# after each of them, the carrier has the segments that it is about
LEAVES_TO_CARRIER: Final = (
    Decision.SENT,
    Decision.DELIVERED,
    Decision.UNDELIVERABLE,
    Decision.RECEIPT,
)


class DecidedBy(NamedTuple):
    """Says who decided, and why."""

    by: str
    reason: str


class DecisionResult(NamedTuple):
    """Reports what became of one message. `message_id` is raw. `refused` says why nothing was
    changed.
    """

    message_id: str
    status: str
    error_code: str | None
    credits_refunded: int
    refused: str | None = None


def read_decided_by(by: str, reason: str) -> DecidedBy:
    """Reads who decided, and why. Raises InvalidRequest."""
    return DecidedBy(one_line("by", by, most=BY_MAX), one_line("reason", reason, most=REASON_MAX))


def not_in_doubt(message_id: str, status: str, error_code: str | None) -> DecisionResult:
    """Returns the refusal for a message (raw id) of which no carrier has left anything
    unanswered.
    """
    return DecisionResult(
        message_id,
        status,
        error_code,
        0,
        f"The message {ids.text_of_raw(MESSAGE_PREFIX, message_id)} is not in doubt: it is"
        f" {status}.",
    )


def batches(doubts: Iterable[tuple[str, int]]) -> Iterator[list[str]]:
    """Yields the ids of messages in batches that have at most SEGMENTS_MAX segments in doubt. Each
    pair in `doubts` is the id of a message and how many of its segments are in doubt.
    """
    batch: list[str] = []
    in_batch = 0
    for message_id, segments in doubts:
        if batch and in_batch + segments > SEGMENTS_MAX:
            yield batch
            batch, in_batch = [], 0
        batch.append(message_id)
        in_batch += segments
    if batch:
        yield batch


async def decide(
    db: Database,
    doubts: Mapping[int, Sequence[tuple[str, int]]],
    facts: Mapping[int, CarrierFacts],
    decision: Decision,
    who: DecidedBy,
    tell: Callable[[list[DecisionResult]], object],
) -> None:
    """Decides about messages in doubt. `doubts` has, by carrier, the raw id of each message and how
    many of its segments are in doubt. `tell` gets the results of each batch, which is one
    transaction, once it is stored. Raises Unavailable.
    """
    for carrier_id, of_carrier in sorted(doubts.items()):
        for message_ids in batches(sorted(of_carrier)):
            tell(
                await run_again(
                    partial(
                        _decide_batch,
                        db,
                        facts[carrier_id],
                        message_ids,
                        decision=decision,
                        who=who,
                        now_ms=clock.now_ms(),
                    )
                )
            )


async def _decide_batch(
    db: Database,
    carrier: CarrierFacts,
    message_ids: Sequence[str],
    decision: Decision,
    who: DecidedBy,
    now_ms: int,
) -> list[DecisionResult]:
    """Decides in one transaction about the segments of these messages that are in doubt with this
    carrier.
    """
    async with db.hot() as tx:
        return await decide_within(tx, carrier, message_ids, decision, who, now_ms)


async def decide_within(
    tx: HotTx,
    carrier: CarrierFacts,
    message_ids: Sequence[str],
    decision: Decision,
    who: DecidedBy,
    now_ms: int,
) -> list[DecisionResult]:
    """Decides, in the caller's transaction, about the segments of these messages (raw ids) that are
    in doubt with this carrier: at most SEGMENTS_MAX.
    """
    doubts, otps = await _lock_doubts(tx, carrier.id, message_ids)
    changes = Changes.of(now_ms, await lock_messages(tx, set(message_ids)))
    refused = {
        message_id: why
        for message_id, row in changes.messages.items()
        if (
            why := _refusal(
                row, doubts.get(message_id, []), decision, now_ms, is_otp=message_id in otps
            )
        )
    }
    decided = {
        message_id: segments
        for message_id, segments in sorted(doubts.items())
        if message_id not in refused
    }
    await END_INFLIGHT.rows(
        tx,
        [
            Try(was.message_id, was.part, was.attempt, NOBODY)
            for segments in decided.values()
            for was in segments
        ],
    )
    refunded_before = {row.id: row.refunded for row in changes.messages.values()}
    for message_id, segments in decided.items():
        _apply(changes, carrier, changes.messages[message_id], segments, decision)
    parts = {message_id: _bits(segments) for message_id, segments in decided.items()}
    if decision is Decision.RESENT:
        await RESENT.rows(
            tx, [ResentParts(message_id, resent) for message_id, resent in parts.items()]
        )
    await store_changes(tx, carrier.id, changes)
    await record(tx, carrier.id, parts, decision, who, now_ms)
    return [
        DecisionResult(
            row.id,
            row.status,
            row.error_code,
            row.refunded - refunded_before[row.id],
            refused.get(row.id),
        )
        for _, row in sorted(changes.messages.items())
    ]


async def _lock_doubts(
    tx: HotTx, carrier_id: int, message_ids: Sequence[str]
) -> tuple[dict[str, list[InFlight]], set[str]]:
    """Returns which segments of these messages are in doubt with this carrier, locked so that
    nobody else settles them, and which of the messages are one-time passwords.
    """
    doubts: dict[str, list[InFlight]] = defaultdict(list)
    otps = set()
    for doubt in await _LOCK_DOUBTS.rows(
        tx, [_WithCarrier(message_id, carrier_id) for message_id in message_ids]
    ):
        doubts[doubt.segment.message_id].append(doubt.segment)
        if doubt.type == OTP:
            otps.add(doubt.segment.message_id)
    return doubts, otps


def _refusal(
    row: MessageRow, doubts: list[InFlight], decision: Decision, now_ms: int, *, is_otp: bool
) -> str | None:
    """Returns why nothing can be decided so, in a line."""
    if not doubts:
        return not_in_doubt(row.id, row.status, row.error_code).refused
    if decision is not Decision.RESENT:
        return None
    message = f"The message {ids.text_of_raw(MESSAGE_PREFIX, row.id)}"
    if is_otp:
        return f"{message} is a one-time password: it is never sent twice. It can be settled."
    if row.status != QUEUED:
        return f"{message} is {row.status}: it is not sent again."
    if any(segment.expires_at_ms <= now_ms for segment in doubts):
        return f"{message} is past its validity: it is not sent again."
    return None


def _apply(
    changes: Changes,
    carrier: CarrierFacts,
    row: MessageRow,
    doubts: list[InFlight],
    decision: Decision,
) -> None:
    """Applies a decision by the functions that settle answers and receipts. "Sent" is said of
    segments; "delivered" or not, of the message.
    """
    if decision is Decision.CANCELED:
        move(row, FAILED, changes.now_ms, "canceled", BY_OPERATOR)
        return
    if decision is Decision.RESENT:
        # no part may go out with the number of an earlier try of its own
        last = max(doubts, key=lambda segment: segment.attempt)
        changes.requeue(
            row.id,
            Requeued(
                last.prefix,
                last.attempt + 1,
                not_before_ms=changes.now_ms,
                expires_at_ms=last.expires_at_ms,
            ),
        )
        return
    for was in doubts:
        needless = carrier.receipts == "last" and was.parts.bit_length() < row.segments
        settle_answer(
            changes,
            SubmitAnswer(row.id, was.part, was.parts, was.attempt, SubmitOutcome.ACCEPTED),
            was,
            receipt_needless=needless,
        )
    if decision is not Decision.SENT:
        state = ReceiptState.DELIVRD if decision is Decision.DELIVERED else ReceiptState.UNDELIV
        settle_receipt(row, row.parts_accepted, state, None, changes.now_ms)


def _bits(segments: list[InFlight]) -> int:
    bits = 0
    for segment in segments:
        bits |= segment.parts
    return bits


async def record(
    tx: HotTx,
    carrier_id: int,
    parts: Mapping[str, int],
    decision: Decision,
    who: DecidedBy,
    now_ms: int,
) -> None:
    """Stores for each message (raw id → bits of its segments) that this was decided, by whom, and
    why.
    """
    await _RECORD.rows(
        tx,
        [
            _DecisionRow(
                ids.raw_of_number(ids.new_number(now_ms)),
                message_id,
                carrier_id,
                parts=bits,
                decision=decision.value,
                decided_by=who.by,
                reason=who.reason,
                decided_at_ms=now_ms,
            )
            for message_id, bits in parts.items()
        ],
    )
