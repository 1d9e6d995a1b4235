"""After STOP, nothing leaves but what confirms it, and what helps who has asked for help: other
answers that still wait are withdrawn.
"""

import pytest
import sqlalchemy as sa

from heliograph.base import clock, ids
from heliograph.carriers import SubmitOutcome
from heliograph.inbound import INBOUND_PREFIX
from heliograph.inbound.answered_text import answered_text
from heliograph.inbound.keywords import KeywordOwner, save_keyword_for
from heliograph.inbound.tables import inbound
from heliograph.messages.accept import answer_to
from tests.support.capability.line import Line
from tests.support.capability.sending import House
from tests.support.factories import PHONE, awaited, phones, send_request

REPLY_EVERY_MS = 61_000
BLOCKED = "failed/blocked"


@pytest.fixture
def line(house: House) -> Line:
    return Line(house, answers=False)


def offers(line: Line) -> None:
    """Gives the account a keyword that is answered with an offer."""
    with line.house.db.write() as tx:
        owner, body = (
            KeywordOwner(line.house.amina_id, False),
            {"keyword": "OFFERS", "reply": "Rice!"},
        )
        save_keyword_for(tx, owner, body, None, clock.now_ms())


async def answer(line: Line, *, transactional: bool = False) -> None:
    """Answers the newest text, as POST /sms/send with `in_reply_to` does."""
    house = line.house
    request = send_request(house.amina_id, PHONE, "As you asked.", transactional=transactional)
    with house.db.read() as tx:
        newest = tx.execute(sa.select(inbound.c.id).order_by(inbound.c.id.desc())).scalars().first()
        text_id = ids.text_of_raw(INBOUND_PREFIX, newest or "")
        answer_to(request, answered_text(tx, house.amina_id, text_id, sandbox=False))
    await house.cache.refresh()
    await house.acceptor.accept(request)


@pytest.mark.parametrize("said", ["is it open", "OFFERS", "START"])
@pytest.mark.parametrize("transactional", [False, True])
@awaited
async def test_an_answer_of_a_program_to_what_asks_for_no_help_is_withdrawn(
    line: Line, said: str, transactional: bool
) -> None:
    house = line.house
    house.allow_transactional()
    offers(line)
    before = house.credits()
    await line.says(said)
    await answer(line, transactional=transactional)
    assert house.statuses() == ["queued"]
    await line.says("STOP")
    assert house.statuses() == [BLOCKED]
    assert house.credits() == before
    house.assert_sound()


@awaited
async def test_an_answer_to_a_stop_that_was_lifted_is_withdrawn_by_the_next_one(line: Line) -> None:
    house = line.house
    await line.says("START", "STOP")  # of one batch; the last one is the newest text
    with house.db.write() as tx:
        tx.exec_driver_sql("DELETE FROM suppressions")
    await answer(line)
    await line.says("STOP")
    assert house.statuses() == [BLOCKED]
    house.assert_sound()


@awaited
async def test_two_answers_to_help_stay_and_a_third_does_not(line: Line) -> None:
    house = line.house
    await line.says("HELP")
    for _ in range(3):
        await answer(line)
    await line.says("STOP")
    assert house.statuses() == ["queued", "queued", BLOCKED]
    house.assert_sound()


@awaited
async def test_of_what_answers_keywords_what_confirms_and_what_helps_stays(house: House) -> None:
    line = Line(house)
    offers(line)
    helped, tempted, stopped = phones(3)
    for word, phone in (("HELP", helped), ("OFFERS", tempted), ("STOP", stopped)):
        await line.says(word, sender=phone)
    clock.move(by_ms=REPLY_EVERY_MS)
    await line.says("START", sender=stopped)
    assert house.statuses() == ["queued"] * 4
    clock.move(by_ms=REPLY_EVERY_MS)
    for phone in (helped, tempted, stopped):
        await line.says("STOP", sender=phone)
    assert house.statuses()[:4] == ["queued", BLOCKED, "queued", BLOCKED]
    house.assert_sound()


@awaited
async def test_such_an_answer_is_not_sent_again_if_its_carrier_gives_it_back(line: Line) -> None:
    house = line.house
    await line.says("OFFERS")
    await answer(line)
    link = house.turn()
    await link.turn.run_once()
    await line.says("STOP")
    link.answer(*link.open.values(), outcome=SubmitOutcome.THROTTLED)
    await link.turn.run_once()
    assert house.statuses() == [BLOCKED]
    house.assert_sound()
