"""Decides how answers and receipts change messages. It is pure: rows come in, changes go out. The
carrier's turn locks the messages before, and stores them after.
"""

from typing import Final

from heliograph.carriers import ReceiptState, SubmitAnswer, SubmitOutcome
from heliograph.carriers.smpp.statuses import status_in_words
from heliograph.messages.carrier.inflight_sql import InFlight
from heliograph.messages.changes.collect import Changes, MessageRow, Requeued
from heliograph.messages.states import (
    DELIVERED,
    ERROR_MESSAGES,
    FAILED,
    FAILED_BY_RECEIPT,
    MESSAGE,
    QUEUED,
    SENT,
    all_parts,
)

# tries of a message whose submit_sm met a passing fault (docs/answers.md, "What an answer to
# submit_sm makes of a message")
TRIES_MAX: Final = 3
RETRY_DELAYS_MS: Final = (2_000, 15_000)
# the bind has slowed down by itself; the message only must not come back at once
THROTTLED_DELAY_MS: Final = 500
# a refusal of our own: the carrier's has a command_status
NOT_ENCODED: Final = "(it cannot be encoded for this carrier)"
RECIPIENT_DIGITS_AGREEING: Final = 6  # carriers that strip the country code leave at least these
LAST_DIGITS: Final = 10**RECIPIENT_DIGITS_AGREEING  # numbers that agree have these in common


def move(
    row: MessageRow,
    status: str,
    now_ms: int,
    error_code: str | None = None,
    detail: str | None = None,
) -> bool:
    """Moves a message on; False when its state forbids it (a lost race is an ordinary result)."""
    if not MESSAGE.allows(row.status, status):
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
    changes: Changes, answer: SubmitAnswer, was: InFlight | None, *, receipt_needless: bool
) -> None:
    """Applies one submit_sm's answer. `was` is None when the attempt was taken back meanwhile:
    then only an acceptance still counts. `receipt_needless` says that these segments ask for no
    receipt, but another segment of the message does.
    """
    row = changes.messages[answer.message_id]
    if answer.outcome is SubmitOutcome.ACCEPTED:
        _accept(row, answer.parts, changes.now_ms, receipt_needless=receipt_needless)
    elif was is None or row.status != QUEUED:
        return
    elif answer.outcome is SubmitOutcome.REFUSED or (
        answer.outcome is SubmitOutcome.RETRY and was.attempt >= TRIES_MAX
    ):
        why = (
            f"({status_in_words(answer.command_status)})" if answer.command_status else NOT_ENCODED
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


def _requeue(changes: Changes, row: MessageRow, was: InFlight, outcome: SubmitOutcome) -> None:
    """Sends the message back to the queue."""
    retried = outcome is SubmitOutcome.RETRY
    delay_ms = (
        RETRY_DELAYS_MS[was.attempt - 1]
        if retried
        else THROTTLED_DELAY_MS
        if outcome is SubmitOutcome.THROTTLED
        else 0
    )
    changes.requeue(
        row.id,
        Requeued(
            was.prefix,
            was.attempt + retried,
            not_before_ms=changes.now_ms + delay_ms,
            expires_at_ms=was.expires_at_ms,
        ),
    )


def settle_receipt(
    row: MessageRow, parts: int, state: ReceiptState, error: str | None, now_ms: int
) -> None:
    """Applies one delivery receipt of some segments. A receipt that is not final changes
    nothing.
    """
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
    """Returns whether a receipt's recipient may be the message's: equal, or one without its
    country code.
    """
    if recipient is None or of_receipt is None:
        return True
    a, b = str(recipient), str(of_receipt)
    return a == b or (
        min(len(a), len(b)) >= RECIPIENT_DIGITS_AGREEING and (a.endswith(b) or b.endswith(a))
    )


def is_from(sender: str, of_receipt: str | None) -> bool:
    """Returns whether a receipt's sender may be the message's: carriers print numbers with and
    without plus, and letters in any case.
    """
    return of_receipt is None or sender.casefold().lstrip(
        "+"
    ) == of_receipt.strip().casefold().lstrip("+")


def refund_due(row: MessageRow) -> int:
    """Returns the credits of a failed message's segments that no carrier accepted, less what was
    refunded before.
    """
    if row.status != FAILED:
        return 0
    return unaccepted_credits(row.credits, row.segments, row.parts_accepted) - row.refunded


def unaccepted_credits(credits: int, segments: int, parts_accepted: int) -> int:
    """Returns the part of a message's credits that stands for segments which no carrier has
    accepted. `parts_accepted` has a bit for each that one has.
    """
    return credits * (segments - parts_accepted.bit_count()) // segments
