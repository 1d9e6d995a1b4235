"""In a carrier's turn, the window is kept, answers mean what they mean, and a lost reply to COMMIT
sends nothing twice.
"""

import pytest

from heliograph.base import clock
from heliograph.base.errors import Unavailable
from heliograph.carriers import LinkState, SubmitOutcome
from heliograph.messages.carrier.settle import RETRY_DELAYS_MS, THROTTLED_DELAY_MS
from heliograph.messages.states import RESEND_AFTER_MS
from heliograph.messages.sweeps import settle_doubts
from heliograph.messages.tables import inflight, queue
from tests.support.capability.sending import House
from tests.support.capability.turning import twice, until_nothing_waits
from tests.support.factories import awaited, phones

THREE_SEGMENTS = "x" * 400
TEN_SEGMENTS = "x" * 1_530


@awaited
async def test_no_more_goes_out_than_the_window_has_room_for(house: House) -> None:
    await house.send(phones(25))
    link = house.turn(window=10)
    await link.turn.run_once()
    await link.turn.run_once()
    assert len(link.submitted) == 10
    link.answer(*list(link.open.values())[:4])
    await link.turn.run_once()
    assert (len(link.submitted), len(link.open)) == (14, 10)
    await until_nothing_waits(link)
    assert not twice(link)
    assert house.statuses() == ["sent"] * 25
    # in the order in which they were asked for
    assert [s.recipient for s in link.submitted] == phones(25)


@awaited
async def test_ten_segments_go_through_a_window_of_five(house: House) -> None:
    await house.send(phones(3), TEN_SEGMENTS)
    link = house.turn(window=5)
    await until_nothing_waits(link)
    assert len(link.submitted) == 30
    assert not twice(link)
    assert house.statuses() == ["sent"] * 3
    assert house.count(inflight) == house.count(queue) == 0


# outcome of the answer → status, segments in flight, rows of the queue
MEANING = {
    SubmitOutcome.ACCEPTED: ("sent", 0, 0),
    SubmitOutcome.THROTTLED: ("queued", 0, 1),
    SubmitOutcome.RETRY: ("queued", 0, 1),
    SubmitOutcome.UNSPENT: ("queued", 0, 1),
    SubmitOutcome.REFUSED: ("failed/carrier_rejected", 0, 0),
    SubmitOutcome.UNANSWERED: ("queued", 1, 0),
}


@awaited
@pytest.mark.parametrize("fate", ["", "lost", "reply lost"])
@pytest.mark.parametrize("outcome", list(SubmitOutcome))
async def test_an_answer_means_the_same_when_its_commit_was_lost(
    house: House, fate: str, outcome: SubmitOutcome
) -> None:
    link = await house.submitted()
    link.answer(*link.open.values(), outcome=outcome)
    link.state = LinkState.BACKING_OFF
    house.db.fates = [fate]
    if fate:
        with pytest.raises(Unavailable):
            await link.turn.run_once()
    await link.turn.run_once()
    assert (house.statuses()[0], house.count(inflight), house.count(queue)) == MEANING[outcome]
    house.assert_sound()


@awaited
@pytest.mark.parametrize("fate", ["lost", "reply lost"])
async def test_claims_whose_commit_was_lost_go_out_once(house: House, fate: str) -> None:
    await house.send(phones(4))
    await house.send(phones(2, first=10), TEN_SEGMENTS)
    link = house.turn(window=10)
    for _ in range(3):
        house.db.fates = [fate]
        with pytest.raises(Unavailable):
            await link.turn.run_once()
        await link.turn.run_once()
        link.answer(*link.open.values())
    await until_nothing_waits(link)
    assert len(link.submitted) == 24
    assert not twice(link)
    assert house.statuses() == ["sent"] * 6


@awaited
@pytest.mark.parametrize(
    "outcome", [SubmitOutcome.THROTTLED, SubmitOutcome.RETRY, SubmitOutcome.UNSPENT]
)
async def test_parts_that_come_back_one_after_the_other_go_out_again_once_each(
    house: House, outcome: SubmitOutcome
) -> None:
    link = await house.submitted(text=THREE_SEGMENTS)
    link.answer(next(iter(link.open.values())))
    for submission in list(link.open.values()):
        link.answer(submission, outcome=outcome)
        link.state = LinkState.BACKING_OFF
        await link.turn.run_once()
    assert house.count(queue) == 1
    link.state = LinkState.BOUND
    clock.move(by_ms=RETRY_DELAYS_MS[0])
    await until_nothing_waits(link)
    assert [s.part for s in link.submitted] == [1, 2, 3, 2, 3]
    assert house.statuses() == ["sent"]


@awaited
async def test_a_throttled_message_waits_a_moment_and_keeps_its_tries(house: House) -> None:
    link = await house.submitted()
    for _ in range(5):
        link.answer(*link.open.values(), outcome=SubmitOutcome.THROTTLED, command_status=0x58)
        await link.turn.run_once()
        assert not link.open
        clock.move(by_ms=THROTTLED_DELAY_MS)
        await link.turn.run_once()
    assert [s.attempt for s in link.submitted] == [1] * 6


@awaited
async def test_a_message_that_met_a_passing_fault_is_tried_three_times(house: House) -> None:
    link = await house.submitted()
    for delay_ms in RETRY_DELAYS_MS:
        link.answer(*link.open.values(), outcome=SubmitOutcome.RETRY, command_status=8)
        await link.turn.run_once()
        clock.move(by_ms=delay_ms - 500)
        await link.turn.run_once()
        assert not link.open
        clock.move(by_ms=500)
        await link.turn.run_once()
    link.answer(*link.open.values(), outcome=SubmitOutcome.RETRY, command_status=8)
    await link.turn.run_once()
    assert [s.attempt for s in link.submitted] == [1, 2, 3]
    assert house.statuses() == ["failed/carrier_rejected"]
    assert house.credits() == 1_000


@awaited
async def test_what_was_never_written_goes_out_at_once_and_has_lost_nothing(house: House) -> None:
    link = await house.submitted(phones(2))
    link.answer(*link.open.values(), outcome=SubmitOutcome.UNSPENT)
    await link.turn.run_once()
    assert [(s.recipient, s.attempt) for s in link.submitted] == [
        (phone, 1) for phone in phones(2) * 2
    ]


@awaited
async def test_an_answer_that_comes_after_its_time_still_counts(house: House) -> None:
    link = await house.submitted(phones(3))
    accepted, refused, throttled = list(link.open.values())
    link.answer(accepted, refused, throttled, outcome=SubmitOutcome.UNANSWERED)
    await link.turn.run_once()
    assert house.statuses() == ["queued"] * 3
    assert house.count(inflight, inflight.c.state == "in_doubt") == 3
    link.answer(accepted, late=True)
    link.answer(refused, late=True, outcome=SubmitOutcome.REFUSED)
    link.answer(throttled, late=True, outcome=SubmitOutcome.THROTTLED)
    await link.turn.run_once()
    assert house.statuses() == ["sent", "failed/carrier_rejected", "queued"]
    assert (house.count(inflight), house.count(queue), house.credits()) == (0, 1, 998)


@awaited
@pytest.mark.parametrize(
    ("outcome", "status"),
    [
        (SubmitOutcome.ACCEPTED, "sent"),
        (SubmitOutcome.REFUSED, "queued"),
        (SubmitOutcome.THROTTLED, "queued"),
        (SubmitOutcome.RETRY, "queued"),
    ],
)
async def test_a_late_answer_to_the_first_try_says_nothing_of_the_second(
    house: House, outcome: SubmitOutcome, status: str
) -> None:
    link = await house.submitted()
    first = link.submitted[0]
    link.answer(first, outcome=SubmitOutcome.UNANSWERED)
    await link.turn.run_once()
    clock.move(by_ms=RESEND_AFTER_MS)
    assert await settle_doubts(house.db, house.carrier_id, clock.now_ms(), resend=True) == 1
    await link.turn.run_once()
    second = link.submitted[1]
    link.answer(first, outcome=outcome, late=True)
    await link.turn.run_once()
    assert (house.statuses(), house.count(inflight), house.count(queue)) == ([status], 1, 0)
    link.answer(second)
    await link.turn.run_once()
    assert (house.statuses(), house.count(inflight), house.credits()) == (["sent"], 0, 999)
    house.assert_sound()


@awaited
async def test_a_refused_part_fails_the_message_and_pays_back_what_no_carrier_took(
    house: House,
) -> None:
    link = await house.submitted(text=THREE_SEGMENTS)
    one, two, three = link.submitted
    (ref,) = link.answer(one)
    link.answer(two, outcome=SubmitOutcome.REFUSED, command_status=0x0B)
    link.receive(ref, one.recipient)
    await link.turn.run_once()
    assert house.statuses() == ["failed/carrier_rejected"]
    assert house.credits() == 997  # the third part may still be taken
    link.answer(three)
    await link.turn.run_once()
    link.receive(ref, one.recipient)
    await link.turn.run_once()
    assert (house.statuses(), house.credits(), house.entries("sms_refund")) == (
        ["failed/carrier_rejected"],
        998,
        [1],
    )
    house.assert_sound()


@awaited
async def test_nothing_more_of_a_failed_message_goes_out(house: House) -> None:
    link = await house.submitted(text=THREE_SEGMENTS, window=2)
    link.answer(*link.submitted[:1], outcome=SubmitOutcome.REFUSED)
    await link.turn.run_once()
    link.answer(*link.open.values())
    await link.turn.run_once()
    await link.turn.run_once()
    assert [s.part for s in link.submitted] == [1, 2]
    assert (house.count(inflight), house.count(queue), house.entries("sms_refund")) == (0, 0, [2])
    house.assert_sound()


@awaited
async def test_what_an_otp_takes_along_says_so(house: House) -> None:
    link = await house.submitted(kind="otp", validity_s=300)
    message = link.submitted[0].data
    assert (message.priority, message.sender, message.recipient, message.text) == (
        1,
        "AMINA",
        "233201234567",
        "hello",
    )
    assert 295 <= message.validity_s <= 300
