"""A message that was never answered is settled by the receipt that belongs to it: by its reference,
or as the only one that can be meant; never by guess.
"""

import pytest

from heliograph.base import clock
from heliograph.carriers import ReceiptState, SubmitOutcome
from heliograph.carriers.smpp import user_message_reference
from heliograph.messages.carrier import CarrierFacts
from heliograph.messages.carrier.match import learn_id_format
from heliograph.messages.doubt.decide import Decision, decide, read_decided_by
from heliograph.messages.states import RESEND_AFTER_MS
from heliograph.messages.sweeps import settle_doubts
from heliograph.messages.tables import carrier_refs, inflight, unmatched_receipts
from tests.support.capability.doubting import SHOP, THREE_SEGMENTS, approve, in_doubt, match
from tests.support.capability.sending import House, ScriptedLink
from tests.support.factories import PHONE, SENDER, awaited, phones

BY_ID = pytest.mark.parametrize("ref", ["aa1", None], ids=["with an id", "without an id"])


def reference(link: ScriptedLink, place: int) -> int:
    """Returns the reference of the k-th submission."""
    return user_message_reference(link.submitted[place].message_id, link.submitted[place].part)


# by reference


@awaited
@BY_ID
async def test_a_receipt_that_brings_our_reference_back_settles_that_message_of_several(
    house: House, ref: str | None
) -> None:
    link = await in_doubt(house, "one", "two", "three")
    link.receive(ref, PHONE, reference=reference(link, 1))
    await link.turn.run_once()
    assert await match(house) == 1
    assert house.statuses() == ["queued", "delivered", "queued"]
    assert (house.count(inflight), house.count(unmatched_receipts)) == (2, 0)
    house.assert_sound()


@awaited
@pytest.mark.parametrize(("recipient", "sender"), [("233209999999", SENDER), (PHONE, "OTHER")])
async def test_a_reference_is_believed_only_if_handset_and_sender_agree(
    house: House, recipient: str, sender: str
) -> None:
    link = await in_doubt(house)
    link.receive("aa1", recipient, reference=reference(link, 0), sender=sender)
    await link.turn.run_once()
    assert await match(house) == 0


@awaited
async def test_a_receipt_with_another_messages_reference_is_not_the_only_doubts(
    house: House,
) -> None:
    link = await in_doubt(house)
    link.receive("aa1", PHONE, reference=reference(link, 0) ^ 0x40)
    await link.turn.run_once()
    assert await match(house) == 0
    link.receive("aa2", PHONE, reference=0)  # none of ours: it says nothing
    await link.turn.run_once()
    assert await match(house) == 1


@awaited
async def test_a_reference_settles_a_doubt_before_it_is_known_how_ids_are_printed(
    house: House,
) -> None:
    link = await in_doubt(house, "one", "two")
    link.receive("7000000", PHONE, ReceiptState.ENROUTE, reference=reference(link, 0))
    link.receive("7000001", PHONE, ReceiptState.UNDELIV, reference=reference(link, 1))
    link.receive("7000002", PHONE)
    await link.turn.run_once()
    assert await match(house, id_format="auto") == 1
    assert house.statuses() == ["queued", "failed/undeliverable"]
    await house.send(phones(1))
    await link.turn.run_once()
    link.answer(*link.open.values(), ref=f"{7_000_003:x}")
    link.receive("7000003", phones(1)[0])
    await link.turn.run_once()
    assert await learn_id_format(house.db, link.turn.carrier, 0, link.turn.matched) == "dec"


# as the only one that can be meant


@awaited
@BY_ID
async def test_the_sender_tells_two_doubts_about_one_handset_apart(
    house: House, ref: str | None
) -> None:
    approve(house, SHOP)
    link = await in_doubt(house)
    await in_doubt(house, "another", link=link, sender=SHOP)
    link.receive(ref, PHONE[3:], sender=SHOP.lower())
    await link.turn.run_once()
    assert await match(house) == 1
    assert house.statuses() == ["queued", "delivered"]


@awaited
@BY_ID
@pytest.mark.parametrize(
    ("recipient", "sender"), [(PHONE, "OTHER"), ("233209999999", SENDER), (None, SENDER)]
)
async def test_a_receipt_for_another_sender_or_handset_settles_nothing(
    house: House, ref: str | None, recipient: str | None, sender: str
) -> None:
    link = await in_doubt(house)
    link.receive(ref, recipient, sender=sender)
    await link.turn.run_once()
    assert await match(house) == 0
    assert house.statuses() == ["queued"]


@awaited
@BY_ID
async def test_of_two_that_it_could_be_it_settles_none(house: House, ref: str | None) -> None:
    link = await in_doubt(house, "one", "two")
    for receipt in (ref, ref and "aa2"):
        link.receive(receipt, PHONE)
        await link.turn.run_once()
        assert await match(house) == 0
    link.answer(link.submitted[0], late=True)
    await link.turn.run_once()
    assert house.statuses() == ["sent", "queued"]
    # as many are unmatched as there were messages: which one is left, nobody can tell
    assert await match(house) == 0


@awaited
async def test_a_receipt_without_an_id_may_be_of_a_message_that_the_carrier_has_accepted(
    house: House,
) -> None:
    link = await house.submitted()
    link.answer(*link.open.values(), ref="aa1")
    await in_doubt(house, "another", link=link)
    link.receive(None, PHONE)
    await link.turn.run_once()
    assert await match(house) == 0
    link.receive("aa1", PHONE)
    await link.turn.run_once()
    assert await match(house) == 1
    assert house.statuses() == ["delivered", "delivered"]


# several parts


@awaited
@pytest.mark.parametrize("order", [[0, 1, 2], [2, 0, 1]])
@pytest.mark.parametrize("referring", [True, False])
async def test_each_receipt_settles_the_part_it_can_of_a_message_of_several(
    house: House, order: list[int], referring: bool
) -> None:
    link = await in_doubt(house, THREE_SEGMENTS)
    for left, place in zip((2, 1, 0), order, strict=True):
        link.receive(
            f"aa{place + 1}", PHONE, reference=reference(link, place) if referring else None
        )
        await link.turn.run_once()
        assert await match(house) == 1
        assert house.count(inflight) == left
    assert house.statuses() == ["delivered"]
    house.assert_sound()


@awaited
async def test_receipts_that_come_together_settle_all_parts_at_once(house: House) -> None:
    link = await in_doubt(house, THREE_SEGMENTS)
    for place, state in enumerate(
        [ReceiptState.DELIVRD, ReceiptState.UNDELIV, ReceiptState.DELIVRD]
    ):
        link.receive(f"aa{place + 1}", PHONE, state)
    await link.turn.run_once()
    assert await match(house) == 3
    assert (house.statuses(), house.credits()) == (["failed/undeliverable"], 997)
    house.assert_sound()


@awaited
async def test_more_receipts_than_there_were_submissions_settle_nothing(house: House) -> None:
    link = await in_doubt(house)
    for ref in ("aa1", "aa2"):
        link.receive(ref, PHONE)
    await link.turn.run_once()
    assert await match(house) == 0


@awaited
async def test_while_a_part_of_it_may_still_be_answered_nothing_is_guessed(house: House) -> None:
    link = await house.submitted(text=THREE_SEGMENTS)
    one, two, three = link.submitted
    link.answer(one, two, outcome=SubmitOutcome.UNANSWERED)
    link.receive("aa3", PHONE)
    await link.turn.run_once()
    assert await match(house) == 0
    link.answer(three, ref="aa3")
    await link.turn.run_once()
    assert house.messages()[0].parts_delivered == 0b100
    assert house.count(carrier_refs) == 1


@awaited
async def test_where_only_the_last_part_asks_for_a_receipt_it_is_the_last_parts(
    house: House,
) -> None:
    await house.send(PHONE, THREE_SEGMENTS)
    link = house.turn(receipts="last")
    await link.turn.run_once()
    one, two, three = link.submitted
    link.answer(one)
    link.answer(two, three, outcome=SubmitOutcome.UNANSWERED)
    link.receive("aa3", PHONE)
    await link.turn.run_once()
    assert await match(house, receipts="last") == 1
    assert (house.messages()[0].parts_accepted, house.messages()[0].parts_delivered) == (
        0b101,
        0b101,
    )
    link.answer(two, late=True)
    await link.turn.run_once()
    assert house.statuses() == ["delivered"]


# whose receipt may still come


@awaited
@BY_ID
@pytest.mark.parametrize(
    "before",
    ["sent once more", "ended as unknown", "settled by the operator", "failed by another part"],
)
async def test_a_receipt_may_be_of_an_earlier_message_of_which_the_carrier_never_named_an_id(
    house: House, ref: str | None, before: str
) -> None:
    """So it settles no other doubt about that handset and sender, but one about another handset."""
    if before == "failed by another part":
        link = await house.submitted(text=THREE_SEGMENTS)
        link.answer(link.submitted[0], outcome=SubmitOutcome.UNANSWERED)
        link.answer(*link.submitted[1:], outcome=SubmitOutcome.REFUSED)
        await link.turn.run_once()
        clock.move(by_ms=RESEND_AFTER_MS)
        await settle_doubts(house.db, house.carrier_id, clock.now_ms(), resend=True)
    else:
        link = await in_doubt(house, "one")
    earlier = link.submitted[0].message_id
    if before == "sent once more":
        clock.move(by_ms=RESEND_AFTER_MS)
        assert await settle_doubts(house.db, house.carrier_id, clock.now_ms(), resend=True) == 1
        await link.turn.run_once()
        link.answer(link.submitted[1], ref="2")
        link.receive("2", PHONE)
        await link.turn.run_once()
    elif before == "ended as unknown":
        clock.move(by_ms=49 * 3_600_000)
        await settle_doubts(house.db, house.carrier_id, clock.now_ms(), resend=True)
    elif before == "settled by the operator":
        await decide(
            house.db,
            {house.carrier_id: [(earlier, 1)]},
            {house.carrier_id: CarrierFacts(house.carrier_id, "carrier")},
            Decision.UNDELIVERABLE,
            read_decided_by("the operator", "because"),
            lambda decided: None,
        )
    was = house.statuses()[0]
    assert was in ("delivered", "failed/unknown", "failed/undeliverable", "failed/carrier_rejected")
    await in_doubt(house, "two", link=link)
    await in_doubt(house, "three", link=link, to=phones(1)[0])
    link.receive(ref, PHONE)
    link.receive(ref and "bb2", phones(1)[0])
    await link.turn.run_once()
    assert await match(house) == 1
    assert house.statuses() == [was, "queued", "delivered"]
    house.assert_sound()


@pytest.mark.judged_in_python
@awaited
@pytest.mark.parametrize("id_format", ["as_is", "dec", "hex", "auto"])
@pytest.mark.parametrize(
    "prints", [("{:x}", "{:d}"), ("{:d}", "{:x}"), ("{:x}", "{:x}"), ("{:d}", "{:d}")], ids=" ".join
)
async def test_an_id_that_is_an_accepted_messages_in_any_reading_settles_no_doubt(
    house: House, id_format: str, prints: tuple[str, str]
) -> None:
    """It may be known wrongly how a carrier prints ids: set so, or changed by the carrier."""
    number = 1_697_000_000_123
    link = house.turn(id_format=id_format)
    await house.send(PHONE, "one")
    await link.turn.run_once()
    link.answer(link.submitted[0], ref=prints[0].format(number))
    await link.turn.run_once()
    await in_doubt(house, "two", link=link)
    link.receive(prints[1].format(number), PHONE)
    await link.turn.run_once()
    assert await match(house, id_format=id_format) == 0
    assert house.statuses()[1] == "queued"
