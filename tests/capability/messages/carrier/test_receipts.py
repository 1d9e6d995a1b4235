"""Every delivery receipt finds its message, whenever and however often it comes; terminal states
stick.
"""

import pytest
import sqlalchemy as sa

from heliograph.base.errors import Unavailable
from heliograph.carriers import ReceiptState, SubmitOutcome
from heliograph.carriers.smpp import pdu
from heliograph.carriers.smpp.receipt import read_receipt
from heliograph.messages.states import FAILED_BY_RECEIPT
from heliograph.messages.tables import carrier_refs, messages, unmatched_receipts
from tests.support.capability.sending import House
from tests.support.factories import PHONE, awaited, phones

THREE_SEGMENTS = "x" * 400
FINAL = [ReceiptState.DELIVRD, *FAILED_BY_RECEIPT]
MEANING = {ReceiptState.DELIVRD: "delivered"} | {
    state: f"failed/{code}" for state, code in FAILED_BY_RECEIPT.items()
}


@awaited
@pytest.mark.parametrize("state", FINAL)
async def test_a_final_receipt_ends_the_message_and_nothing_after_it_counts(
    house: House, state: ReceiptState
) -> None:
    link = await house.submitted()
    (ref,) = link.answer(*link.open.values())
    for early in (ReceiptState.ENROUTE, ReceiptState.ACCEPTD):
        link.receive(ref, PHONE, early)
        await link.turn.run_once()
        assert house.statuses() == ["sent"]
    link.receive(ref, PHONE, state)
    await link.turn.run_once()
    first = house.messages()
    for other in ReceiptState:
        link.receive(ref, PHONE, other)
        await link.turn.run_once()
    assert house.statuses() == [MEANING[state]]
    assert house.messages() == first
    assert house.credits() == 999  # a carrier took it: paid
    house.assert_sound()


@awaited
@pytest.mark.parametrize("state", FINAL)
async def test_a_receipt_that_comes_before_the_answer_is_not_lost(
    house: House, state: ReceiptState
) -> None:
    link = await house.submitted()
    link.receive("aa1", PHONE, state)
    await link.turn.run_once()
    assert (house.statuses(), len(link.acknowledged)) == (["queued"], 1)
    link.answer(*link.open.values(), ref="aa1")
    await link.turn.run_once()
    assert house.statuses() == [MEANING[state]]


@awaited
async def test_receipt_and_answer_may_come_in_one_turn_in_any_order(house: House) -> None:
    link = await house.submitted(phones(2))
    one, two = link.submitted
    link.receive("aa1", one.recipient)
    link.answer(one, ref="aa1")
    link.answer(two, ref="aa2")
    link.receive("aa2", two.recipient)
    await link.turn.run_once()
    assert house.statuses() == ["delivered"] * 2


@awaited
async def test_one_receipt_a_thousand_times_is_one_change(house: House) -> None:
    link = await house.submitted(phones(2))
    ref, _ = link.answer(*link.open.values())
    for _ in range(3):
        for _ in range(333):
            link.receive(ref, phones(1)[0])
        await link.turn.run_once()
    link.receive(ref, phones(1)[0])
    await link.turn.run_once()
    assert house.statuses() == ["delivered", "sent"]
    assert len(link.acknowledged) == 1_000
    assert house.count(carrier_refs) == 2


@awaited
async def test_a_message_is_delivered_when_all_its_parts_are(house: House) -> None:
    link = await house.submitted(text=THREE_SEGMENTS)
    refs = link.answer(*link.open.values())
    for ref in reversed(refs):
        assert house.statuses() != ["delivered"]
        link.receive(ref, PHONE)
        await link.turn.run_once()
    assert house.statuses() == ["delivered"]


@awaited
async def test_one_undelivered_part_fails_the_message_and_is_paid_for(house: House) -> None:
    link = await house.submitted(text=THREE_SEGMENTS)
    refs = link.answer(*link.open.values())
    for ref, state in zip(
        refs, (ReceiptState.DELIVRD, ReceiptState.UNDELIV, ReceiptState.DELIVRD), strict=True
    ):
        link.receive(ref, PHONE, state, error="001")
        await link.turn.run_once()
    assert house.statuses() == ["failed/undeliverable"]
    assert house.credits() == 997


@awaited
async def test_a_failed_part_ends_the_message_though_the_others_are_still_on_their_way(
    house: House,
) -> None:
    link = await house.submitted(text=THREE_SEGMENTS)
    one, two, three = link.submitted
    (ref,) = link.answer(one)
    link.receive(ref, PHONE, ReceiptState.UNDELIV)
    await link.turn.run_once()
    assert (house.statuses(), house.credits()) == (["failed/undeliverable"], 997)
    link.answer(two, three, outcome=SubmitOutcome.THROTTLED)
    await link.turn.run_once()
    await link.turn.run_once()
    assert (len(link.submitted), house.credits()) == (3, 999)
    house.assert_sound()


@awaited
async def test_with_receipts_for_the_last_part_that_one_decides(house: House) -> None:
    await house.send([PHONE, phones(1)[0]], THREE_SEGMENTS)
    link = house.turn(receipts="last")
    await link.turn.run_once()
    refs = link.answer(*link.open.values())
    await link.turn.run_once()
    assert house.statuses() == ["sent"] * 2
    link.receive(refs[2], PHONE)
    link.receive(refs[5], phones(1)[0], ReceiptState.UNDELIV)
    await link.turn.run_once()
    assert house.statuses() == ["delivered", "failed/undeliverable"]


@awaited
async def test_a_message_whose_receipts_never_come_stays_sent(house: House) -> None:
    await house.send(PHONE, THREE_SEGMENTS)
    link = house.turn(receipts="none")
    await link.turn.run_once()
    link.answer(*link.open.values())
    await link.turn.run_once()
    assert house.statuses() == ["sent"]


@awaited
async def test_a_receipt_that_cannot_be_read_is_kept_and_acknowledged(house: House) -> None:
    link = await house.submitted(phones(2))
    refs = link.answer(*link.open.values())
    link.receive(refs[0], phones(1)[0])
    link.receive(None, PHONE, raw=b"DLR \xff\x00 ok")
    link.receive(refs[0], PHONE, None, raw=b"id:a stat:?")
    link.receive("a\0b", PHONE, error="x\0y")
    link.receive("7" * 500, PHONE, error="1" * 32)
    link.receive(refs[1], phones(2)[1])
    await link.turn.run_once()
    assert house.statuses() == ["delivered"] * 2
    assert len(link.acknowledged) == 6
    with house.db.read() as tx:
        kept = [
            bytes(raw)
            for raw in tx.execute(
                sa.select(unmatched_receipts.c.raw).order_by(unmatched_receipts.c.id)
            ).scalars()
        ]
    assert b"DLR \xff\x00 ok" in kept
    assert b"id:a stat:?" in kept


@pytest.mark.judged_in_python
@awaited
@pytest.mark.parametrize(
    "fields",
    [
        "id: sub:001 stat:DELIVRD err:000 text:",
        "id:1 stat:GONE err:000 Text :",
        "stat:DELIVRD err:000 msg:",
        "",
    ],
)
@pytest.mark.parametrize(
    ("charset", "coding"), [("latin-1", 0), ("utf-16-be", 8), ("utf-16-be", 0)]
)
async def test_what_a_receipt_quotes_of_the_message_is_not_stored(
    house: House, fields: str, charset: str, coding: int
) -> None:
    link = await house.submitted()
    link.answer(*link.open.values())
    octets = f"{fields}328253 is your code".encode(charset)
    for esm_class, payload in ((0x04, {}), (0x44, {pdu.MESSAGE_PAYLOAD: octets})):
        message = pdu.ShortMessage(
            PHONE, "AMINA", b"" if payload else octets, esm_class, coding, tlvs=payload
        )
        link.turn.on_receipts([read_receipt(message, object())])
    await link.turn.run_once()
    assert (house.count(unmatched_receipts), len(link.acknowledged)) == (2, 2)
    with house.db.read() as tx:
        stored = repr(
            [
                tx.execute(sa.select(table)).all()
                for table in (unmatched_receipts, carrier_refs, messages)
            ]
        ).replace("\\x00", "")
    assert "328253" not in stored
    assert "left out)" in stored


@awaited
async def test_a_receipt_is_acknowledged_only_when_it_is_stored(house: House) -> None:
    link = await house.submitted()
    (ref,) = link.answer(*link.open.values())
    receipt = link.receive(ref, PHONE)
    house.db.fates = ["lost", "reply lost"]
    for _ in range(2):
        with pytest.raises(Unavailable):
            await link.turn.run_once()
        assert link.acknowledged == []
    await link.turn.run_once()
    assert link.acknowledged == [receipt]
    assert house.statuses() == ["delivered"]


@awaited
async def test_a_receipt_for_another_handset_is_none_of_the_messages(house: House) -> None:
    link = await house.submitted()
    (ref,) = link.answer(*link.open.values())
    link.receive(ref, "233209999999", ReceiptState.UNDELIV)
    await link.turn.run_once()
    assert house.statuses() == ["sent"]
    link.receive(ref, PHONE)
    await link.turn.run_once()
    assert house.statuses() == ["delivered"]


@awaited
@pytest.mark.parametrize("printed", [PHONE[3:], f"+{PHONE}", None, PHONE])
async def test_a_carrier_may_print_the_handset_without_its_country_code_or_not_at_all(
    house: House, printed: str | None
) -> None:
    link = await house.submitted()
    (ref,) = link.answer(*link.open.values())
    link.receive(ref, printed)
    await link.turn.run_once()
    assert house.statuses() == ["delivered"]
