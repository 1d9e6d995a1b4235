"""A carrier may say anything, in any order: a message's life goes forward only, and its refund is
what no carrier accepted.
"""

import copy
from typing import NamedTuple

from hypothesis import given
from hypothesis import strategies as st

from heliograph.base import ids
from heliograph.carriers import ReceiptState, SubmitAnswer, SubmitOutcome
from heliograph.messages.carrier.inflight_sql import InFlight
from heliograph.messages.carrier.settle import refund_due, settle_answer, settle_receipt
from heliograph.messages.changes.collect import Changes, MessageRow
from heliograph.messages.states import FAILED_BY_RECEIPT, MESSAGE, all_parts

MESSAGE_ID = ids.raw_of_number(ids.new_number(1_800_000_000_000))
NOT_FINAL = (ReceiptState.ACCEPTD, ReceiptState.ENROUTE)
FINAL = (ReceiptState.DELIVRD, *FAILED_BY_RECEIPT)


class Answered(NamedTuple):
    part: int
    outcome: SubmitOutcome
    attempt: int = 1
    known: bool = True  # still in flight, not taken back


class Receipted(NamedTuple):
    part: int
    state: ReceiptState


Event = Answered | Receipted


def new_message(segments: int, rate: int) -> MessageRow:
    return MessageRow(
        id=MESSAGE_ID,
        send_id=MESSAGE_ID,
        account_id=MESSAGE_ID,
        sandbox=False,
        recipient=233201234567,
        status="queued",
        segments=segments,
        credits=segments * rate,
        refunded=0,
        parts_accepted=0,
        parts_delivered=0,
    )


def happen(row: MessageRow, event: Event, at_ms: int) -> None:
    bit = 1 << (event.part - 1)
    if isinstance(event, Receipted):
        settle_receipt(row, bit, event.state, "000", at_ms)
        return
    was = (
        InFlight(MESSAGE_ID, event.part, bit, event.attempt, "233", 2**60) if event.known else None
    )
    changes = Changes(at_ms, {MESSAGE_ID: row})
    settle_answer(
        changes,
        SubmitAnswer(MESSAGE_ID, event.part, bit, event.attempt, event.outcome, "7f"),
        was,
        receipt_needless=False,
    )
    assert not changes.requeued or row.status == "queued"


segments_and_rate = st.tuples(st.integers(1, 10), st.integers(0, 5))


@st.composite
def lives(draw: st.DrawFn) -> tuple[MessageRow, list[Event]]:
    """Returns a message and any events at all, likely or absurd."""
    segments, rate = draw(segments_and_rate)
    part = st.integers(1, segments)
    likely = st.sampled_from(
        [SubmitOutcome.ACCEPTED] * 6
        + [outcome for outcome in SubmitOutcome if outcome is not SubmitOutcome.UNANSWERED]
    )
    answered = st.builds(Answered, part, likely, st.integers(1, 4), st.booleans())
    receipted = st.builds(
        Receipted, part, st.sampled_from([ReceiptState.DELIVRD] * 6 + list(ReceiptState))
    )
    return new_message(segments, rate), draw(st.lists(answered | receipted, max_size=50))


def fate(row: MessageRow) -> tuple[object, ...]:
    return (
        row.status,
        row.error_code,
        row.error_message,
        row.sent_at_ms,
        row.delivered_at_ms,
        row.failed_at_ms,
    )


@given(lives())
def test_a_message_only_goes_forward_and_where_it_ends_it_stays(
    life: tuple[MessageRow, list[Event]],
) -> None:
    row, events = life
    for at_ms, event in enumerate(events):
        row.changed = False
        before = copy.copy(row)
        happen(row, event, at_ms)
        assert row.status == before.status or row.status in MESSAGE.next[before.status]
        if not MESSAGE.next[before.status]:
            assert fate(row) == fate(before)
        assert (row.status == "failed") == (row.error_code is not None)
        if (
            fate(row) != fate(before)
            or row.parts_accepted != before.parts_accepted
            or row.parts_delivered != before.parts_delivered
        ):
            assert row.changed  # or it would not be stored


@given(lives())
def test_a_message_is_sent_and_delivered_only_as_a_whole(
    life: tuple[MessageRow, list[Event]],
) -> None:
    row, events = life
    whole = set(range(1, row.segments + 1))
    accepted, delivered, failed = set(), set(), False
    for at_ms, event in enumerate(events):
        before = row.status
        happen(row, event, at_ms)
        if isinstance(event, Receipted):
            failed |= event.state in FAILED_BY_RECEIPT and before in ("queued", "sent")
            delivered |= {event.part} if event.state is ReceiptState.DELIVRD else set()
        else:
            refused = event.outcome is SubmitOutcome.REFUSED or (
                event.outcome is SubmitOutcome.RETRY and event.attempt >= 3
            )
            failed |= refused and event.known and before == "queued"
            accepted |= {event.part} if event.outcome is SubmitOutcome.ACCEPTED else set()
        expected = "queued" if accepted < whole else "sent" if delivered < whole else "delivered"
        assert row.status == ("failed" if failed else expected)


@given(lives())
def test_the_refund_is_the_price_of_the_segments_that_no_carrier_accepted(
    life: tuple[MessageRow, list[Event]],
) -> None:
    row, events = life
    rate = row.credits // row.segments
    accepted = set()
    for at_ms, event in enumerate(events):
        happen(row, event, at_ms)
        if isinstance(event, Answered) and event.outcome is SubmitOutcome.ACCEPTED:
            accepted.add(event.part)
        assert refund_due(row) == (
            rate * (row.segments - len(accepted)) if row.status == "failed" else 0
        )


@given(lives(), st.data())
def test_what_was_said_before_changes_nothing_when_it_is_said_again(
    life: tuple[MessageRow, list[Event]], data: st.DataObject
) -> None:
    row, events = life
    said: list[Event] = []
    for at_ms, event in enumerate(events):
        happen(row, event, at_ms)
        if isinstance(event, Receipted) or event.outcome is SubmitOutcome.ACCEPTED:
            said.append(event)
        if said:
            before = copy.copy(row)
            happen(row, data.draw(st.sampled_from(said)), at_ms + 1_000)
            row.changed = before.changed  # an acceptance is stored anew, with the same values
            assert row == before


@given(segments_and_rate, st.data())
def test_a_receipt_before_its_answer_is_as_good_as_after_it(
    shape: tuple[int, int], data: st.DataObject
) -> None:
    parts = range(1, shape[0] + 1)
    state = st.sampled_from([ReceiptState.DELIVRD] * 12 + list(FINAL))
    events: list[Event] = [Answered(part, SubmitOutcome.ACCEPTED) for part in parts]
    events += [Receipted(part, data.draw(state)) for part in parts]
    in_order, mixed = new_message(*shape), new_message(*shape)
    for event in events:
        happen(in_order, event, 0)
    for event in data.draw(st.permutations(events)):
        happen(mixed, event, 0)
    assert (mixed.status, mixed.parts_accepted, mixed.parts_delivered) == (
        in_order.status,
        in_order.parts_accepted,
        in_order.parts_delivered,
    )
    assert mixed.parts_accepted == all_parts(shape[0])
    assert refund_due(mixed) == refund_due(in_order) == 0
    failing = {
        FAILED_BY_RECEIPT[event.state]
        for event in events
        if isinstance(event, Receipted) and event.state in FAILED_BY_RECEIPT
    }
    assert mixed.error_code in failing or (mixed.error_code is None and not failing)


@given(lives(), st.data())
def test_what_is_not_final_changes_nothing(
    life: tuple[MessageRow, list[Event]], data: st.DataObject
) -> None:
    row, events = life
    for at_ms, event in enumerate(events):
        happen(row, event, at_ms)
    before = copy.copy(row)
    happen(
        row,
        Receipted(data.draw(st.integers(1, row.segments)), data.draw(st.sampled_from(NOT_FINAL))),
        len(events),
    )
    assert row == before
