"""Sweeps run beside late answers, other tries, other routes and an outage: what is settled stays
settled, and what can go on does.
"""

import asyncio

import pytest
import sqlalchemy as sa

from heliograph.base import clock
from heliograph.base.errors import Unavailable
from heliograph.carriers import LinkState, SubmitOutcome
from heliograph.database.database import Database
from heliograph.messages.carrier.settle import RETRY_DELAYS_MS, THROTTLED_DELAY_MS
from heliograph.messages.states import RESEND_AFTER_MS
from heliograph.messages.sweeps import fail_expired, fail_over, settle_doubts
from tests.support.capability.sending import House
from tests.support.capability.sweeping import in_doubt, routes, settle
from tests.support.factories import awaited, open_carrier, open_route, phones, send_request

DAY_MS = 86_400_000
IN_DOUBT_MS = 121_000
LONDON = "447911123456"
THREE_SEGMENTS = "x" * 400
# as after a fail-over that left us on a standby
READ_ONLY, WRITE = "SET TRANSACTION READ ONLY", "UPDATE config SET epoch = epoch + 1"


@awaited
async def test_a_message_that_a_late_answer_settled_is_not_failed_by_its_other_try_in_doubt(
    house: House,
) -> None:
    link = await in_doubt(house)
    first = link.submitted[0]
    clock.move(by_ms=IN_DOUBT_MS)
    await settle(house)
    await link.turn.run_once()
    link.answer(link.submitted[1], outcome=SubmitOutcome.UNANSWERED)
    await link.turn.run_once()
    link.answer(first, late=True)
    await link.turn.run_once()
    clock.move(by_ms=DAY_MS)
    await settle(house)
    assert house.statuses() == ["sent"]


@awaited
async def test_a_message_that_a_late_answer_settled_does_not_expire_with_its_other_try_in_the_queue(
    house: House,
) -> None:
    link = await in_doubt(house)
    first = link.submitted[0]
    link.window = 0
    clock.move(by_ms=IN_DOUBT_MS)
    await settle(house)
    link.answer(first, late=True)
    await link.turn.run_once()
    clock.move(by_ms=DAY_MS)
    await fail_expired(house.db, clock.now_ms())
    assert house.statuses() == ["sent"]


@awaited
async def test_a_passing_fault_does_not_use_up_the_one_time_that_a_doubt_is_sent_again(
    house: House,
) -> None:
    link = await house.submitted()
    link.answer(*link.open.values(), outcome=SubmitOutcome.RETRY, command_status=8)
    await link.turn.run_once()
    clock.move(by_ms=RETRY_DELAYS_MS[0])
    await link.turn.run_once()
    for resent in (1, 0):  # once, and never again
        link.answer(*link.open.values(), outcome=SubmitOutcome.UNANSWERED)
        await link.turn.run_once()
        clock.move(by_ms=RESEND_AFTER_MS)
        assert await settle(house) == resent
        await link.turn.run_once()
    assert [s.attempt for s in link.submitted] == [1, 2, 3]


@awaited
async def test_a_segment_is_sent_again_once_whichever_way_it_comes_back(house: House) -> None:
    """What comes back to the queue beside it takes its place there along; its mark is not lost with
    it.
    """
    link = await house.submitted(text=THREE_SEGMENTS)
    one, two, three = link.submitted
    link.answer(one, outcome=SubmitOutcome.UNANSWERED)
    link.answer(two)
    await link.turn.run_once()
    clock.move(by_ms=RESEND_AFTER_MS)
    link.answer(three, outcome=SubmitOutcome.THROTTLED)
    link.state = LinkState.BACKING_OFF
    await link.turn.run_once()
    assert await settle(house) == 1
    link.state = LinkState.BOUND
    clock.move(by_ms=THROTTLED_DELAY_MS)
    await link.turn.run_once()
    # a late answer to the first tries ends neither
    assert sorted((s.part, s.attempt) for s in link.open.values()) == [(1, 2), (3, 2)]
    link.answer(*link.open.values(), outcome=SubmitOutcome.UNANSWERED)
    await link.turn.run_once()
    clock.move(by_ms=RESEND_AFTER_MS)
    assert await settle(house) == 1
    await link.turn.run_once()
    assert [s.part for s in link.open.values()] == [3]


@awaited
async def test_what_has_another_carrier_does_not_wait_behind_what_has_none(house: House) -> None:
    open_carrier(house.db, "second", prefix=None)
    open_route(house.db, "carrier", prefix="233")
    open_route(house.db, "carrier", "second", prefix="44")
    await house.cache.refresh()
    await asyncio.gather(
        *(house.acceptor.accept(send_request(house.amina_id, phone)) for phone in phones(500))
    )
    await house.send(LONDON)
    assert (
        await fail_over(
            house.db, routes(house.db), frozenset({house.carrier_id}), house.queue, clock.now_ms()
        )
        == 1
    )


@awaited
async def test_a_database_that_only_reads_is_unavailable_and_not_our_fault(
    postgresql_url: str,
) -> None:
    db = Database(postgresql_url)
    with pytest.raises(Unavailable):
        await _write_hot(db)
    with pytest.raises(Unavailable):
        _write(db)
    await db.close_hot()
    db.close()


async def _write_hot(db: Database) -> None:
    async with db.hot() as tx:
        await tx.fetch(READ_ONLY)
        await tx.fetch(WRITE)


def _write(db: Database) -> None:
    with db.write() as tx:
        tx.execute(sa.text(READ_ONLY))
        tx.execute(sa.text(WRITE))


# a message larger than the window


@awaited
async def test_the_rest_of_a_message_whose_carrier_goes_down_half_way_expires_in_time(
    house: House,
) -> None:
    link = await house.submitted(text=THREE_SEGMENTS, window=1, validity_s=60)
    link.answer(*link.open.values())
    link.state = LinkState.BACKING_OFF
    await link.turn.run_once()
    clock.move(by_ms=61_000)
    await link.turn.run_once()
    assert await fail_expired(house.db, clock.now_ms()) == 1
    assert [
        (row.status, row.error_code, row.credits, row.refunded) for row in house.messages()
    ] == [("failed", "expired", 3, 2)]
    link.state = LinkState.BOUND
    await link.turn.run_once()
    assert len(link.submitted) == 1
    house.assert_sound()


@awaited
async def test_the_rest_of_a_message_whose_carrier_goes_down_half_way_takes_the_next_one(
    house: House,
) -> None:
    second = open_carrier(house.db, "second", prefix=None)
    open_route(house.db, "carrier", "second", prefix="233")
    link = await house.submitted(text=THREE_SEGMENTS, window=1)
    link.answer(*link.open.values())
    link.state = LinkState.BACKING_OFF
    await link.turn.run_once()
    await link.turn.run_once()
    assert (
        await fail_over(
            house.db, routes(house.db), frozenset({house.carrier_id}), house.queue, clock.now_ms()
        )
        == 1
    )
    other = house.turn(carrier_id=second)
    await other.turn.run_once()
    assert [s.part for s in other.submitted] == [2, 3]


@awaited
async def test_the_rest_of_a_message_is_not_sent_after_its_validity_by_a_carrier_that_is_slow(
    house: House,
) -> None:
    link = await house.submitted(text=THREE_SEGMENTS, window=1, validity_s=60)
    clock.move(by_ms=61_000)
    link.answer(*link.open.values())
    await link.turn.run_once()
    await link.turn.run_once()
    await fail_expired(house.db, clock.now_ms())
    await link.turn.run_once()
    assert len(link.submitted) == 1
    assert [(row.status, row.error_code, row.refunded) for row in house.messages()] == [
        ("failed", "expired", 2)
    ]


@awaited
async def test_parts_in_doubt_after_different_tries_go_out_with_a_number_that_none_of_them_had(
    house: House,
) -> None:
    """A late answer to an earlier try must not be taken for the next one's."""
    link = await house.submitted(text="x" * 200)
    first, second = link.submitted
    link.answer(first, outcome=SubmitOutcome.RETRY)
    link.answer(second, outcome=SubmitOutcome.UNANSWERED)
    await link.turn.run_once()
    clock.move(by_ms=5_000)
    await link.turn.run_once()
    link.answer(link.submitted[2], outcome=SubmitOutcome.UNANSWERED)
    await link.turn.run_once()
    clock.move(by_ms=2 * RESEND_AFTER_MS)
    assert await settle_doubts(house.db, house.carrier_id, clock.now_ms(), resend=True) == 2
    await link.turn.run_once()
    tries = [(submission.part, submission.attempt) for submission in link.submitted]
    assert tries == [(1, 1), (2, 1), (1, 2), (1, 3), (2, 3)]
