"""Who sends STOP gets nothing more, from the very transaction that records the text; START lifts
it.
"""

from contextlib import suppress as suppressing

import pytest
import sqlalchemy as sa

from heliograph import senders
from heliograph.base import clock
from heliograph.inbound import add_number
from heliograph.inbound.keywords import KeywordOwner, save_keyword_for
from heliograph.inbound.receive.record import record
from heliograph.inbound.tables import inbound
from heliograph.opt_outs import OptOutSource
from heliograph.opt_outs.suppress import suppress
from tests.support.capability.campaigning import Sent
from tests.support.capability.inbox import written
from tests.support.capability.line import NUMBERS, Line
from tests.support.capability.sending import House
from tests.support.capability.webhooks import events
from tests.support.factories import PHONE, SENDER, awaited, open_account, phones
from tests.support.wire.handset_texts import SHORT_CODE

OTHER = "233201234568"


@pytest.fixture
def line(house: House) -> Line:
    return Line(house, answers=False)


@awaited
async def test_stop_cancels_and_refunds_what_is_queued_for_that_phone_alone(line: Line) -> None:
    house = line.house
    await house.send([PHONE, OTHER])
    await house.send(PHONE, "again")
    await house.send(PHONE, "123456", kind="otp")
    campaign = Sent(house, 3, "hello")  # to 233200000000 and the next two
    await campaign.looks(4, 0)
    before = house.credits()
    await line.says("Stop!")
    await line.says("Arret...", sender=phones(2)[1])
    assert house.statuses()[:4] == ["failed/blocked", "queued", "failed/blocked", "queued"], (
        "both texts to that phone, and not the one-time password"
    )
    of_campaign = house.messages()[4:]
    assert {row.recipient for row in of_campaign if row.status == "failed"} == {int(phones(2)[1])}
    assert len(of_campaign) == 3
    assert house.credits() == before + 3
    house.assert_sound()
    assert line.out() == [("", "keyword")]
    assert line.told() == [
        ("contact.opted_out", PHONE, "stop"),
        ("contact.opted_out", phones(2)[1], "arret"),
    ]
    assert line.heard() == [("stop", False), ("arret", False)]
    await line.says("STOP")  # it holds already
    assert len(line.told()) == 2


@awaited
async def test_nothing_of_it_is_done_if_the_text_is_not_stored(line: Line) -> None:
    house = line.house
    await house.send(PHONE)
    with suppressing(ZeroDivisionError):
        async with house.db.hot() as tx:
            arrived = [written("STOP", next(NUMBERS))]
            await record(tx, house.carrier_id, arrived, clock.now_ms())
            raise ZeroDivisionError
    assert (house.statuses(), line.out(), line.told(), line.heard()) == (["queued"], [], [], [])


@awaited
async def test_on_a_number_of_which_one_opts_out_alone_other_senders_go_on(line: Line) -> None:
    house = line.house
    line.number_has(opt_out_scope="sender")
    with house.db.write() as tx:
        made = senders.register(
            tx, house.amina_id, SHORT_CODE, sandbox=False, now_ms=clock.now_ms()
        )
        senders.approve(tx, made.id, now_ms=clock.now_ms())
    await house.send(PHONE, sender=SHORT_CODE)
    await house.send(PHONE, sender=SENDER)
    await line.says("stop")
    assert house.statuses() == ["failed/blocked", "queued"]
    assert line.out() == [(SHORT_CODE, "keyword")]
    line.number_has(opt_out_scope="account")
    await line.says("stop")
    assert line.out() == [("", "keyword"), (SHORT_CODE, "keyword")]
    await line.says("start")
    assert line.out() == []
    told = [(each["event"][-3:], each["data"]["sender"]) for each in events(house.db)]
    assert told == [
        *(("out", SHORT_CODE), ("out", None)),
        *(("_in", None), ("_in", SHORT_CODE)),
    ], "of each opt-out that was lifted"
    assert len({each["data"]["inbound_id"] for each in events(house.db)}) == 3
    line.told()


@awaited
async def test_start_lifts_what_a_keyword_made_and_nothing_else(line: Line) -> None:
    await line.says("STOP")
    await line.says("Start")
    assert line.out() == []
    with line.house.db.write() as tx:
        source, now_ms = OptOutSource.API, clock.now_ms()
        suppress(tx, line.owner, [PHONE], source=source, now_ms=now_ms)
    await line.says("STOP", "START", "unstop")
    assert line.out() == [("", "api")]
    assert [(kind, word) for kind, _, word in line.told()] == [
        ("contact.opted_out", "stop"),
        ("contact.opted_in", "start"),
        ("contact.opted_out", None),
    ]


@awaited
async def test_keywords_of_one_batch_count_in_their_order(line: Line) -> None:
    await line.says("STOP", "START", "STOP")
    assert line.out() == [("", "keyword")]
    assert [kind for kind, _, _ in line.told()] == [
        "contact.opted_out",
        "contact.opted_in",
        "contact.opted_out",
    ]


@pytest.mark.parametrize("in_one_batch", [True, False])
@awaited
async def test_a_stop_that_comes_once_more_after_a_start_is_heeded(
    line: Line, in_one_batch: bool
) -> None:
    stop, start = (written(word, next(NUMBERS)) for word in ("STOP", "START"))
    for batch in [[stop, start, stop, start, stop]] if in_one_batch else [[stop], [start], [stop]]:
        await line.carries(*batch)
        clock.move(by_ms=5)
    assert line.out() == [("", "keyword")]
    kinds = [kind for kind, _, _ in line.told()]
    assert kinds == ["contact.opted_out", "contact.opted_in", "contact.opted_out"]
    assert [word for word, _ in line.heard()] == ["stop", "start"]
    await line.carries(stop)
    assert len(line.told()) == 3


@awaited
async def test_what_is_no_keyword_opts_nobody_out_but_is_noticed(line: Line) -> None:
    await line.says("Please stop texting me", "stop by at five", "Where is my order?")
    assert line.heard() == [(None, True), (None, True), (None, False)]
    line.number_has(first_word=True)
    await line.says("stop by at five")
    assert line.heard()[-1] == ("stop", False)
    assert line.out() == [("", "keyword")]


@awaited
async def test_own_keywords_are_known_on_their_numbers(line: Line) -> None:
    house = line.house
    chidi = open_account(house.db, "chidi")
    with house.db.write() as tx:
        now_ms = clock.now_ms()
        mine, others = KeywordOwner(house.amina_id, False), KeywordOwner(chidi, False)
        out = {"keyword": "Basta", "action": "opt_out"}
        save_keyword_for(tx, mine, out, None, now_ms)
        save_keyword_for(tx, mine, {"keyword": "Rice", "number": SHORT_CODE}, None, now_ms)
        save_keyword_for(tx, others, {"keyword": "Beans", "action": "opt_out"}, None, now_ms)
    await line.says("RICE?", "beans", "basta")
    assert [word for word, _ in line.heard()] == ["rice", None, "basta"]
    assert line.out() == [("", "keyword")]
    assert line.told() == [("contact.opted_out", PHONE, "basta")]


@awaited
async def test_a_sender_that_is_no_phone_and_a_number_of_nobody_opt_nobody_out(line: Line) -> None:
    with line.house.db.write() as tx:
        add_number(tx, "4568", "carrier", None, now_ms=clock.now_ms())
    await line.says("STOP", sender="NETFLIX")
    await line.says("STOP", sender="4242")
    await line.says("STOP", sender="12345678")  # of no calling code
    await line.says("STOP", to="4568")
    assert line.told() == []
    assert line.heard() == [("stop", True)] * 3 + [("stop", False)]


@awaited
async def test_a_word_on_a_shared_number_is_for_its_account_alone(line: Line) -> None:
    house, shared = line.house, "4568"
    chidi = open_account(house.db, "chidi")
    with house.db.write() as tx:
        now_ms = clock.now_ms()
        add_number(tx, shared, "carrier", None, now_ms=now_ms, catch_all_id=house.amina_id)
        for account_id, word in ((chidi, "Beans"), (house.amina_id, "Rice")):
            body = {"keyword": word, "number": shared}
            save_keyword_for(tx, KeywordOwner(account_id, False), body, None, now_ms)
        stop = {"keyword": "STOP", "number": shared, "action": "opt_out"}
        save_keyword_for(tx, KeywordOwner(chidi, False), stop, None, now_ms)
    for words in ("beans!", "rice", "hello", "STOP"):
        await line.says(words, to=shared)
    query = sa.select(inbound.c.account_id, inbound.c.keyword).order_by(inbound.c.id)
    with house.db.read() as tx:
        rows = tx.execute(query)
        found = [(row.account_id, row.keyword) for row in rows]
    assert found == [
        (chidi, "beans"),
        (house.amina_id, "rice"),
        (house.amina_id, None),
        (house.amina_id, "stop"),
    ], "STOP is not one account's word"
    assert line.out() == [("", "keyword")]
