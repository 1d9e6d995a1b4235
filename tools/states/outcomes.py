"""Makes the sections that say what answers and receipts make of a message. The code that settles
them is asked."""

from collections.abc import Iterator
from typing import Final

from heliograph.carriers import ReceiptState, SubmitAnswer, SubmitOutcome
from heliograph.messages.carrier.inflight_sql import InFlight
from heliograph.messages.carrier.settle import refund_due, settle_answer, settle_receipt
from heliograph.messages.changes.collect import Changes, MessageRow
from heliograph.messages.states import QUEUED, SENT
from tools.states.markdown import table

_ID: Final = "0" * 32
_CREDITS: Final = 2  # of the sample message


def answers() -> Iterator[str]:
    """Yields the section about answers to submit_sm."""
    yield "## What an answer to submit_sm makes of a message\n"
    yield from table(
        ("outcome", "the message", "credits"),
        ((f"`{outcome.value}`", *_after_answer(outcome)) for outcome in SubmitOutcome),
    )
    yield (
        "The code is `messages/carrier/settle.py: settle_answer`. After `throttled`, the service"
        " also sends more slowly to this carrier (`carriers/smpp/send_rate.py`).\n"
    )


def _after_answer(outcome: SubmitOutcome) -> tuple[str, str]:
    """Returns what becomes of a queued message of one segment, and what of its credits."""
    if outcome is SubmitOutcome.UNANSWERED:
        return "stays `queued`; the segment is `in_doubt`", "as they are"
    told = []
    attempt = 1
    while True:
        row = _row(QUEUED)
        changes = Changes(0, {_ID: row})
        settle_answer(
            changes,
            SubmitAnswer(_ID, 1, 1, attempt, outcome),
            InFlight(_ID, 1, 1, attempt, "", 0),
            receipt_needless=False,
        )
        back = changes.requeued.get(_ID)
        if back is None:
            told.append(f"`{row.status}`" + (f", `{row.error_code}`" if row.error_code else ""))
            break
        told.append(
            f"queued again, after {back.not_before_ms / 1_000:g} s"
            if back.not_before_ms
            else "queued again, at once"
        )
        if back.attempt == attempt:  # not counted as a try: so it goes on until the validity ends
            return f"{told[0]}; the try is not counted", "as they are"
        attempt = back.attempt
    return ", then ".join(told), "back" if refund_due(row) else "spent"


def receipts() -> Iterator[str]:
    """Yields the section about delivery receipts."""
    yield "## What a receipt makes of a message\n"
    yield from table(
        ("stat:", "the message", "credits"),
        ((state.value, *_after_receipt(state)) for state in ReceiptState),
    )
    yield (
        "The table is about a `sent` message of one segment. A message of several segments is"
        " `delivered` when all of them are."
    )
    yield "It has failed as soon as one final receipt is not DELIVRD."
    yield (
        "Credits are refunded only for segments that no carrier accepted. A segment that has a"
        " receipt was accepted."
    )
    yield "The code is `messages/carrier/settle.py: settle_receipt`.\n"


def _after_receipt(state: ReceiptState) -> tuple[str, str]:
    row = _row(SENT, parts_accepted=1)
    settle_receipt(row, 1, state, None, 0)
    if row.status == SENT:
        return "unchanged", "spent"
    return f"`{row.status}`" + (f", `{row.error_code}`" if row.error_code else ""), (
        "back" if refund_due(row) else "spent"
    )


def _row(status: str, parts_accepted: int = 0) -> MessageRow:
    """Returns a message of one segment."""
    return MessageRow(
        _ID,
        _ID,
        _ID,
        sandbox=False,
        recipient=None,
        status=status,
        segments=1,
        credits=_CREDITS,
        refunded=0,
        parts_accepted=parts_accepted,
        parts_delivered=0,
    )
