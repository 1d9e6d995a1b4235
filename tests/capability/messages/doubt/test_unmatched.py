"""The operator sees which receipts found no message, and why, and can say that one is a certain
message's.
"""

from typing import NamedTuple

import pytest
import sqlalchemy as sa

from heliograph.base import clock, ids
from heliograph.base.errors import InvalidRequest, NotFound
from heliograph.carriers import ReceiptState, SubmitOutcome
from heliograph.carriers.smpp import user_message_reference
from heliograph.messages.carrier import CarrierFacts
from heliograph.messages.doubt.decide import Decision
from heliograph.messages.doubt.match_receipt import match_to
from heliograph.messages.doubt.unmatched import candidates, find_unmatched, text_id, why_unmatched
from heliograph.messages.tables import (
    RECEIPTS_KEPT_MS,
    carrier_refs,
    inflight,
    operator_decisions,
    unmatched_receipts,
)
from tests.support.capability.doubtful import decided, in_doubt
from tests.support.capability.sending import House, ScriptedLink
from tests.support.factories import PHONE, SENDER, awaited, open_carrier, phones

THREE_SEGMENTS = "x" * 400
BY_ID = pytest.mark.parametrize("ref", ["aa1", None], ids=["with an id", "without an id"])
FORMATS = pytest.mark.parametrize("id_format", ["auto", "as_is"])


class Told(NamedTuple):
    id: str
    why: str
    may_be: list[int]  # places of messages, in the order of acceptance
    kept_s: int


def told(house: House) -> list[Told]:
    """Returns all of them, newest first."""
    places = {row.id: place for place, row in enumerate(house.messages())}
    with house.db.read() as tx:
        found = find_unmatched(tx, house.carrier_id, 100)
        return [
            Told(
                text_id(receipt, "carrier"),
                why_unmatched(receipt),
                [places[each] for each in may_be],
                (receipt.kept_until_ms - clock.now_ms()) // 1_000,
            )
            for receipt, may_be in zip(found, candidates(tx, found), strict=True)
        ]


async def match(
    house: House,
    receipt_id: str | None = None,
    place: int = 0,
    *,
    id_format: str = "as_is",
    as_one: bool = False,
) -> None:
    """Says that the newest receipt, unless another is named, is the message's at this place."""
    await match_to(
        house.db,
        CarrierFacts(house.carrier_id, "carrier", id_format=id_format),
        receipt_id or told(house)[0].id,
        house.messages()[place].id,
        "kofi",
        clock.now_ms(),
        as_one=as_one,
    )


async def received(
    link: ScriptedLink,
    ref: str | None,
    recipient: str | None = PHONE,
    state: ReceiptState | None = ReceiptState.DELIVRD,
    reference: int | None = None,
    sender: str = SENDER,
) -> None:
    link.receive(ref, recipient, state, reference=reference, sender=sender)
    await link.turn.run_once()


@awaited
async def test_each_tells_why_it_found_nothing_and_what_it_may_be(house: House) -> None:
    link = await in_doubt(house, *phones(2))
    await in_doubt_too(house, link, phones(1)[0])
    link.answer(link.submitted[1], ref="c0ffee", late=True)
    delivered, (one, two) = ReceiptState.DELIVRD, phones(2)
    for ref, recipient, state, sender in (
        ("aa1", one, delivered, SENDER),
        ("aa2", two, delivered, SENDER),
        (None, one, delivered, SENDER),
        ("aa4", PHONE, None, SENDER),
        ("c0ffee", one, delivered, SENDER),
        ("aa6", one, delivered, "OTHER"),
    ):
        clock.move(by_ms=1_000)
        await received(link, ref, recipient, state, sender=sender)
    there = told(house)
    assert [(each.why, each.may_be) for each in there] == [
        ("no message has its id", []),
        ("its id is of a message to another handset, or may be of two", [0, 2]),
        ("it cannot be read", []),
        ("it has no id", [0, 2]),
        ("no message has its id", []),
        ("no message has its id", [0, 2]),
    ]
    assert [each.id.partition("/")[0][:4] for each in there] == [
        "carr",
        "rcp_",
        "rcp_",
        "rcp_",
        "carr",
        "carr",
    ]
    assert [RECEIPTS_KEPT_MS // 1_000 - each.kept_s for each in there] == [
        pytest.approx(age_s, abs=2) for age_s in range(6)
    ]


async def in_doubt_too(house: House, link: ScriptedLink, to: str, text: str = "another") -> None:
    await house.send(to, text)
    await link.turn.run_once()
    link.answer(*link.open.values(), outcome=SubmitOutcome.UNANSWERED)
    await link.turn.run_once()


@awaited
@BY_ID
@FORMATS
@pytest.mark.parametrize("state", [ReceiptState.DELIVRD, ReceiptState.UNDELIV])
async def test_the_operator_settles_which_of_two_a_receipt_is_of(
    house: House, ref: str | None, id_format: str, state: ReceiptState
) -> None:
    link = await in_doubt(house)
    await in_doubt_too(house, link, PHONE)
    await received(link, ref, state=state)
    assert told(house)[0].may_be == [0, 1]
    await match(house, place=1, id_format=id_format)
    assert house.statuses() == [
        "queued",
        "delivered" if state is ReceiptState.DELIVRD else "failed/undeliverable",
    ]
    assert (told(house), house.count(inflight), house.credits()) == ([], 1, 998)
    with house.db.read() as tx:
        row = tx.execute(sa.select(operator_decisions)).one()
    assert (row.message_id, row.decision, row.decided_by) == (
        house.messages()[1].id,
        Decision.RECEIPT.value,
        "kofi",
    )
    assert row.reason.startswith("receipt ")
    assert row.reason.endswith(f" ({state.value})")
    with pytest.raises(NotFound, match="There is no unmatched receipt"):
        await match(house, "carrier/aa1", place=0)
    house.assert_sound()


@awaited
@BY_ID
@FORMATS
async def test_a_message_that_was_called_sent_is_ended_by_the_receipt_that_it_is_given(
    house: House, ref: str | None, id_format: str
) -> None:
    link = await in_doubt(house)
    await decided(house, Decision.SENT)
    await received(link, ref, state=ReceiptState.REJECTD)
    await match(house, id_format=id_format)
    assert (house.statuses(), told(house), house.credits()) == (["failed/rejected"], [], 999)
    house.assert_sound()


@awaited
async def test_receipts_end_the_parts_of_a_sent_message_one_after_the_other(house: House) -> None:
    link = await in_doubt(house, text=THREE_SEGMENTS)
    await decided(house, Decision.SENT)
    message = house.messages()[0].id
    for ref, reference, parts in (
        ("aa3", user_message_reference(message, 3), 0b100),
        ("aa1", None, 0b101),
        ("aa2", None, 0b111),
    ):
        await received(link, ref, reference=reference)
        await match(house, f"carrier/{ref}")
        assert house.messages()[0].parts_delivered == parts
    assert (house.statuses(), house.count(carrier_refs, carrier_refs.c.message_id.is_(None))) == (
        ["delivered"],
        0,
    )
    house.assert_sound()


@awaited
async def test_a_carrier_that_takes_a_message_as_one_says_of_all_of_it_what_became_of_it(
    house: House,
) -> None:
    link = await in_doubt(house, text=THREE_SEGMENTS)
    await decided(house, Decision.SENT)
    await received(link, "aa1")
    await match(house, as_one=True)
    assert house.statuses() == ["delivered"]


@awaited
async def test_a_receipt_that_names_a_part_settles_that_one(house: House) -> None:
    link = await in_doubt(house, text=THREE_SEGMENTS)
    await received(link, "aa1", reference=user_message_reference(link.submitted[1].message_id, 2))
    await match(house)
    assert house.messages()[0].parts_accepted == 0b010
    await received(link, "aa2")
    await match(house)
    assert house.messages()[0].parts_accepted == 0b011


@awaited
async def test_a_carrier_may_have_changed_the_sender_but_not_the_handset(house: House) -> None:
    link = await in_doubt(house)
    await received(link, "aa1", phones(1)[0])
    await refused(house, "The receipt carrier/aa1 names another handset than the message msg_")
    await received(link, "aa2", PHONE[3:], sender="1234")
    await match(house, "carrier/aa2")
    assert house.statuses() == ["delivered"]


async def refused(house: House, line: str, place: int = 0, receipt_id: str | None = None) -> None:
    before = (house.messages(), told(house))
    with pytest.raises(InvalidRequest) as failure:
        await match(house, receipt_id, place)
    assert line in str(failure.value)
    assert PHONE not in str(failure.value)
    assert (house.messages(), told(house), house.count(operator_decisions)) == (*before, 0)


@awaited
async def test_what_cannot_be_is_refused_in_a_line(house: House) -> None:
    link = await in_doubt(house)
    await received(link, "aa1", state=None)
    await refused(
        house, " cannot be read: ask the carrier what it says, and settle the message msg_"
    )
    await received(link, "aa2")
    clock.move(by_ms=10)
    await in_doubt_too(house, link, PHONE)
    await refused(house, "The receipt carrier/aa2 came before the message msg_", 1, "carrier/aa2")
    await house.send(PHONE, "third")
    await received(link, "aa3", state=ReceiptState.ENROUTE)
    await refused(house, " is not in doubt with carrier, nor sent: it is queued.", 2, "carrier/aa3")
    link.answer(*link.open.values())
    await link.turn.run_once()
    await refused(
        house, "says ENROUTE, which changes nothing of a message that is sent.", 2, "carrier/aa3"
    )
    with pytest.raises(NotFound):
        await match(house, ids.text_of_number("rcp", ids.new_number()))


@awaited
async def test_a_doubt_with_another_carrier_is_not_settled(house: House) -> None:
    await in_doubt(house)
    other = open_carrier(house.db, "second", prefix=None)
    link = house.turn(carrier_id=other)
    await received(link, "aa1")
    with pytest.raises(InvalidRequest, match="is not in doubt with second, nor sent: it is queued"):
        await match_to(
            house.db,
            CarrierFacts(other, "second"),
            "second/aa1",
            house.messages()[0].id,
            "kofi",
            clock.now_ms(),
            as_one=False,
        )
    assert house.count(unmatched_receipts) + house.count(carrier_refs) == 1


@awaited
async def test_a_receipt_of_a_carrier_that_has_nothing_of_a_sent_message_is_refused(
    house: House,
) -> None:
    """The answer, or the operator, may have told who took the message."""
    link = await in_doubt(house)
    await decided(house, Decision.SENT)
    await house.send(PHONE, "another")
    await link.turn.run_once()
    link.answer(*link.open.values())
    await link.turn.run_once()
    other = open_carrier(house.db, "second", prefix=None)
    await received(house.turn(carrier_id=other), "aa1")
    for place in (0, 1):
        with pytest.raises(
            InvalidRequest,
            match=(
                r"The receipt second/aa1 is of second, but the message msg_\w+ waits for one of"
                r" carrier\."
            ),
        ):
            await match_to(
                house.db,
                CarrierFacts(other, "second"),
                "second/aa1",
                house.messages()[place].id,
                "kofi",
                clock.now_ms(),
                as_one=False,
            )
    assert house.statuses() == ["sent", "sent"]
    await received(link, "aa2")
    await match(house, "carrier/aa2", 1)
    assert house.statuses() == ["sent", "delivered"]


@awaited
async def test_of_a_message_that_two_carriers_have_a_receipt_is_of_its_carriers_part(
    house: House,
) -> None:
    link = await in_doubt(house, text=THREE_SEGMENTS)
    await decided(house, Decision.SENT)
    other = open_carrier(house.db, "second", prefix=None)
    with house.db.write() as tx:  # as after a fail-over: the first part is the second carrier's
        tx.execute(sa.update(operator_decisions).values(parts=0b110))
        tx.execute(
            sa.insert(carrier_refs).values(
                carrier_id=other,
                ref="bb1",
                message_id=house.messages()[0].id,
                parts=1,
                created_at_ms=clock.now_ms(),
            )
        )
    await received(link, "aa1")
    await match(house, "carrier/aa1")
    assert house.messages()[0].parts_delivered == 0b010
