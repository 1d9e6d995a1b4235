"""What answers and receipts make of messages. Pure: rows in, changes out; the carrier's turn locks
before and stores after.
"""

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Final, NamedTuple

from heliograph.base import ids
from heliograph.carriers import Answer, Outcome, ReceiptState
from heliograph.messages.carrier.inflight_sql import InFlight
from heliograph.messages.carrier.messages_sql import LockedMessage
from heliograph.messages.queue.rank import rank_ahead
from heliograph.messages.queue.sql import QueuedRun
from heliograph.messages.states import (
    DELIVERED,
    ERROR_MESSAGES,
    FAILED,
    FAILED_BY_RECEIPT,
    NEXT,
    QUEUED,
    SENT,
    all_parts,
)

# tries of a message whose submit_sm met a passing fault (docs/states.md, "What an answer to
# submit_sm makes of a message")
TRIES_MAX: Final = 3
RETRY_DELAYS_MS: Final = (2_000, 15_000)
# the bind has slowed down by itself; the message only must not come back at once
THROTTLED_DELAY_MS: Final = 500
# a refusal of our own: the carrier's has a command_status
NOT_ENCODED: Final = "(it cannot be encoded for this carrier)"
RECIPIENT_DIGITS_AGREEING: Final = 6  # carriers that strip the country code leave at least these


@dataclass(slots=True)
class MessageRow:
    """A message under lock, as the turn moves it."""

    id: str
    send_id: str
    account_id: str
    sandbox: bool
    recipient: int | None
    status: str
    segments: int
    credits: int
    refunded: int
    parts_accepted: int
    parts_delivered: int
    error_code: str | None = None
    error_message: str | None = None
    group_id: int | None = None
    locked: LockedMessage | None = None  # as it was read: what its events show beside
    sent_at_ms: int | None = None  # these three: reached in this turn
    delivered_at_ms: int | None = None
    failed_at_ms: int | None = None
    changed: bool = False
    was: str = ""  # its status, and what was refunded, as they are stored
    refunded_before: int = 0


def row_of(locked: LockedMessage) -> MessageRow:
    """Returns the message that was locked, to be moved on."""
    return MessageRow(
        locked.id,
        locked.send_id,
        locked.account_id,
        sandbox=locked.sandbox,
        recipient=locked.recipient,
        status=locked.status,
        segments=locked.segments,
        credits=locked.credits,
        refunded=locked.refunded,
        parts_accepted=locked.parts_accepted,
        parts_delivered=locked.parts_delivered,
        error_code=locked.error_code,
        error_message=locked.error_message,
        group_id=locked.group_id,
        locked=locked,
        was=locked.status,
        refunded_before=locked.refunded,
    )


class Requeued(NamedTuple):
    """A message that goes back to the queue: one row of it."""

    rank_us: int
    message_id: str
    send_id: str
    segments: int
    prefix: str
    attempt: int
    not_before_ms: int
    expires_at_ms: int

    def of_carrier(self, carrier_id: int) -> QueuedRun:
        """Returns the row of the queue that it is with this carrier."""
        return QueuedRun(
            carrier_id,
            self.rank_us,
            self.message_id,
            messages=1,
            send_id=self.send_id,
            segments=self.segments,
            prefix=self.prefix,
            attempt=self.attempt,
            not_before_ms=self.not_before_ms,
            expires_at_ms=self.expires_at_ms,
        )


@dataclass(slots=True)
class Changes:
    """All that a turn has to store."""

    now_ms: int
    messages: dict[str, MessageRow]
    # by message: its parts come back as one
    requeued: dict[str, Requeued] = field(default_factory=dict)

    @classmethod
    def of(cls, now_ms: int, locked: Iterable[LockedMessage]) -> "Changes":
        """Returns no changes yet of messages that were locked."""
        return cls(now_ms, {message.id: row_of(message) for message in locked})

    def requeue(self, back: Requeued) -> None:
        """The claim takes all missing parts, with one number of try: beyond each of theirs, or a
        part's late answer would be its next try's.
        """
        known = self.requeued.get(back.message_id)
        self.requeued[back.message_id] = (
            back
            if known is None
            else known._replace(
                attempt=max(known.attempt, back.attempt),
                not_before_ms=max(known.not_before_ms, back.not_before_ms),
            )
        )


def move(
    row: MessageRow,
    status: str,
    now_ms: int,
    error_code: str | None = None,
    detail: str | None = None,
) -> bool:
    """Moves a message on; False when its state forbids it (a lost race is an ordinary result)."""
    if status not in NEXT[row.status]:
        return False
    row.status, row.error_code, row.changed = status, error_code, True
    if status == SENT:
        row.sent_at_ms = now_ms
    elif status == DELIVERED:
        row.delivered_at_ms = now_ms
    else:
        row.failed_at_ms = now_ms
    row.error_message = (
        None
        if error_code is None
        else f"{ERROR_MESSAGES[error_code]} {detail}"[:255]
        if detail
        else ERROR_MESSAGES[error_code]
    )
    return True


def settle_answer(
    changes: Changes, answer: Answer, was: InFlight | None, *, receipt_needless: bool
) -> None:
    """One submit_sm's answer. `was` is None when the attempt was taken back meanwhile: then only an
    acceptance still counts. `receipt_needless`: these segments ask for no receipt, but another
    segment of the message does.
    """
    row = changes.messages[answer.message_id]
    if answer.outcome is Outcome.ACCEPTED:
        _accept(row, answer.parts, changes.now_ms, receipt_needless=receipt_needless)
    elif was is None or row.status != QUEUED:
        return
    elif answer.outcome is Outcome.REFUSED or (
        answer.outcome is Outcome.RETRY and was.attempt >= TRIES_MAX
    ):
        why = (
            f"(command_status 0x{answer.command_status:08X})"
            if answer.command_status
            else NOT_ENCODED
        )
        move(row, FAILED, changes.now_ms, "carrier_rejected", why)
    else:
        _requeue(changes, row, was, answer.outcome)


def _accept(row: MessageRow, parts: int, now_ms: int, *, receipt_needless: bool) -> None:
    row.parts_accepted |= parts
    row.changed = True
    if receipt_needless:
        row.parts_delivered |= parts
    if row.parts_accepted == all_parts(row.segments):
        move(row, SENT, now_ms)
        _deliver_if_whole(row, now_ms)


def _deliver_if_whole(row: MessageRow, now_ms: int) -> None:
    whole = all_parts(row.segments)
    if row.parts_delivered == whole and row.parts_accepted == whole:
        move(row, DELIVERED, now_ms)


def _requeue(changes: Changes, row: MessageRow, was: InFlight, outcome: Outcome) -> None:
    """Back to the queue, ahead of all that has not had its turn yet."""
    retried = outcome is Outcome.RETRY
    delay_ms = (
        RETRY_DELAYS_MS[was.attempt - 1]
        if retried
        else THROTTLED_DELAY_MS
        if outcome is Outcome.THROTTLED
        else 0
    )
    changes.requeue(
        Requeued(
            rank_ahead(ids.made_at_ms(int(row.id, 16))),
            row.id,
            row.send_id,
            segments=row.segments,
            prefix=was.prefix,
            attempt=was.attempt + retried,
            not_before_ms=changes.now_ms + delay_ms,
            expires_at_ms=was.expires_at_ms,
        )
    )


def settle_receipt(
    row: MessageRow, parts: int, state: ReceiptState, error: str | None, now_ms: int
) -> None:
    """One delivery receipt of some segments. Anything that is not final changes nothing."""
    if state is ReceiptState.DELIVRD:
        if row.parts_delivered | parts != row.parts_delivered:
            row.parts_delivered |= parts
            row.changed = True
        _deliver_if_whole(row, now_ms)
    elif state in FAILED_BY_RECEIPT:
        move(
            row,
            FAILED,
            now_ms,
            FAILED_BY_RECEIPT[state],
            f"({state.value}, error {error})" if error else f"({state.value})",
        )


def agrees(recipient: int | None, of_receipt: int | None) -> bool:
    """Whether a receipt's recipient may be the message's: equal, or one without its
    country code.
    """
    if recipient is None or of_receipt is None:
        return True
    a, b = str(recipient), str(of_receipt)
    return a == b or (
        min(len(a), len(b)) >= RECIPIENT_DIGITS_AGREEING and (a.endswith(b) or b.endswith(a))
    )


def is_from(sender: str, of_receipt: str | None) -> bool:
    """Whether a receipt's sender may be the message's: carriers print numbers with and
    without plus, and letters in any case.
    """
    return of_receipt is None or sender.casefold().lstrip(
        "+"
    ) == of_receipt.strip().casefold().lstrip("+")


def refund_due(row: MessageRow) -> int:
    """Credits of a failed message's segments that no carrier accepted, less what was
    refunded before.
    """
    if row.status != FAILED:
        return 0
    unaccepted = row.segments - row.parts_accepted.bit_count()
    return row.credits * unaccepted // row.segments - row.refunded
