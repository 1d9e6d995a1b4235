"""Doubts and receipts come before it is known how the carrier prints its ids: what it has accepted
for the handset may be meant as well.
"""

from typing import Any, Final

import pytest

from heliograph.carriers import ReceiptState, SubmitOutcome
from heliograph.messages.tables import carrier_refs
from tests.support.capability.doubting import SHOP, THREE_SEGMENTS, approve, in_doubt, match
from tests.support.capability.sending import House, ScriptedLink
from tests.support.factories import PHONE, SENDER, awaited, open_account

AUTO: Final = "auto"
# what became of a message before, and whether the doubt is the only one then
BEFORE: dict[str, tuple[str, SubmitOutcome, ReceiptState | None, bool]] = {
    "a sent one": ("hello", SubmitOutcome.ACCEPTED, None, False),
    "a delivered one": ("hello", SubmitOutcome.ACCEPTED, ReceiptState.DELIVRD, True),
    "an undeliverable one": ("hello", SubmitOutcome.ACCEPTED, ReceiptState.UNDELIV, True),
    "one on its way": ("hello", SubmitOutcome.ACCEPTED, ReceiptState.ENROUTE, False),
    "a refused one": ("hello", SubmitOutcome.REFUSED, None, True),
    "one that was accepted in part": (THREE_SEGMENTS, SubmitOutcome.THROTTLED, None, False),
}


async def earlier(
    house: House,
    text: str,
    outcome: SubmitOutcome,
    state: ReceiptState | None,
    *,
    to: str = PHONE,
    **more: Any,
) -> ScriptedLink:
    """Submits a message to that handset. The carrier has answered the first part of it at least."""
    link = await house.submitted(to, text, **more)
    first, *others = link.submitted
    link.answer(first, outcome=SubmitOutcome.ACCEPTED if others else outcome, ref="100")
    link.answer(*others, outcome=outcome)
    if state is not None:
        link.receive("100", to, state)
    await link.turn.run_once()
    return link


@awaited
async def test_the_only_message_is_settled_before_it_is_known_how_ids_are_printed(
    house: House,
) -> None:
    link = await in_doubt(house)
    # no last word: its id would have to be kept for that
    link.receive("aa1", PHONE, ReceiptState.ENROUTE)
    await link.turn.run_once()
    assert await match(house, id_format=AUTO) == 0
    link.receive("aa1", PHONE)
    await link.turn.run_once()
    assert await match(house, id_format=AUTO) == 1
    assert (house.statuses(), house.count(carrier_refs, carrier_refs.c.message_id.is_(None))) == (
        ["delivered"],
        0,
    )
    await in_doubt(house, "another", link=link)
    link.receive("aa1", PHONE)  # once more
    await link.turn.run_once()
    assert await match(house, id_format=AUTO) == 0
    # nor does it prove how ids are printed
    assert (house.statuses(), link.turn.matched) == (["delivered", "queued"], 0)
    house.assert_sound()


@awaited
@pytest.mark.parametrize("before", BEFORE)
async def test_then_what_the_carrier_has_accepted_for_the_handset_may_be_meant_too(
    house: House, before: str
) -> None:
    text, outcome, state, is_only_one = BEFORE[before]
    link = await earlier(house, text, outcome, state)
    await in_doubt(house, "another", link=link)
    link.receive("aa1", PHONE)
    await link.turn.run_once()
    assert await match(house, id_format=AUTO) == is_only_one
    assert house.statuses()[-1] == ("delivered" if is_only_one else "queued")


@awaited
@pytest.mark.parametrize(
    ("to", "sender", "said", "settled"),
    [
        (PHONE, SHOP, SENDER, 1),
        (PHONE, SHOP, None, 0),
        ("233209999999", SENDER, None, 1),
        ("233209999999", SENDER, SENDER, 1),
    ],
)
async def test_then_only_those_are_meant_whose_handset_and_sender_agree(
    house: House, to: str, sender: str, said: str | None, settled: int
) -> None:
    approve(house, SHOP)
    link = await earlier(house, "hello", SubmitOutcome.ACCEPTED, None, to=to, sender=sender)
    await in_doubt(house, "another", link=link)
    link.receive("aa1", PHONE, sender=said)
    await link.turn.run_once()
    assert await match(house, id_format=AUTO) == settled


@awaited
@pytest.mark.parametrize("printed", ["256", "64"])
async def test_then_an_id_in_another_base_is_the_accepted_ones_also_of_another_account(
    house: House, printed: str
) -> None:
    chidi = open_account(house.db, credits=10)
    link = await earlier(house, "hello", SubmitOutcome.ACCEPTED, None, account_id=chidi)
    await in_doubt(house, "another", link=link)
    link.receive(printed, PHONE[3:])
    await link.turn.run_once()
    assert await match(house, id_format=AUTO) == 0
    link.receive("333", PHONE[3:])
    with house.db.write() as tx:
        tx.execute(carrier_refs.delete().where(carrier_refs.c.message_id.is_(None)))
    await link.turn.run_once()
    assert await match(house, id_format=AUTO) == 1


@awaited
async def test_then_a_part_of_its_own_that_was_accepted_may_be_meant_unless_no_id_would_tell(
    house: House,
) -> None:
    link = await house.submitted(text=THREE_SEGMENTS)
    link.answer(link.submitted[0], ref="100")
    link.answer(*link.submitted[1:], outcome=SubmitOutcome.UNANSWERED)
    link.receive("256", PHONE)
    await link.turn.run_once()
    assert await match(house, id_format=AUTO) == 0
    with house.db.write() as tx:
        tx.execute(carrier_refs.delete().where(carrier_refs.c.message_id.is_(None)))
    link.receive(None, PHONE)
    await link.turn.run_once()
    assert await match(house, id_format=AUTO) == 1
