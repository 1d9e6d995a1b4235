"""The judges of answers and receipts judge what an operator decides about messages in doubt. It is
paid back like theirs, and kept.
"""

from itertools import product
from random import Random

import pytest

from heliograph.base import clock
from heliograph.base.errors import Unavailable
from heliograph.carriers import ReceiptState, SubmitOutcome
from heliograph.messages.carrier import CarrierFacts
from heliograph.messages.doubt.decide import (
    SEGMENTS_MAX,
    Decision,
    DecisionResult,
    batches,
    decide,
    read_decided_by,
)
from heliograph.messages.states import RESEND_AFTER_MS
from heliograph.messages.sweeps import fail_expired, settle_doubts
from heliograph.messages.tables import inflight, queue
from tests.support.capability.doubtful import (
    AFTER,
    TOLD,
    decided,
    in_doubt,
    recorded,
    unanswered,
)
from tests.support.capability.sending import House
from tests.support.factories import PHONE, awaited, open_carrier, phones

THREE_SEGMENTS = "x" * 400
DAY_MS = 86_400_000


# settling


@awaited
@pytest.mark.parametrize("decision", TOLD)
async def test_what_the_operator_says_settles_the_doubt_once(
    house: House, decision: Decision
) -> None:
    await in_doubt(house, *phones(2))
    done = await decided(house, decision, 0)
    assert house.statuses() == [AFTER[decision], "queued"]
    assert (house.count(inflight), house.credits()) == (
        1,
        999 if decision is Decision.CANCELED else 998,
    )
    assert [(each.refused, each.credits_refunded) for each in done] == [
        (None, int(decision is Decision.CANCELED))
    ]
    assert recorded(house) == [(decision.value, 1, "kofi", "ticket 4711")]
    again = await decided(house, decision, 0)
    assert "is not in doubt: it is " in str(again[0].refused)
    assert len(recorded(house)) == 1
    house.assert_sound()


@awaited
@pytest.mark.parametrize(
    ("decision", "outcome"),
    list(
        product(
            TOLD,
            [
                SubmitOutcome.ACCEPTED,
                SubmitOutcome.REFUSED,
                SubmitOutcome.RETRY,
                SubmitOutcome.THROTTLED,
            ],
        )
    ),
)
async def test_an_answer_that_comes_after_the_operators_word_changes_nothing(
    house: House, decision: Decision, outcome: SubmitOutcome
) -> None:
    link = await in_doubt(house)
    await decided(house, decision)
    credits = house.credits()
    link.answer(link.submitted[0], outcome=outcome, late=True)
    await link.turn.run_once()
    clock.move(by_ms=DAY_MS)
    await settle_doubts(house.db, house.carrier_id, clock.now_ms(), resend=True)
    await fail_expired(house.db, clock.now_ms())
    await link.turn.run_once()
    assert (house.statuses(), house.credits(), len(link.submitted)) == (
        [AFTER[decision]],
        credits,
        1,
    )
    house.assert_sound()


@awaited
@pytest.mark.parametrize("outcome", [SubmitOutcome.ACCEPTED, SubmitOutcome.REFUSED])
@pytest.mark.parametrize("decision", [*TOLD, Decision.RESENT])
async def test_the_operators_word_after_an_answer_changes_nothing(
    house: House, decision: Decision, outcome: SubmitOutcome
) -> None:
    link = await in_doubt(house)
    link.answer(link.submitted[0], outcome=outcome, late=True)
    await link.turn.run_once()
    before = (house.statuses(), house.credits())
    done = await decided(house, decision)
    assert "is not in doubt: it is " in str(done[0].refused)
    assert ((house.statuses(), house.credits()), recorded(house), house.count(queue)) == (
        before,
        [],
        0,
    )
    house.assert_sound()


@awaited
async def test_a_message_that_the_operator_called_sent_is_ended_by_its_receipt(
    house: House,
) -> None:
    link = await in_doubt(house)
    await decided(house, Decision.SENT)
    link.answer(link.submitted[0], ref="aa1", late=True)
    link.receive("aa1", PHONE, ReceiptState.UNDELIV)
    await link.turn.run_once()
    assert house.statuses() == ["failed/undeliverable"]
    house.assert_sound()


@awaited
@pytest.mark.parametrize("decision", TOLD)
async def test_of_several_parts_those_in_doubt_are_settled_and_what_was_taken_is_not_paid_back(
    house: House, decision: Decision
) -> None:
    link = await house.submitted(text=THREE_SEGMENTS)
    one, *others = link.submitted
    link.answer(one)
    link.answer(*others, outcome=SubmitOutcome.UNANSWERED)
    await link.turn.run_once()
    await decided(house, decision)
    assert (house.statuses(), house.credits()) == (
        [AFTER[decision]],
        999 if decision is Decision.CANCELED else 997,
    )
    assert recorded(house)[0][:2] == (decision.value, 0b110)
    house.assert_sound()


@awaited
async def test_a_canceled_message_with_a_part_on_the_wire_is_paid_back_after_its_answer(
    house: House,
) -> None:
    link = await house.submitted(text=THREE_SEGMENTS)
    one, *others = link.submitted
    link.answer(*others, outcome=SubmitOutcome.UNANSWERED)
    await link.turn.run_once()
    await decided(house, Decision.CANCELED)
    assert (house.statuses(), house.credits()) == (["failed/canceled"], 997)
    link.answer(one)
    await link.turn.run_once()
    assert (house.credits(), house.entries("sms_refund")) == (999, [2])
    house.assert_sound()


@awaited
async def test_what_waits_with_a_canceled_message_is_not_sent(house: House) -> None:
    link = await house.submitted(text=THREE_SEGMENTS, window=2)
    link.answer(*link.open.values(), outcome=SubmitOutcome.UNANSWERED)
    link.window = 0
    await link.turn.run_once()
    await decided(house, Decision.CANCELED)
    link.window = 10
    for _ in range(3):
        await link.turn.run_once()
    assert (len(link.submitted), house.credits(), house.count(inflight)) == (2, 1_000, 0)
    house.assert_sound()


@awaited
async def test_parts_that_ask_for_no_receipt_need_none_when_the_operator_calls_them_sent(
    house: House,
) -> None:
    await house.send(PHONE, THREE_SEGMENTS)
    link = house.turn(receipts="last")
    await link.turn.run_once()
    link.answer(*link.submitted[:2], outcome=SubmitOutcome.UNANSWERED)
    link.answer(link.submitted[2], ref="aa3")
    await link.turn.run_once()
    await decided(house, Decision.SENT, receipts="last")
    assert house.statuses() == ["sent"]
    link.receive("aa3", PHONE)
    await link.turn.run_once()
    assert house.statuses() == ["delivered"]


# sending again


@awaited
@pytest.mark.parametrize("by_itself", [True, False])
async def test_what_was_sent_again_before_is_sent_again_by_hand_and_not_by_itself(
    house: House, by_itself: bool
) -> None:
    link = await in_doubt(house)
    if by_itself:
        clock.move(by_ms=RESEND_AFTER_MS)
        assert await settle_doubts(house.db, house.carrier_id, clock.now_ms(), resend=True) == 1
    else:
        await decided(house, Decision.RESENT)
    for attempt in (2, 3, 4):
        await link.turn.run_once()
        await unanswered(link)
        assert link.submitted[-1].attempt == attempt
        clock.move(by_ms=RESEND_AFTER_MS)
        assert await settle_doubts(house.db, house.carrier_id, clock.now_ms(), resend=True) == 0
        assert (await decided(house, Decision.RESENT))[0].refused is None
    await link.turn.run_once()
    link.answer(*link.open.values())
    await link.turn.run_once()
    assert (house.statuses(), house.entries("sms_charge")) == (["sent"], [-1])
    house.assert_sound()


@awaited
async def test_only_the_parts_in_doubt_are_sent_again(house: House) -> None:
    link = await house.submitted(text=THREE_SEGMENTS)
    one, two, three = link.submitted
    link.answer(two)
    link.answer(one, outcome=SubmitOutcome.UNANSWERED)
    await link.turn.run_once()
    await decided(house, Decision.RESENT)
    await link.turn.run_once()
    assert [(s.part, s.attempt) for s in link.submitted[3:]] == [(1, 2)]
    link.answer(three, *link.open.values())
    await link.turn.run_once()
    assert house.statuses() == ["sent"]


@awaited
async def test_a_late_answer_keeps_what_waits_to_be_sent_again_from_going_out(house: House) -> None:
    link = await in_doubt(house)
    link.window = 0
    await decided(house, Decision.RESENT)
    link.answer(link.submitted[0], late=True)
    await link.turn.run_once()
    link.window = 10
    await link.turn.run_once()
    assert (house.statuses(), len(link.submitted)) == (["sent"], 1)


@awaited
async def test_an_otp_is_not_sent_again_whoever_says_so(house: House) -> None:
    link = await in_doubt(house, kind="otp")
    assert "is a one-time password: it is never sent twice" in str(
        (await decided(house, Decision.RESENT))[0].refused
    )
    await link.turn.run_once()
    assert (len(link.submitted), house.count(inflight), recorded(house)) == (1, 1, [])
    await decided(house, Decision.CANCELED)
    assert (house.statuses(), house.credits()) == (["failed/canceled"], 1_000)


@awaited
async def test_what_is_past_its_validity_or_settled_by_another_try_is_not_sent_again(
    house: House,
) -> None:
    link = await in_doubt(house)
    await decided(house, Decision.RESENT)
    await link.turn.run_once()
    await unanswered(link)
    link.answer(link.submitted[0], late=True)
    await link.turn.run_once()
    assert "is sent: it is not sent again" in str(
        (await decided(house, Decision.RESENT))[0].refused
    )
    await house.send(PHONE, "another", validity_s=3_600)
    await link.turn.run_once()
    await unanswered(link)
    clock.move(by_ms=3_600_000)
    assert "is past its validity" in str((await decided(house, Decision.RESENT, 1))[0].refused)
    assert house.count(queue) == 0


# many


@awaited
async def test_many_are_decided_about_in_batches_each_of_which_is_stored_before_the_next(
    house: House,
) -> None:
    await in_doubt(house, *phones(200), text=THREE_SEGMENTS)
    told: list[int] = []
    doubts = {house.carrier_id: [(row.id, 3) for row in house.messages()]}
    facts = {house.carrier_id: CarrierFacts(house.carrier_id, "carrier")}
    house.db.fates = ["", "lost"]
    with pytest.raises(Unavailable):
        await decide(
            house.db,
            doubts,
            facts,
            Decision.CANCELED,
            read_decided_by("kofi", "lost"),
            lambda some: told.append(len(some)),
        )
    assert (told, house.credits(), len(recorded(house))) == (
        [SEGMENTS_MAX // 3],
        400 + 3 * told[0],
        told[0],
    )
    house.assert_sound()
    done: list[DecisionResult] = []
    await decide(
        house.db, doubts, facts, Decision.CANCELED, read_decided_by("kofi", "lost"), done.extend
    )
    assert (sum(each.refused is None for each in done), house.credits(), len(recorded(house))) == (
        200 - told[0],
        1_000,
        200,
    )
    house.assert_sound()


@pytest.mark.parametrize("seed", range(20))
def test_a_batch_has_whole_messages_and_no_more_than_the_limit(seed: int) -> None:
    random = Random(seed)
    doubts = [(f"{number:032x}", random.randint(1, 10)) for number in range(random.randint(0, 400))]
    made = list(batches(doubts))
    assert [message_id for batch in made for message_id in batch] == [
        message_id for message_id, _ in doubts
    ]
    sizes = [
        sum(segments for message_id, segments in doubts if message_id in set(batch))
        for batch in made
    ]
    assert all(SEGMENTS_MAX - 10 < size <= SEGMENTS_MAX for size in sizes[:-1])


@awaited
async def test_doubts_with_another_carrier_are_left_alone(house: House) -> None:
    await in_doubt(house)
    other = open_carrier(house.db, "second", prefix=None)
    done: list[DecisionResult] = []
    await decide(
        house.db,
        {other: [(house.messages()[0].id, 1)]},
        {other: CarrierFacts(other, "second")},
        Decision.CANCELED,
        read_decided_by("kofi", "x"),
        done.extend,
    )
    assert (done[0].refused is None, house.statuses(), house.count(inflight)) == (
        False,
        ["queued"],
        1,
    )
