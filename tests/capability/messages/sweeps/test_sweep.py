"""The sweeps do what no event brings about: for doubts that last, validity that ends, carriers that
are down, and what a dead process held.
"""

import asyncio
from collections import Counter
from math import sqrt

import pytest
import sqlalchemy as sa

from heliograph.base import clock
from heliograph.carriers import LinkState, ReceiptState, SubmitOutcome
from heliograph.messages.carrier import CarrierFacts
from heliograph.messages.carrier.refs import AS_IS
from heliograph.messages.doubt.receipts import match_doubts
from heliograph.messages.states import RESEND_AFTER_MS
from heliograph.messages.sweeps import fail_expired, fail_over, take_over
from heliograph.messages.sweeps.sweep import BATCH_MAX
from heliograph.messages.tables import carrier_refs, inflight, queue
from tests.support.capability.sending import SUCCESSOR, WORKER, House
from tests.support.capability.sweeping import in_doubt, routes, settle
from tests.support.factories import PHONE, awaited, open_carrier, open_route, phones

THREE_SEGMENTS = "x" * 400
RUNS = 80
DAY_MS = 86_400_000


async def match(house: House) -> int:
    return await match_doubts(
        house.db,
        CarrierFacts(house.carrier_id, "carrier", id_format=AS_IS),
        clock.now_ms() - 3_600_000,
        clock.now_ms(),
    )


# doubts


@awaited
@pytest.mark.parametrize(
    "state", [ReceiptState.DELIVRD, ReceiptState.UNDELIV, ReceiptState.ENROUTE]
)
async def test_a_receipt_settles_the_only_doubt_about_its_handset(
    house: House, state: ReceiptState
) -> None:
    link = await in_doubt(house, *phones(2))
    link.receive("aa1", phones(2)[1], state)
    await link.turn.run_once()
    assert await match(house) == 1
    after = {
        ReceiptState.DELIVRD: "delivered",
        ReceiptState.UNDELIV: "failed/undeliverable",
        ReceiptState.ENROUTE: "sent",
    }[state]
    assert house.statuses() == ["queued", after]
    link.receive("aa1", phones(2)[1])
    await link.turn.run_once()
    assert house.statuses()[1] == ("delivered" if state is ReceiptState.ENROUTE else after)
    assert house.count(inflight) == 1
    house.assert_sound()


@awaited
async def test_a_receipt_that_may_belong_to_several_settles_none(house: House) -> None:
    link = await in_doubt(house)
    await house.send(PHONE, "another")
    await link.turn.run_once()  # one in doubt, one on the wire
    link.receive("aa1", PHONE)
    await link.turn.run_once()
    assert await match(house) == 0
    link.answer(*link.open.values())
    await link.turn.run_once()
    assert await match(house) == 1
    assert house.statuses() == ["delivered", "sent"]


@awaited
async def test_a_receipt_from_before_the_message_was_made_settles_nothing(house: House) -> None:
    link = house.turn()
    link.receive("aa1", PHONE)
    await link.turn.run_once()
    clock.move(by_ms=10)
    await in_doubt(house)
    assert await match(house) == 0


@awaited
async def test_an_answer_in_the_same_moment_wins_over_the_doubt(house: House) -> None:
    link = await in_doubt(house)
    link.receive("bb2", PHONE)
    link.answer(link.submitted[0], late=True, ref="aa1")
    await link.turn.run_once()
    assert await match(house) == 0
    clock.move(by_ms=RESEND_AFTER_MS)
    assert await settle(house) == 0
    assert house.statuses() == ["sent"]


@awaited
async def test_bulk_in_doubt_is_sent_once_more_after_two_minutes_and_never_again(
    house: House,
) -> None:
    link = await in_doubt(house)
    clock.move(by_ms=RESEND_AFTER_MS - 1_000)
    assert await settle(house) == 0
    clock.move(by_ms=1_000)
    assert await settle(house) == 1
    await link.turn.run_once()
    assert [s.attempt for s in link.submitted] == [1, 2]
    link.answer(*link.open.values(), outcome=SubmitOutcome.UNANSWERED)
    await link.turn.run_once()
    clock.move(by_ms=RESEND_AFTER_MS)
    assert await settle(house) == 0
    clock.move(by_ms=DAY_MS)
    assert await settle(house) == 1
    assert house.statuses() == ["failed/unknown"]
    assert (house.credits(), house.entries("sms_charge"), house.entries("sms_refund")) == (
        1_000,
        [-1],
        [1],
    )
    house.assert_sound()


@awaited
@pytest.mark.parametrize(("kind", "resend"), [("otp", True), ("sms", False)])
async def test_an_otp_is_never_sent_again_nor_is_anything_where_the_carrier_is_set_so(
    house: House, kind: str, resend: bool
) -> None:
    link = await in_doubt(house, kind=kind, validity_s=600)
    clock.move(by_ms=RESEND_AFTER_MS * 2)
    assert await settle(house, resend=resend) == 0
    await link.turn.run_once()
    assert len(link.submitted) == 1
    clock.move(by_ms=600_000)
    assert await settle(house, resend=resend) == 1
    assert (house.statuses(), house.credits()) == (["failed/unknown"], 1_000)


@awaited
async def test_of_a_message_in_doubt_only_the_missing_part_is_sent_again(house: House) -> None:
    link = await house.submitted(text=THREE_SEGMENTS)
    one, two, three = link.submitted
    link.answer(one, three)
    link.answer(two, outcome=SubmitOutcome.UNANSWERED)
    await link.turn.run_once()
    clock.move(by_ms=RESEND_AFTER_MS)
    await settle(house)
    await link.turn.run_once()
    assert [(s.part, s.attempt) for s in link.submitted[3:]] == [(2, 2)]
    link.answer(*link.open.values())
    await link.turn.run_once()
    assert house.statuses() == ["sent"]


@awaited
async def test_what_a_doubt_cost_is_paid_back_but_not_the_parts_that_were_taken(
    house: House,
) -> None:
    link = await house.submitted(text=THREE_SEGMENTS)
    one, *others = link.submitted
    link.answer(one)
    link.answer(*others, outcome=SubmitOutcome.UNANSWERED)
    await link.turn.run_once()
    clock.move(by_ms=DAY_MS)
    await settle(house)
    assert (house.statuses(), house.credits(), house.count(inflight)) == (
        ["failed/unknown"],
        999,
        0,
    )
    link.answer(*others, late=True)  # too late: nothing is charged again
    await link.turn.run_once()
    assert (house.statuses(), house.credits()) == (["failed/unknown"], 999)
    house.assert_sound()


# validity


@awaited
async def test_what_still_waits_when_its_validity_ends_has_failed_and_is_paid_back(
    house: House,
) -> None:
    await house.send(phones(3), validity_s=60)
    await house.send(phones(2, first=10), validity_s=120)
    assert await fail_expired(house.db, clock.now_ms()) == 0
    clock.move(by_ms=60_000)
    link = house.turn()
    await link.turn.run_once()
    assert [s.recipient for s in link.submitted] == phones(2, first=10)
    assert await fail_expired(house.db, clock.now_ms()) == 3
    assert house.statuses() == ["failed/expired"] * 3 + ["queued"] * 2
    assert (house.credits(), house.entries("sms_refund")) == (998, [3])
    assert await fail_expired(house.db, clock.now_ms()) == 0
    house.assert_sound()


@awaited
async def test_a_large_send_expires_in_steps(house: House) -> None:
    await house.send(phones(BATCH_MAX + 200), validity_s=60)
    await house.send(phones(100, first=5_000), validity_s=60)
    clock.move(by_ms=60_000)
    steps = [await fail_expired(house.db, clock.now_ms()) for _ in range(3)]
    assert (sum(steps), max(steps)) == (BATCH_MAX + 300, BATCH_MAX)
    assert (house.count(queue), house.credits()) == (0, 1_000)
    house.assert_sound()


@awaited
async def test_a_message_that_expires_with_a_part_on_the_wire_is_paid_back_after_its_answer(
    house: House,
) -> None:
    link = await house.submitted(text=THREE_SEGMENTS, validity_s=60)
    one, two, three = link.submitted
    link.answer(one)
    link.answer(two, outcome=SubmitOutcome.THROTTLED)
    await link.turn.run_once()
    clock.move(by_ms=60_000)
    assert await fail_expired(house.db, clock.now_ms()) == 1
    assert (house.statuses(), house.credits()) == (["failed/expired"], 997)
    link.answer(three)
    await link.turn.run_once()
    assert house.credits() == 998
    house.assert_sound()


# carriers that are down


@awaited
async def test_after_a_minute_what_waits_goes_to_the_next_carrier_that_is_up(house: House) -> None:
    second, third = (
        open_carrier(house.db, "second", prefix=None),
        open_carrier(house.db, "third", prefix=None),
    )
    open_route(house.db, "carrier", "second", "third")
    await house.send(phones(3))
    down = frozenset({house.carrier_id, second})
    assert await fail_over(house.db, routes(house.db), down, house.queue, clock.now_ms()) == 1
    link = house.turn(carrier_id=third)
    await link.turn.run_once()
    assert [s.recipient for s in link.submitted] == phones(3)
    assert (
        await fail_over(
            house.db,
            routes(house.db),
            frozenset({house.carrier_id, second, third}),
            house.queue,
            clock.now_ms(),
        )
        == 0
    )


@awaited
async def test_runs_of_a_carrier_that_is_down_go_to_those_that_share_with_it_by_weight(
    house: House,
) -> None:
    second, third, spare = (
        open_carrier(house.db, name, prefix=None) for name in ("second", "third", "spare")
    )
    await asyncio.gather(*(house.send(phone) for phone in phones(RUNS)))
    open_route(house.db, "carrier:50", "second:30", "third:10", "spare")

    async def fail(*down: int) -> dict[int, int]:
        """Returns how many runs wait for each carrier afterwards."""
        await fail_over(house.db, routes(house.db), frozenset(down), house.queue, clock.now_ms())
        with house.db.read() as tx:
            waiting = tx.execute(sa.select(queue.c.carrier_id)).scalars()
            return Counter(waiting)

    shared = await fail(house.carrier_id)
    assert set(shared) == {second, third}
    assert sum(shared.values()) == RUNS
    assert 3 * RUNS / 4 - 5 * sqrt(RUNS * 3 / 16) < shared[second] < RUNS
    assert await fail(house.carrier_id, third) == {second: RUNS}
    assert await fail(house.carrier_id, second, third) == {spare: RUNS}


@awaited
async def test_new_messages_avoid_a_carrier_that_has_been_down_for_a_minute(house: House) -> None:
    second = open_carrier(house.db, "second", prefix=None)
    open_route(house.db, "carrier", "second")
    for carrier_id in (house.carrier_id, second):
        house.carrier_is(LinkState.BOUND, carrier_id=carrier_id)
    house.carrier_is(LinkState.BACKING_OFF)
    clock.move(by_ms=59_000)
    house.carrier_is(LinkState.CONNECTING)  # still down
    await house.send()
    assert house.woken[-1] == {house.carrier_id}
    clock.move(by_ms=1_000)
    house.carrier_is(LinkState.BACKING_OFF)
    await house.send()
    assert house.woken[-1] == {second}
    house.carrier_is(LinkState.BOUND)
    await house.send()
    assert house.woken[-1] == {house.carrier_id}


@awaited
async def test_parts_that_fail_over_one_after_the_other_meet_again(house: House) -> None:
    second = open_carrier(house.db, "second", prefix=None)
    open_route(house.db, "carrier", "second")
    link = await house.submitted(text=THREE_SEGMENTS)
    for submission in link.submitted:
        link.answer(submission, outcome=SubmitOutcome.UNSPENT)
        link.window = 0
        await link.turn.run_once()
        await fail_over(
            house.db, routes(house.db), frozenset({house.carrier_id}), house.queue, clock.now_ms()
        )
    other = house.turn(carrier_id=second)
    await other.turn.run_once()
    other.answer(*other.open.values())
    await other.turn.run_once()
    assert [s.part for s in other.submitted] == [1, 2, 3]
    assert house.statuses() == ["sent"]


# work of a dead process


@awaited
async def test_what_a_dead_process_had_claimed_goes_out_and_what_it_had_written_is_in_doubt(
    house: House,
) -> None:
    dead = await house.submitted([PHONE], "x" * 1_530, window=4)
    assert await house.succeeded() == 1
    assert house.count(inflight, inflight.c.state == "in_doubt") == 4
    link = house.turn(worker=SUCCESSOR)
    await link.turn.run_once()
    assert [s.part for s in dead.submitted + link.submitted] == list(range(1, 11))
    link.answer(*link.open.values())
    await link.turn.run_once()
    clock.move(by_ms=RESEND_AFTER_MS)
    assert await settle(house) == 4
    await link.turn.run_once()
    assert sorted(s.part for s in link.submitted[6:]) == [1, 2, 3, 4]
    link.answer(*link.open.values())
    await link.turn.run_once()
    assert house.statuses() == ["sent"]
    assert house.count(carrier_refs) == 10


@awaited
async def test_a_process_takes_nothing_over_from_itself(house: House) -> None:
    await house.submitted(phones(3))
    assert await take_over(house.db, WORKER, clock.now_ms()) == 0
    assert house.count(inflight, inflight.c.state == "submitting") == 3
