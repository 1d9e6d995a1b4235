"""A text that a carrier has when its phone says STOP is on its way; what the carrier gives back is
not sent again.
"""

import asyncio

import psycopg
import pytest

from heliograph import senders
from heliograph.base import clock
from heliograph.carriers import SubmitOutcome
from heliograph.messages.carrier.withdrawn_by_opt_out import ACCEPTED_BESIDE_MS
from heliograph.messages.sweeps import settle_doubts
from heliograph.messages.tables import inflight, queue
from tests.support.capability.gated import GatedDatabase
from tests.support.capability.line import Line
from tests.support.capability.sending import House
from tests.support.factories import PHONE, SENDER, awaited
from tests.support.wire.handset_texts import SHORT_CODE

OTHER = "233201234568"
# after an opt-out: whoever accepts a text then has seen it
PASSES_AFTER_MS = ACCEPTED_BESIDE_MS + 1
THREE_SEGMENTS = "x" * 400
LATER_MS = 121_000


@pytest.fixture
def line(house: House) -> Line:
    return Line(house, answers=False)


@pytest.mark.parametrize(
    "outcome", [SubmitOutcome.THROTTLED, SubmitOutcome.RETRY, SubmitOutcome.UNSPENT]
)
@awaited
async def test_what_comes_back_is_blocked_and_refunded(line: Line, outcome: SubmitOutcome) -> None:
    house = line.house
    before = house.credits()
    await house.send([PHONE, OTHER])
    await house.send(PHONE, "123456", kind="otp")
    link = house.turn()
    await link.turn.run_once()
    await line.says("STOP")
    assert house.statuses() == ["queued"] * 3, "a carrier has all of it"
    link.answer(*link.open.values(), outcome=outcome)
    await link.turn.run_once()
    assert house.statuses() == ["failed/blocked", "queued", "queued"], (
        "the other phone's text and the one-time password go on"
    )
    assert house.credits() == before - 2
    clock.move(by_ms=20_000)
    try:
        await link.turn.run_once()
    finally:
        clock.move(by_ms=-20_000)
    assert [each.recipient for each in link.submitted].count(PHONE) == 3
    house.assert_sound()


@awaited
async def test_of_a_long_text_the_segments_that_no_carrier_accepted_are_refunded(
    line: Line,
) -> None:
    house = line.house
    before = house.credits()
    link = await house.submitted(PHONE, THREE_SEGMENTS)
    first, second, third = link.open.values()
    await line.says("STOP")
    link.answer(first)
    link.answer(second, outcome=SubmitOutcome.THROTTLED)
    await link.turn.run_once()
    assert house.statuses() == ["failed/blocked"]
    assert house.credits() == before - 3, "the third segment is still on the wire"
    link.answer(third)
    await link.turn.run_once()
    assert house.credits() == before - 2
    assert house.count(queue) == house.count(inflight) == 0
    house.assert_sound()


@awaited
async def test_an_opt_out_of_one_sender_blocks_that_senders_texts_alone(line: Line) -> None:
    house = line.house
    line.number_has(opt_out_scope="sender")
    with house.db.write() as tx:
        made = senders.register(
            tx, house.amina_id, SHORT_CODE, sandbox=False, now_ms=clock.now_ms()
        )
        senders.approve(tx, made.id, now_ms=clock.now_ms())
    await house.send(PHONE, sender=SHORT_CODE)
    await house.send(PHONE, sender=SENDER)
    link = house.turn()
    await link.turn.run_once()
    await line.says("stop")
    link.answer(*link.open.values(), outcome=SubmitOutcome.THROTTLED)
    await link.turn.run_once()
    assert house.statuses() == ["failed/blocked", "queued"]


@awaited
async def test_what_passes_the_opt_out_is_tried_again(house: House) -> None:
    """This holds for the confirmation of the opt-out, and for a receipt that is sent after it."""
    line = Line(house)
    house.allow_transactional()
    await line.says("STOP")
    clock.move(by_ms=PASSES_AFTER_MS)
    try:
        await house.send(PHONE, "Your receipt.", transactional=True)
        link = house.turn()
        await link.turn.run_once()
        assert len(link.open) == 2
        link.answer(*link.open.values(), outcome=SubmitOutcome.UNSPENT)
        await link.turn.run_once()
        assert house.statuses() == ["queued"] * 2
        await link.turn.run_once()
        assert len(link.open) == 2
    finally:
        clock.move(by_ms=-PASSES_AFTER_MS)


@awaited
async def test_an_answer_to_help_is_tried_again_and_stays_at_the_next_stop(house: House) -> None:
    line = Line(house)
    await line.says("HELP")
    link = house.turn()
    await link.turn.run_once()
    clock.move(by_ms=1)
    await line.says("STOP")
    link.answer(*link.open.values(), outcome=SubmitOutcome.UNSPENT)
    await link.turn.run_once()
    await line.says("STOP")
    assert house.statuses() == ["queued", "queued"]
    house.assert_sound()


@awaited
async def test_what_passes_the_opt_out_stays_at_the_next_stop(house: House) -> None:
    line = Line(house, answers=False)
    house.allow_transactional()
    await house.send(PHONE, "Your receipt.", transactional=True)
    await line.says("STOP")
    clock.move(by_ms=PASSES_AFTER_MS)
    await house.send(PHONE, "Your next receipt.", transactional=True)
    await line.says("STOP")
    assert house.statuses() == ["failed/blocked", "queued"]
    house.assert_sound()


@awaited
async def test_what_was_accepted_beside_a_stop_is_not_tried_again(house: House) -> None:
    """Whoever accepted it may not have seen the opt-out, and a carrier had it when STOP looked."""
    line = Line(house, answers=False)
    house.allow_transactional()
    await line.says("STOP")
    clock.move(by_ms=ACCEPTED_BESIDE_MS // 2)
    await house.send(PHONE, "Accepted beside it.", transactional=True)
    link = house.turn()
    await link.turn.run_once()
    link.answer(*link.open.values(), outcome=SubmitOutcome.THROTTLED)
    await link.turn.run_once()
    assert house.statuses() == ["failed/blocked"]
    house.assert_sound()


@pytest.mark.parametrize("place", ["queued", "with a carrier"])
@awaited
async def test_what_passes_an_opt_out_passes_a_later_one_of_its_sender(
    house: House, place: str
) -> None:
    line = Line(house, answers=False)
    with house.db.write() as tx:
        made = senders.register(
            tx, house.amina_id, SHORT_CODE, sandbox=False, now_ms=clock.now_ms()
        )
        senders.approve(tx, made.id, now_ms=clock.now_ms())
    house.allow_transactional()
    await line.says("STOP")
    clock.move(by_ms=PASSES_AFTER_MS)
    await house.send(PHONE, "Your receipt.", sender=SHORT_CODE, transactional=True)
    link = house.turn()
    if place == "with a carrier":
        await link.turn.run_once()
    clock.move(by_ms=PASSES_AFTER_MS)
    line.number_has(opt_out_scope="sender")
    await line.says("STOP")
    if place == "with a carrier":
        link.answer(*link.open.values(), outcome=SubmitOutcome.THROTTLED)
        await link.turn.run_once()
    assert house.statuses() == ["queued"]
    assert len(line.out()) == 2
    house.assert_sound()


@awaited
async def test_who_says_start_before_it_comes_back_gets_it(line: Line) -> None:
    link = await line.house.submitted(PHONE)
    await line.says("STOP", "START")
    link.answer(*link.open.values(), outcome=SubmitOutcome.THROTTLED)
    await link.turn.run_once()
    assert line.house.statuses() == ["queued"]


@awaited
async def test_what_is_in_doubt_is_not_sent_once_more(line: Line) -> None:
    house = line.house
    link = await house.submitted(PHONE)
    await line.says("STOP")
    link.answer(*link.open.values(), outcome=SubmitOutcome.UNANSWERED)
    await link.turn.run_once()
    clock.move(by_ms=LATER_MS)
    try:
        assert await settle_doubts(house.db, house.carrier_id, clock.now_ms(), resend=True) == 1
    finally:
        clock.move(by_ms=-LATER_MS)
    assert (house.statuses(), house.count(queue)) == (["failed/blocked"], 0)
    house.assert_sound()


@awaited
async def test_what_a_process_that_dies_had_claimed_is_not_sent(line: Line) -> None:
    house = line.house
    await house.send(PHONE, THREE_SEGMENTS)
    link = house.turn(window=1)
    await link.turn.run_once()  # two of its segments wait in the process
    await line.says("STOP")
    await house.succeeded()
    assert (house.statuses(), house.count(queue)) == (["failed/blocked"], 0)


@pytest.fixture
def gated_house(postgresql_url: str) -> House:
    return House(postgresql_url, GatedDatabase)


@awaited
async def test_what_a_turn_is_just_giving_back_is_found(gated_house: House) -> None:
    """The turn has looked for opt-outs before this one was there."""
    house = gated_house
    line, db = Line(house, answers=False), house.db
    assert isinstance(db, GatedDatabase)
    link = await house.submitted(PHONE)
    link.answer(*link.open.values(), outcome=SubmitOutcome.THROTTLED)
    db.held, db.gate = asyncio.Event(), (gate := asyncio.Event())
    giving_back = asyncio.create_task(link.turn.run_once())
    await db.held.wait()
    db.gate = None
    saying = asyncio.create_task(line.says("STOP"))
    await asyncio.sleep(0.2)
    assert not saying.done(), "it waits for the message"
    gate.set()
    await asyncio.gather(giving_back, saying)
    assert (house.statuses(), house.count(queue)) == (["failed/blocked"], 0)
    house.assert_sound()


@awaited
async def test_what_waits_in_the_rest_of_a_run_that_a_turn_is_just_taking_is_found(
    postgresql_house: House,
) -> None:
    house = postgresql_house
    line = Line(house, answers=False)
    await house.send([OTHER, PHONE])
    with psycopg.connect(house.db.url) as turn:
        turn.execute(
            "WITH run AS (DELETE FROM queue RETURNING *) INSERT INTO queue (carrier_id, rank_us,"
            " first_id, count, send_id, segments, prefix, attempt, not_before_ms, expires_at_ms)"
            " SELECT carrier_id, rank_us + 1000, CAST(%s AS uuid), 1, send_id, segments, prefix,"
            " attempt, not_before_ms, expires_at_ms FROM run",
            [house.messages()[1].id],
        )
        saying = asyncio.create_task(line.says("STOP"))
        await asyncio.sleep(0.2)
        assert not saying.done(), "it waits for the run"
        turn.commit()
        await saying
    assert house.statuses() == ["queued", "failed/blocked"]
