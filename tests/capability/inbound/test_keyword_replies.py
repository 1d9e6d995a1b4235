"""Keywords are answered: the answers are charged, go out in spite of opt-outs, and never go so
often that two services could talk to each other.
"""

import pytest
import sqlalchemy as sa
from msgspec.structs import replace

from heliograph import accounts
from heliograph.base import clock
from heliograph.base.clock import DAY_MS
from heliograph.inbound import add_number
from heliograph.inbound.keywords import KeywordOwner, save_keyword_for
from heliograph.inbound.tables import keyword_replies
from heliograph.jobs.pruning import prune_all
from heliograph.messages.tables import messages, queue, sends
from heliograph.opt_outs import OptOutOwner, OptOutSource, scope_of_sender
from heliograph.opt_outs.suppress import suppress
from tests.support.capability.inbox import written
from tests.support.capability.line import Line
from tests.support.capability.sending import House
from tests.support.factories import PHONE, awaited
from tests.support.wire.handset_texts import SHORT_CODE

MINUTE_MS = 60_000
STOPPED = "You will get no more texts from amina. Reply START to get them again."
BACK = "You will get texts from amina again. Reply STOP to end them."
HELPED = "These texts are from amina. Reply STOP to end them."


@pytest.fixture
def line(house: House) -> Line:
    return Line(house)


def replies(house: House) -> list[tuple[str, str, str]]:
    """Returns sender, recipient and text of all that was sent."""
    query = sa.select(sends.c.sender, messages.c.recipient, sends.c.text).select_from(
        sends.join(messages, messages.c.send_id == sends.c.id)
    )
    with house.db.read() as tx:
        return [(row[0], str(row[1]), row[2]) for row in tx.execute(query.order_by(sends.c.id))]


def texts(house: House) -> list[str]:
    return [text for _, _, text in replies(house)]


@awaited
async def test_stop_is_confirmed_once_a_day_and_help_answered_after_it(line: Line) -> None:
    house = line.house
    before = house.credits()
    await line.says("STOP")
    assert replies(house) == [(SHORT_CODE, PHONE, STOPPED)]
    assert house.woken == [{house.carrier_id}]
    assert (house.credits(), house.entries("sms_charge")) == (before - 1, [-1])
    clock.move(by_ms=2 * MINUTE_MS)
    await line.says("STOP", "STOP")
    assert len(replies(house)) == 1
    await line.says("help")
    assert texts(house) == [STOPPED, HELPED]
    clock.move(by_ms=DAY_MS)
    await line.says("STOP")
    assert texts(house) == [STOPPED, HELPED, STOPPED]
    house.assert_sound()


@awaited
async def test_a_second_stop_leaves_what_confirms_the_first(line: Line) -> None:
    house = line.house
    await house.send(PHONE)
    await line.says("STOP")
    clock.move(by_ms=MINUTE_MS)
    await line.says("STOP")
    assert house.statuses() == ["failed/blocked", "queued"]
    assert texts(house)[1:] == [STOPPED]
    house.assert_sound()


@awaited
async def test_a_confirmation_promises_no_more_than_holds(line: Line) -> None:
    line.number_has(opt_out_scope="sender")
    await line.says("STOP")
    named = f"amina ({SHORT_CODE})"
    assert texts(line.house) == [STOPPED.replace("amina", named)]
    clock.move(by_ms=MINUTE_MS)
    await line.says("START")
    assert texts(line.house)[1:] == [BACK.replace("amina", named)], "another number may stay out"


@awaited
async def test_a_phone_is_answered_once_a_minute(line: Line) -> None:
    await line.says("HELP", "STOP", "INFO")
    clock.move(by_ms=MINUTE_MS // 2)
    await line.says("HELP")
    assert texts(line.house) == [STOPPED], "the confirmation goes before the others"
    assert line.out() == [("", "keyword")]
    clock.move(by_ms=MINUTE_MS // 2)
    await line.says("HELP")
    assert texts(line.house) == [STOPPED, HELPED]
    await line.says("HELP", sender="233201234568")
    assert len(texts(line.house)) == 3, "another phone is another's minute"


@awaited
async def test_a_confirmation_waits_for_no_other_reply(line: Line) -> None:
    await line.says("HELP")
    clock.move(by_ms=1)
    await line.says("STOP", "HELP")
    assert texts(line.house) == [HELPED, STOPPED]
    clock.move(by_ms=1)
    await line.says("HELP", "STOP")
    assert len(texts(line.house)) == 2


@awaited
async def test_start_is_answered_where_it_lifts_something(line: Line) -> None:
    await line.says("START")
    assert texts(line.house) == []
    await line.says("STOP")
    clock.move(by_ms=MINUTE_MS)
    await line.says("START")
    assert texts(line.house) == [STOPPED, BACK]


@awaited
async def test_a_language_is_answered_in_itself(line: Line) -> None:
    await line.says("PARAR")
    assert texts(line.house) == [
        "Deixa de receber SMS de amina. Responda START para voltar a receber."
    ]


@awaited
async def test_own_replies_do_not_go_to_who_has_opted_out_but_those_of_stop_and_help_do(
    line: Line,
) -> None:
    house = line.house
    own = {"OFFERS": "none", "JOIN": "opt_in", "ASK": "help", "BASTA": "opt_out"}
    with house.db.write() as tx:
        for word, action in own.items():
            body = {"keyword": word, "action": action, "reply": f"{word}."}
            save_keyword_for(tx, KeywordOwner(house.amina_id, False), body, None, clock.now_ms())
    said = ("OFFERS", "JOIN", "ASK", "BASTA")
    for word in said:
        await line.says(word)
        clock.move(by_ms=MINUTE_MS)
    assert texts(house) == [f"{word}." for word in said]
    with house.db.write() as tx:
        now_ms = clock.now_ms()
        suppress(tx, line.owner, [PHONE], source=OptOutSource.API, now_ms=now_ms)
    for word in said[:3]:
        await line.says(word)
        clock.move(by_ms=MINUTE_MS)
    assert texts(house)[4:] == ["ASK."]


@awaited
async def test_in_sandbox_an_opt_out_of_a_name_keeps_own_replies_of_that_name(line: Line) -> None:
    """Phones write to names there, in whatever case."""
    house, name, owner = line.house, "Shop", OptOutOwner(line.house.amina_id, sandbox=True)
    with house.db.write() as tx:
        body, now_ms = {"keyword": "OFFERS", "reply": "Rice!"}, clock.now_ms()
        save_keyword_for(tx, KeywordOwner(house.amina_id, True), body, None, now_ms)
        scope = scope_of_sender(name)
        suppress(tx, owner, [PHONE], source=OptOutSource.API, now_ms=now_ms, scope=scope)
    for number, to in enumerate((name, "SALES"), 1):
        text = replace(written("offers", number, to=to), sandbox_of=house.amina_id)
        await line.carries(text)
        clock.move(by_ms=MINUTE_MS)
    assert replies(house) == [("SALES", PHONE, "Rice!")]


@awaited
async def test_without_credits_the_opt_out_holds_and_nothing_is_sent(line: Line) -> None:
    house = line.house
    await house.send(PHONE)
    with house.db.write() as tx:
        from heliograph import wallet
        from heliograph.wallet import ledger

        held = wallet.wallet_of(tx, house.amina_id).sms_credits
        ledger.adjust_credits(tx, house.amina_id, -held, "spent", now_ms=clock.now_ms())
    await line.says("STOP", sender="233201234568")
    assert line.out("233201234568") == [("", "keyword")]
    assert len(replies(house)) == 1
    await line.says("STOP")
    assert line.out() == [("", "keyword")]
    assert len(replies(house)) == 2, "what was queued for the phone pays for the answer"
    with house.db.write() as tx:
        ledger.adjust_credits(tx, house.amina_id, 2, "bought", now_ms=clock.now_ms())
    await line.says("STOP", sender="233201234568")
    await line.says("STOP", sender="233201234568")
    await line.says("STOP")
    assert len(replies(house)) == 3, "each opt-out is confirmed once"
    house.assert_sound()


@awaited
async def test_nothing_answers_names_short_codes_our_own_numbers_and_nobody(line: Line) -> None:
    house = line.house
    with house.db.write() as tx:
        add_number(tx, "233555000111", "carrier", None, now_ms=clock.now_ms())
    for sender in ("NETFLIX", "4242", "233555000111"):
        await line.says("HELP", sender=sender)
    await line.says("HELP", to="233555000111")
    assert replies(house) == []


@pytest.mark.parametrize(
    ("number", "is_ours"),
    [
        ("0555000111", True),
        ("555000111", True),
        ("00233555000111", True),
        ("5000111", False),  # a short code may have seven digits
        ("0555000112", False),
    ],
)
@awaited
async def test_a_number_of_ours_is_known_as_a_carrier_writes_it_at_home(
    line: Line, number: str, is_ours: bool
) -> None:
    with line.house.db.write() as tx:
        add_number(tx, number, "carrier", None, now_ms=clock.now_ms())
    await line.says("HELP", sender="233555000111")
    assert len(replies(line.house)) == (not is_ours)


@awaited
async def test_a_suspended_account_heeds_and_does_not_answer(line: Line) -> None:
    with line.house.db.write() as tx:
        accounts.suspend(tx, line.house.amina_id)
    await line.says("STOP")
    assert (line.out(), replies(line.house)) == ([("", "keyword")], [])


@awaited
async def test_a_reply_stands_before_bulk_and_names_what_it_answers(line: Line) -> None:
    house = line.house
    await house.send(["233201234570", "233201234571"])
    await line.says("HELP")
    with house.db.read() as tx:
        ranks = list(tx.execute(sa.select(queue.c.rank_us).order_by(queue.c.send_id)).scalars())
    assert ranks[1] < ranks[0]
    link = house.turn(1)
    await link.turn.run_once()
    assert [each.recipient for each in link.submitted] == [PHONE]


@awaited
async def test_who_was_answered_is_forgotten_after_a_day(line: Line) -> None:
    await line.says("HELP")
    assert line.house.count(keyword_replies) == 1
    clock.move(by_ms=DAY_MS + MINUTE_MS)
    await prune_all(line.house.db)
    assert line.house.count(keyword_replies) == 0
