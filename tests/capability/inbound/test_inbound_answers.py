"""A text answers the newest message that its account sent from that number to that phone."""

import sqlalchemy as sa
from msgspec.structs import replace

from heliograph.base import clock, ids
from heliograph.base.clock import DAY_MS
from heliograph.base.paging import PageWanted
from heliograph.inbound import as_inbound_record, inbound_page
from heliograph.inbound.receive.route import ANSWERS_WITHIN_MS
from heliograph.jobs.retention import retain
from heliograph.messages.read.message import INBOUND_PREFIX, message_of
from heliograph.messages.read.replies import REPLIES_MAX, answers_of
from heliograph.messages.retention import read_retention
from heliograph.messages.tables import answering_sends, message_replies
from tests.support.capability.inbox import Inbox, written
from tests.support.capability.sent_messages import store_sent
from tests.support.factories import awaited, open_account
from tests.support.wire.handset_texts import PHONE, SHORT_CODE

OTHER_PHONE = "233201234568"


def replies(inbox: Inbox, message_id: str) -> list[str]:
    with inbox.db.read() as tx:
        message = message_of(tx, inbox.amina_id, message_id, sandbox=False)
        found: list[str] = answers_of(tx, message)["replies"]
        return found


@awaited
async def test_a_text_answers_the_newest_message_to_its_phone_from_its_number(
    inbox: Inbox,
) -> None:
    now_ms = clock.now_ms()
    chidi = open_account(inbox.db, "chidi")
    with inbox.db.write() as tx:
        older = store_sent(tx, inbox.amina_id, SHORT_CODE, PHONE, at_ms=now_ms)
        newest = store_sent(tx, inbox.amina_id, SHORT_CODE, PHONE, at_ms=now_ms + 1)
        # none of these is answered
        store_sent(tx, inbox.amina_id, "AMINA", PHONE, at_ms=now_ms + 2)
        store_sent(tx, inbox.amina_id, SHORT_CODE, OTHER_PHONE, at_ms=now_ms + 2)
        store_sent(tx, chidi, SHORT_CODE, PHONE, at_ms=now_ms + 2)
        store_sent(tx, inbox.amina_id, SHORT_CODE, PHONE, at_ms=now_ms + 2, sandbox=True)
    for number, (sender, later_ms) in enumerate(
        [
            (PHONE, 3),
            (PHONE, ANSWERS_WITHIN_MS),
            (PHONE, ANSWERS_WITHIN_MS + 2),
            ("AMINA", 3),
            ("0201234567", 3),
            ("9" * 40, 3),
        ]
    ):
        await inbox.came(written(f"text {number}", number, sender=sender), at_ms=now_ms + later_ms)
    told = inbox.told()
    assert {each["text"]: (each["from"], each["in_reply_to"]) for each in told} == {
        "text 0": (PHONE, newest),
        "text 1": (PHONE, newest),
        "text 2": (PHONE, None),
        "text 3": ("AMINA", None),
        "text 4": (PHONE, newest),  # as it is dialled in Amina's country
        "text 5": ("9" * 40, None),
    }
    assert all(each == inbox.shown(each["id"]) for each in told)
    answering = [each["id"] for each in told if each["in_reply_to"] is not None]
    assert (replies(inbox, newest), replies(inbox, older)) == (sorted(answering), [])


@awaited
async def test_a_phone_of_a_sandbox_answers_what_its_sandbox_sent_from_that_sender(
    inbox: Inbox,
) -> None:
    chidi = open_account(inbox.db, "chidi")
    now_ms = clock.now_ms()
    with inbox.db.write() as tx:
        tried = store_sent(tx, inbox.amina_id, "AMINA", PHONE, at_ms=now_ms, sandbox=True)
        # none of these is answered
        store_sent(tx, inbox.amina_id, "AMINA", PHONE, at_ms=now_ms + 1)
        store_sent(tx, inbox.amina_id, "OTHER", PHONE, at_ms=now_ms + 1, sandbox=True)
        of_chidi = store_sent(tx, chidi, "AMINA", PHONE, at_ms=now_ms + 1, sandbox=True)
    await inbox.came(
        *(
            replace(written("hello", number, to="AMINA"), sandbox_of=account_id)
            for number, account_id in enumerate((inbox.amina_id, chidi))
        ),
        at_ms=now_ms + 2,
    )
    with inbox.db.read() as tx:
        texts = {
            account_id: inbound_page(tx, account_id, PageWanted(10, None), sandbox=True)
            for account_id in (inbox.amina_id, chidi)
        }
        message = message_of(tx, inbox.amina_id, tried, sandbox=True)
        named = answers_of(tx, message)["replies"]
    answered = {
        account_id: [as_inbound_record(each)["in_reply_to"] for each in found]
        for account_id, found in texts.items()
    }
    assert answered == {inbox.amina_id: [tried], chidi: [of_chidi]}
    assert named == [as_inbound_record(each)["id"] for each in texts[inbox.amina_id]]


@awaited
async def test_a_message_names_the_newest_of_many_replies_for_as_long_as_it_is_kept(
    inbox: Inbox,
) -> None:
    now_ms = clock.now_ms()
    with inbox.db.write() as tx:
        message_id = store_sent(tx, inbox.amina_id, SHORT_CODE, PHONE, at_ms=now_ms)
    await inbox.came(*(written(f"text {number}", number) for number in range(REPLIES_MAX + 3)))
    stored = [each["id"] for each in inbox.told()]
    assert replies(inbox, message_id) == sorted(stored)[-REPLIES_MAX:]
    with inbox.db.write() as tx:
        answering = {"send_id": _raw(stored[0]), "inbound_id": _raw(stored[1])}
        tx.execute(answering_sends.insert().values(answering))
    for days, left in ((0, True), (3, False)):
        clock.move(days * DAY_MS)
        await retain(inbox.db, read_retention(1, 2))
        with inbox.db.read() as tx:
            kept = {
                table.name: tx.execute(sa.select(sa.func.count()).select_from(table)).scalar_one()
                for table in (message_replies, answering_sends)
            }
        assert kept == (
            {"message_replies": REPLIES_MAX + 3, "answering_sends": 1}
            if left
            else {"message_replies": 0, "answering_sends": 0}
        )


def _raw(text_id: str) -> str:
    raw = ids.raw_of_text(INBOUND_PREFIX, text_id)
    assert raw is not None
    return raw
