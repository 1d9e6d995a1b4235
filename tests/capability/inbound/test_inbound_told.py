"""There is one event `message.received` for each text that is stored for an account, made in the
transaction that stores it.
"""

from contextlib import suppress

from msgspec.structs import replace

from heliograph.base import clock
from heliograph.carriers.smpp.handset_text import read_handset_text
from heliograph.inbound.receive.events import EVENT_TEXT_MAX
from heliograph.inbound.receive.overdue import store_all_overdue
from heliograph.inbound.receive.parts import WAITED_MS
from heliograph.inbound.receive.record import record
from tests.support.capability.inbox import Inbox, written
from tests.support.capability.webhooks import waiting
from tests.support.factories import awaited
from tests.support.wire.handset_texts import LONG, PHONE, long_text

PARTS = [read_handset_text(each, None) for each in long_text(LONG)]


@awaited
async def test_each_text_is_told_once_as_it_is_shown_whatever_comes_again(inbox: Inbox) -> None:
    await inbox.came(written("one", 1), written("one", 1), *PARTS[1:])
    await inbox.came(written("one", 1), *PARTS, written("two", 2), written("whose", 3, to="9999"))
    await inbox.came(*PARTS)
    told = inbox.told()
    assert sorted(each["text"] for each in told) == sorted(["one", "two", LONG])
    assert all(each == inbox.shown(each["id"]) for each in told)
    assert len(waiting(inbox.db)) == len(told)


@awaited
async def test_what_came_of_a_text_is_told_when_it_is_stored(inbox: Inbox) -> None:
    await inbox.came(*PARTS[1:])
    assert inbox.told() == []
    for _ in range(2):
        await store_all_overdue(inbox.db, {}, clock.now_ms() + WAITED_MS + 60_000)
    (told,) = inbox.told()
    assert (told["complete"], told["parts_received"]) == (False, told["parts"] - 1)
    assert LONG.endswith(told["text"])


@awaited
async def test_who_wrote_what_came_of_a_text_is_read_as_of_a_whole_one(inbox: Inbox) -> None:
    for part in PARTS[1:]:
        await inbox.came(replace(part, sender=PHONE[3:], is_national=True))
    await store_all_overdue(inbox.db, {}, clock.now_ms() + WAITED_MS + 60_000)
    assert [each["from"] for each in inbox.told()] == [PHONE]


@awaited
async def test_a_text_that_is_not_stored_is_not_told(inbox: Inbox) -> None:
    with suppress(ZeroDivisionError):
        async with inbox.db.hot() as tx:
            await record(tx, inbox.carrier_id, [written("one", 1)], clock.now_ms())
            raise ZeroDivisionError
    assert inbox.told() == []


@awaited
async def test_a_text_that_is_too_long_for_an_event_is_left_out_of_it(inbox: Inbox) -> None:
    # a quotation mark has two octets in JSON, and two more stand around the text
    just = ['"' * (EVENT_TEXT_MAX // 2 - 1), "a" * (EVENT_TEXT_MAX - 2)]
    await inbox.came(*(written(words, number) for number, words in enumerate(just)))
    await inbox.came(*(written(f"{words}b", 9 + number) for number, words in enumerate(just)))
    told = inbox.told()
    assert sorted(each["text"] or "" for each in told) == ["", "", *just]
    assert {inbox.shown(each["id"])["text"] for each in told} == {
        *just,
        *(f"{words}b" for words in just),
    }
