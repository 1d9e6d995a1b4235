"""Carriers' ids are printed in many ways, used anew, and matched only when the handset agrees."""

import pytest

from heliograph.base import clock
from heliograph.carriers import ReceiptState
from heliograph.messages.carrier import CarrierFacts, match
from heliograph.messages.carrier.match import rematch as rematch_all
from heliograph.messages.carrier.refs import AS_IS
from heliograph.messages.tables import carrier_refs
from tests.support.capability.sending import House
from tests.support.capability.turning import learnt
from tests.support.factories import PHONE, awaited, phones

LONG_ID = 10_000  # an id from here on is no coincidence


async def rematch(house: House, id_format: str) -> int:
    return await rematch_all(
        house.db, CarrierFacts(house.carrier_id, "carrier", id_format=id_format), clock.now_ms()
    )


@awaited
async def test_an_id_that_the_carrier_uses_anew_belongs_to_the_new_message(house: House) -> None:
    link = await house.submitted(phones(1))
    link.answer(*link.open.values(), ref="1")
    link.receive("1", phones(1)[0])
    await link.turn.run_once()
    await house.send(PHONE)
    await link.turn.run_once()
    link.answer(*link.open.values(), ref="1")
    await link.turn.run_once()
    assert house.statuses() == ["delivered", "sent"]
    link.receive("1", phones(1)[0], ReceiptState.UNDELIV)  # the first one's, once more
    await link.turn.run_once()
    assert house.statuses() == ["delivered", "sent"]
    link.receive("1", PHONE)
    await link.turn.run_once()
    assert house.statuses() == ["delivered", "delivered"]


@pytest.mark.judged_in_python
@awaited
@pytest.mark.parametrize(
    ("answered", "printed", "id_format"),
    [
        ("0000001F4A", "1f4a", "auto"),
        ("1f4a", "0000001F4A", "auto"),
        ("AbC-17", "AbC-17", "auto"),
        ("0", "000", "auto"),
        ("1f4a", "8010", "dec"),
        ("0000001F4A", "0000008010", "dec"),
        ("8010", "1F4A", "hex"),
        ("8010", "00001f4a", "hex"),
        ("x-1", "x-1", "dec"),
    ],
)
async def test_an_id_is_the_same_however_it_is_printed(
    house: House, answered: str, printed: str, id_format: str
) -> None:
    await house.send()
    link = house.turn(id_format=id_format)
    await link.turn.run_once()
    link.answer(*link.open.values(), ref=answered)
    link.receive(printed, PHONE)
    await link.turn.run_once()
    assert house.statuses() == ["delivered"]


@awaited
async def test_decimal_100_is_not_hexadecimal_100(house: House) -> None:
    link = await house.submitted([PHONE, phones(1)[0]])
    link.answer(link.submitted[0], ref="64")
    link.answer(link.submitted[1], ref="100")
    # decimal for the first one's; as it is the second one's, whose handset is another
    link.receive("100", PHONE)
    await link.turn.run_once()
    assert house.statuses() == ["sent", "sent"]


@pytest.mark.judged_in_python
@awaited
@pytest.mark.parametrize(
    ("id_format", "answers", "prints"), [("dec", "{:08x}", "{:d}"), ("hex", "{:d}", "{:X}")]
)
@pytest.mark.parametrize(
    ("first_id", "enough"), [(100, 3), (LONG_ID - 1, 2), (LONG_ID, 1), (7_000_000, 1)]
)
async def test_how_a_carrier_prints_its_ids_is_learnt_from_evidence(
    house: House, id_format: str, answers: str, prints: str, first_id: int, enough: int
) -> None:
    link = await house.submitted(phones(5))
    for k, submission in enumerate(link.submitted):
        link.answer(submission, ref=answers.format(first_id + 11 * k))
    for k, submission in enumerate(link.submitted):
        assert await learnt(house, link) == (id_format if k >= enough else None)
        link.receive(prints.format(first_id + 11 * k), submission.recipient)
        await link.turn.run_once()
    assert house.statuses() == ["sent"] * 5
    assert await rematch(house, id_format) == 5
    assert house.statuses() == ["delivered"] * 5
    assert house.count(carrier_refs, carrier_refs.c.message_id.is_(None)) == 0


@awaited
async def test_nothing_is_learnt_from_receipts_of_other_handsets_or_where_ids_match_as_they_are(
    house: House,
) -> None:
    link = await house.submitted(phones(5))
    for k, submission in enumerate(link.submitted):
        link.answer(submission, ref=f"{7_000_000 + k:x}")
    for k in range(4):
        link.receive(str(7_000_000 + k), "233209999999")
    await link.turn.run_once()
    assert await learnt(house, link) is None
    assert await rematch(house, "dec") == 0
    assert house.statuses() == ["sent"] * 5
    link.receive(f"{7_000_004:x}", link.submitted[4].recipient)
    await link.turn.run_once()
    assert await learnt(house, link) == AS_IS
    for k, submission in enumerate(link.submitted[:4]):
        link.receive(str(7_000_000 + k), submission.recipient)
    await link.turn.run_once()
    assert await learnt(house, link) is None


@awaited
async def test_all_unmatched_receipts_are_read_anew_however_many_there_are(
    house: House, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(match, "UNMATCHED_AT_ONCE", 4)
    link = await house.submitted(phones(10))
    for k, submission in enumerate(link.submitted):
        link.answer(submission, ref=f"{7_000_000 + k:x}")
        link.receive(str(7_000_000 + k), submission.recipient)
        if k % 3 == 0:
            await link.turn.run_once()
        link.receive(str(8_000_000 + k), submission.recipient)  # finds nothing, and hides nothing
    await link.turn.run_once()
    assert await rematch(house, "dec") == 10
    assert house.statuses() == ["delivered"] * 10


@awaited
async def test_ids_of_one_digit_prove_no_base(house: House) -> None:
    link = await house.submitted(phones(12))
    for k, submission in enumerate(link.submitted, 1):
        link.answer(submission, ref=f"{k:x}")
    for k, submission in enumerate(link.submitted, 1):
        link.receive(str(k), submission.recipient)
    await link.turn.run_once()
    assert house.statuses() == ["delivered"] * 9 + ["sent"] * 3
    assert link.turn.matched == 0
    assert await learnt(house, link) == "dec"


@awaited
@pytest.mark.parametrize(
    ("ref", "status"),
    [
        ("256", "sent"),  # the second message may have been given 100, which is decimal 256
        ("5", "delivered"),  # the same in every base
        ("7000000", "delivered"),  # so large that it is no coincidence
    ],
)
@pytest.mark.parametrize("recipient", [PHONE, PHONE.removeprefix("233")])
async def test_a_receipt_waits_while_its_small_id_may_be_that_of_an_unanswered_message(
    house: House, ref: str, status: str, recipient: str
) -> None:
    link = await house.submitted([PHONE])
    link.answer(*link.open.values(), ref=ref)
    await house.send(PHONE)
    await link.turn.run_once()
    link.receive(ref, recipient)
    await link.turn.run_once()
    assert house.statuses() == [status, "queued"]
