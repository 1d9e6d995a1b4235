"""One answer or one receipt changes a message. What long sequences of them do stands in
tests/property/test_settle_property.py.
"""

import pytest

from heliograph.base import ids
from heliograph.carriers import ReceiptState, SubmitAnswer, SubmitOutcome
from heliograph.messages.carrier.inflight_sql import InFlight
from heliograph.messages.carrier.settle import (
    agrees,
    is_from,
    move,
    refund_due,
    settle_answer,
    settle_receipt,
)
from heliograph.messages.changes.collect import Changes, MessageRow, requeued_run
from heliograph.messages.queue.rank import rank_ahead
from heliograph.messages.queue.sql import QueuedRun

NOW_MS = 1_800_000_000_000
MADE_MS = NOW_MS - 60_000
EXPIRES_MS = NOW_MS + 3_600_000
CARRIER_ID = 2
MESSAGE = ids.raw_of_number(ids.new_number(MADE_MS))
SEND = ids.raw_of_number(int(MESSAGE, 16) - 1)


def message(
    segments: int = 1, *, status: str = "queued", accepted: int = 0, credits: int | None = None
) -> MessageRow:
    return MessageRow(
        id=MESSAGE,
        send_id=SEND,
        account_id="a" * 32,
        sandbox=False,
        recipient=233201234567,
        status=status,
        segments=segments,
        credits=segments if credits is None else credits,
        refunded=0,
        parts_accepted=accepted,
        parts_delivered=0,
    )


def answer(
    outcome: SubmitOutcome, part: int = 1, attempt: int = 1, command_status: int = 0
) -> SubmitAnswer:
    return SubmitAnswer(
        message_id=MESSAGE,
        part=part,
        parts=1 << (part - 1),
        attempt=attempt,
        outcome=outcome,
        ref="7f" if outcome is SubmitOutcome.ACCEPTED else None,
        command_status=command_status,
    )


def settle(
    row: MessageRow,
    *answers: SubmitAnswer,
    taken_back: bool = False,
    receipt_needless: bool = False,
) -> Changes:
    changes = Changes(NOW_MS, {row.id: row})
    for each in answers:
        was = (
            None
            if taken_back
            else InFlight(MESSAGE, each.part, each.parts, each.attempt, "233", EXPIRES_MS)
        )
        settle_answer(changes, each, was, receipt_needless=receipt_needless)
    return changes


def requeued(attempt: int, delay_ms: int, segments: int = 1) -> QueuedRun:
    """Returns the row of the queue that a message gets again: in its old place, which is the time
    it was made.
    """
    return QueuedRun(
        CARRIER_ID,
        rank_ahead(MADE_MS),
        MESSAGE,
        messages=1,
        send_id=SEND,
        segments=segments,
        prefix="233",
        attempt=attempt,
        not_before_ms=NOW_MS + delay_ms,
        expires_at_ms=EXPIRES_MS,
    )


def again(changes: Changes) -> list[QueuedRun]:
    """Returns the rows of the queue that changes make."""
    return [
        requeued_run(changes.messages[message_id], back, CARRIER_ID)
        for message_id, back in changes.requeued.items()
    ]


@pytest.mark.parametrize(
    ("outcome", "attempt", "back"),
    [
        (SubmitOutcome.THROTTLED, 1, requeued(attempt=1, delay_ms=500)),
        (SubmitOutcome.THROTTLED, 3, requeued(attempt=3, delay_ms=500)),
        (SubmitOutcome.UNSPENT, 2, requeued(attempt=2, delay_ms=0)),
        (SubmitOutcome.RETRY, 1, requeued(attempt=2, delay_ms=2_000)),
        (SubmitOutcome.RETRY, 2, requeued(attempt=3, delay_ms=15_000)),
    ],
)
def test_a_passing_fault_brings_the_message_back_and_only_a_try_that_was_made_counts(
    outcome: SubmitOutcome, attempt: int, back: QueuedRun
) -> None:
    row = message()
    assert again(settle(row, answer(outcome, attempt=attempt))) == [back]
    assert (row.status, row.changed) == ("queued", False)


@pytest.mark.parametrize(
    ("outcome", "attempt"),
    [(SubmitOutcome.REFUSED, 1), (SubmitOutcome.RETRY, 3), (SubmitOutcome.RETRY, 4)],
)
def test_a_refusal_and_the_third_passing_fault_are_the_end(
    outcome: SubmitOutcome, attempt: int
) -> None:
    row = message()
    assert not settle(row, answer(outcome, attempt=attempt, command_status=0x0B)).requeued
    assert (row.status, row.error_code, row.failed_at_ms) == ("failed", "carrier_rejected", NOW_MS)
    assert "0x0000000B" in (row.error_message or "")
    assert refund_due(row) == 1


def test_parts_that_come_back_in_one_turn_are_one_row_of_the_queue() -> None:
    row = message(3)
    changes = settle(
        row,
        answer(SubmitOutcome.THROTTLED, 1),
        answer(SubmitOutcome.ACCEPTED, 2),
        answer(SubmitOutcome.THROTTLED, 3),
    )
    assert again(changes) == [requeued(attempt=1, delay_ms=500, segments=3)]
    assert (row.status, row.parts_accepted) == ("queued", 0b010)


@pytest.mark.parametrize(
    "outcome",
    [SubmitOutcome.REFUSED, SubmitOutcome.RETRY, SubmitOutcome.THROTTLED, SubmitOutcome.UNSPENT],
)
def test_of_an_attempt_that_was_taken_back_only_an_acceptance_still_counts(
    outcome: SubmitOutcome,
) -> None:
    row = message()
    assert not settle(row, answer(outcome, attempt=3), taken_back=True).requeued
    assert (row.status, row.changed) == ("queued", False)
    settle(row, answer(SubmitOutcome.ACCEPTED), taken_back=True)
    assert (row.status, row.sent_at_ms) == ("sent", NOW_MS)


@pytest.mark.parametrize(
    "outcome",
    [SubmitOutcome.REFUSED, SubmitOutcome.RETRY, SubmitOutcome.THROTTLED, SubmitOutcome.UNSPENT],
)
def test_a_message_that_has_failed_is_not_brought_back_by_its_other_parts(
    outcome: SubmitOutcome,
) -> None:
    row = message(2)
    assert not settle(row, answer(SubmitOutcome.REFUSED, 1), answer(outcome, 2)).requeued
    assert row.status == "failed"


@pytest.mark.parametrize(
    ("state", "code"),
    [
        (ReceiptState.UNDELIV, "undeliverable"),
        (ReceiptState.DELETED, "undeliverable"),
        (ReceiptState.FAILED, "undeliverable"),
        (ReceiptState.EXPIRED, "expired"),
        (ReceiptState.REJECTD, "rejected"),
        (ReceiptState.UNKNOWN, "unknown"),
    ],
)
def test_a_receipt_that_says_no_fails_the_message_with_its_code_and_gives_nothing_back(
    state: ReceiptState, code: str
) -> None:
    row = message(3, status="sent", accepted=0b111)
    settle_receipt(row, 0b010, state, "027", NOW_MS)
    assert (row.status, row.error_code, row.failed_at_ms) == ("failed", code, NOW_MS)
    assert f"({state.value}, error 027)" in (row.error_message or "")
    assert refund_due(row) == 0


@pytest.mark.parametrize("state", [ReceiptState.ACCEPTD, ReceiptState.ENROUTE])
def test_a_receipt_of_a_state_on_the_way_changes_nothing(state: ReceiptState) -> None:
    row = message(status="sent", accepted=1)
    settle_receipt(row, 1, state, None, NOW_MS)
    assert (row.status, row.changed) == ("sent", False)


def test_segments_that_ask_for_no_receipt_count_as_delivered_once_accepted() -> None:
    row = message(2)
    settle(row, answer(SubmitOutcome.ACCEPTED, 1), receipt_needless=True)
    settle(row, answer(SubmitOutcome.ACCEPTED, 2))
    assert (row.status, row.parts_delivered) == ("sent", 0b01)
    settle_receipt(row, 0b10, ReceiptState.DELIVRD, "000", NOW_MS)
    assert row.status == "delivered"


def test_what_a_carrier_says_of_an_error_is_cut_to_what_can_be_stored() -> None:
    row = message()
    move(row, "failed", NOW_MS, "rejected", "x" * 1_000)
    assert len(row.error_message or "") == 255


def test_a_message_refunded_before_gets_only_what_is_still_due() -> None:
    row = message(4, accepted=0b0001, credits=8)
    move(row, "failed", NOW_MS, "expired")
    assert refund_due(row) == 6
    row.refunded = 6
    assert refund_due(row) == 0


@pytest.mark.parametrize(
    ("recipient", "of_receipt", "agreeing"),
    [
        (233201234567, 233201234567, True),
        (233201234567, 201234567, True),  # without the country code
        (201234567, 233201234567, True),
        (233201234567, 234567, True),
        (233201234567, 34567, False),  # too few digits to tell anything
        (233201234567, 233201234568, False),
        (233201234567, 233201234, False),
        (233201234567, None, True),  # a receipt that names nobody is matched by its id alone
        (None, 233201234567, True),  # a message past retention has no recipient any more
    ],
)
def test_a_receipt_is_the_messages_only_if_their_recipients_may_be_the_same(
    recipient: int | None, of_receipt: int | None, agreeing: bool
) -> None:
    assert agrees(recipient, of_receipt) is agreeing


@pytest.mark.parametrize(
    ("sender", "of_receipt", "is_its"),
    [
        ("Amina Foods", "AMINA FOODS ", True),
        ("233201234567", "+233201234567", True),
        ("+233201234567", "233201234567", True),
        ("Amina Foods", None, True),  # many carriers name no sender
        ("Amina Foods", "Chidi", False),
        ("Amina Foods", "", False),
    ],
)
def test_a_receipt_may_be_the_messages_only_if_its_sender_is_or_is_not_named(
    sender: str, of_receipt: str | None, is_its: bool
) -> None:
    assert is_from(sender, of_receipt) is is_its
