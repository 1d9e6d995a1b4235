"""An operator cancels one queued message, and nothing else changes."""

import asyncio
import threading

import pytest
import sqlalchemy as sa

from heliograph.base import clock, ids
from heliograph.base.errors import DoneAlready, InvalidRequest, NotFound
from heliograph.carriers import SubmitOutcome
from heliograph.messages.queue import count_queued, queued_messages
from heliograph.messages.sweeps import cancel_message, credits_back, find_queued
from heliograph.messages.tables import queue
from tests.support.capability.sending import House
from tests.support.factories import SENDER, awaited, phones

TWO_SEGMENTS = "x" * 200


def canceled(house: House, message_id: str) -> int:
    """Cancels a message, and returns the credits that went back."""
    with house.db.write() as tx:
        return cancel_message(tx, message_id, clock.now_ms())


async def cancel(house: House, message_id: str) -> int:
    """Does so in a thread, as pages and commands do."""
    return await asyncio.to_thread(canceled, house, message_id)


@awaited
async def test_one_is_taken_out_of_its_run_and_the_others_go_out(house: House) -> None:
    await house.send(phones(3), TWO_SEGMENTS)
    first, second, third = (row.id for row in house.messages())
    before = house.credits()
    with house.db.read() as tx:
        assert find_queued(tx, second).credits_back == credits_back(tx, [second]) == 2
        assert queued_messages(tx, house.amina_id, limit=2) == [first, second]
    assert await cancel(house, second) == 2
    assert house.statuses() == ["queued", "failed/canceled", "queued"]
    assert house.credits() == before + 2
    with house.db.read() as tx:
        assert count_queued(tx, house.amina_id) == 2
        assert queued_messages(tx, house.amina_id, limit=9) == [first, third]
    link = house.turn()
    await link.turn.run_once()
    assert {submission.message_id for submission in link.submitted} == {first, third}
    link.answer(*link.open.values())
    await link.turn.run_once()
    assert house.statuses() == ["sent", "failed/canceled", "sent"]
    house.assert_sound()


@awaited
async def test_nothing_goes_back_for_a_message_of_the_sandbox(house: House) -> None:
    await house.send(sandbox=True, sender="SANDBOX")
    [row] = house.messages()
    with house.db.read() as tx:
        assert find_queued(tx, row.id).credits_back == 0
    before = house.credits()
    assert await cancel(house, row.id) == 0
    assert (house.statuses(), house.credits()) == (["failed/canceled"], before)


@awaited
async def test_what_has_left_the_queue_is_refused_in_words_that_say_why(house: House) -> None:
    link = await house.submitted(phones(2))
    given, doubtful = (row.id for row in house.messages())
    name = f"The message {ids.text_of_raw('msg', given)}"
    with pytest.raises(InvalidRequest, match=f"{name} has left the queue: a carrier has it"):
        await cancel(house, given)
    link.answer(link.open[given, 1])
    link.answer(link.open[doubtful, 1], outcome=SubmitOutcome.UNANSWERED)
    await link.turn.run_once()
    with pytest.raises(InvalidRequest, match=f"{name} has left the queue: it is sent"):
        await cancel(house, given)
    with pytest.raises(InvalidRequest, match="is in doubt: ask its carrier"):
        await cancel(house, doubtful)
    with pytest.raises(NotFound):
        await cancel(house, ids.raw_of_number(ids.new_number()))
    await house.send(sender=SENDER)
    queued = house.messages()[-1].id
    await cancel(house, queued)
    with pytest.raises(DoneAlready, match="was canceled already"):
        await cancel(house, queued)
    assert house.statuses() == ["sent", "queued", "failed/canceled"]
    house.assert_sound()


def taken_meanwhile(house: House, wanted: str) -> int:
    """Cancels a message while somebody takes the first one out of its run, and puts the rest back
    before the cancellation has its turn. Returns the credits that went back.
    """
    back: list[int | InvalidRequest] = []

    def ask() -> None:
        try:
            back.append(canceled(house, wanted))
        except InvalidRequest as refused:
            back.append(refused)

    asking = threading.Thread(target=ask)
    with house.db.write() as tx:
        [run] = tx.execute(sa.select(queue).with_for_update()).mappings().all()
        asking.start()
        while asking.is_alive() and not _waits(house):
            asking.join(0.01)
        rest = ids.raw_of_number(int(run["first_id"], 16) + 1)
        tx.execute(sa.delete(queue))
        tx.execute(queue.insert().values({**run, "first_id": rest, "count": run["count"] - 1}))
    asking.join()
    [found] = back
    if isinstance(found, InvalidRequest):
        raise found
    return found


def _waits(house: House) -> bool:
    with house.db.read() as tx:
        waiting = sa.text("SELECT count(*) FROM pg_locks WHERE NOT granted")
        return bool(tx.execute(waiting).scalar_one())


@awaited
async def test_it_waits_for_who_is_taking_some_of_the_run(postgresql_house: House) -> None:
    house = postgresql_house
    await house.send(phones(3))
    second = house.messages()[1].id
    assert await asyncio.to_thread(taken_meanwhile, house, second) == 1
    assert house.statuses() == ["queued", "failed/canceled", "queued"]


@awaited
async def test_what_is_taken_meanwhile_is_not_canceled(postgresql_house: House) -> None:
    house = postgresql_house
    await house.send(phones(3))
    first = house.messages()[0].id
    with pytest.raises(InvalidRequest, match="is just leaving the queue"):
        await asyncio.to_thread(taken_meanwhile, house, first)
    assert house.statuses() == ["queued"] * 3
