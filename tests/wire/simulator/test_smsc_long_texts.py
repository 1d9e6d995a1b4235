"""Handsets of the SMSC write long texts, which come in several forms, each with its chaos."""

from pathlib import Path
from typing import NamedTuple

import pytest

from heliograph.carriers.smpp import pdu
from tests.support.wire.raw_client import RawClient, answer, serving, texts

SLOW = 0.1  # texts a second: one comes at once, and no other in the time of a test
FAST = 1_000.0
GSM = "a" * 151 + "{}" * 20 + "a" * 150
CYRILLIC = "ж" * 101 + "😀" * 30
TWO_PARTS = "b" * 200
FIVE_PARTS = "c" * 700


class Part(NamedTuple):
    sender: str
    reference: int
    total: int
    number: int


async def parts(client: RawClient, count: int) -> list[Part]:
    """Returns so many parts as their headers describe them, each of which is answered."""
    found = []
    for frame, message in await texts(client, count):
        answer(client, frame)
        assert (message.esm_class, message.short_message[:3]) == (pdu.ESM_UDH, b"\5\0\3")
        found.append(Part(message.source_addr, *message.short_message[3:6]))
    return found


def septets(text: str) -> bytes:
    return text.encode("ascii").replace(b"{", b"\x1b\x28").replace(b"}", b"\x1b\x29")


@pytest.mark.parametrize(("text", "sizes"), [(GSM, [151, 152, 78]), (CYRILLIC, [132, 130, 60])])
async def test_a_reference_of_16_bits_takes_an_octet_of_each_part(
    text: str, sizes: list[int]
) -> None:
    async with serving(mo_rate=SLOW, mo_text=text, mo_long="udh16") as smsc:
        client = await smsc.bound()
        came = [message.short_message for _, message in await texts(client, 3)]
        assert [(part[:3], *part[5:7]) for part in came] == [
            (b"\6\x08\4", 3, number) for number in (1, 2, 3)
        ]
        assert len({part[3:5] for part in came}) == 1
        assert [len(part[7:]) for part in came] == sizes
        octets = b"".join(part[7:] for part in came)
        assert octets == (septets(text) if text == GSM else text.encode("utf-16-be"))


async def test_parts_may_be_told_by_sar_parameters() -> None:
    async with serving(mo_rate=SLOW, mo_text=TWO_PARTS, mo_long="sar") as smsc:
        client = await smsc.bound()
        came = [message for _, message in await texts(client, 2)]
        assert {message.esm_class for message in came} == {0}
        assert [message.short_message for message in came] == [b"b" * 153, b"b" * 47]
        assert [
            (message.tlvs[pdu.SAR_TOTAL_SEGMENTS], message.tlvs[pdu.SAR_SEGMENT_SEQNUM])
            for message in came
        ] == [(b"\2", b"\1"), (b"\2", b"\2")]
        [reference] = {message.tlvs[pdu.SAR_MSG_REF_NUM] for message in came}
        assert len(reference) == 2


@pytest.mark.parametrize("text", [GSM, "short"])
async def test_a_text_may_come_whole_in_a_payload(text: str) -> None:
    async with serving(mo_rate=SLOW, mo_text=text, mo_long="payload") as smsc:
        client = await smsc.bound()
        [(_, message)] = await texts(client, 1)
        assert (message.esm_class, message.short_message) == (0, b"")
        assert message.tlvs == {pdu.MESSAGE_PAYLOAD: septets(text)}


async def test_a_text_may_come_in_data_sm_whose_answer_ends_it(tmp_path: Path) -> None:
    async with serving(
        mo_rate=SLOW, mo_text=CYRILLIC, mo_long="data_sm", log=tmp_path / "log"
    ) as smsc:
        client = await smsc.bound()
        frame = await client.next(pdu.DATA_SM)
        message = pdu.decode_data_sm(frame.body)
        assert (message.destination_addr, message.data_coding) == ("4567", 8)
        assert message.tlvs == {pdu.MESSAGE_PAYLOAD: CYRILLIC.encode("utf-16-be")}
        assert smsc.smsc.texts_owed == 1
        answer(client, frame)
        assert (await client.ask(pdu.ENQUIRE_LINK)).status == 0
        assert (smsc.smsc.texts_owed, smsc.smsc.journal.counts["text_taken"]) == (0, 1)
        [told] = smsc.events("text_answered")
        assert (told["sender"], told["part"], told["parts"]) == (message.source_addr, 1, 1)


async def test_parts_come_in_another_order() -> None:
    async with serving("mo-shuffle=1", mo_rate=FAST, mo_text=FIVE_PARTS) as smsc:
        client = await smsc.bound()
        orders = set()
        for _ in range(20):
            came = await parts(client, 5)
            assert len({(part.sender, part.reference) for part in came}) == 1
            order = tuple(part.number for part in came)
            assert sorted(order) == [1, 2, 3, 4, 5] != list(order)
            orders.add(order)
        assert len(orders) > 10


async def test_two_parts_change_places() -> None:
    async with serving("mo-shuffle=1", mo_rate=FAST, mo_text=TWO_PARTS) as smsc:
        client = await smsc.bound()
        assert [part.number for part in await parts(client, 20)] == [2, 1] * 10


async def test_a_part_that_is_lost_never_comes_and_the_log_says_so(tmp_path: Path) -> None:
    async with serving(
        script="every 5 parts: mo-lose\nafter 6 parts: mo-lose for 2",
        mo_rate=100,
        mo_text=FIVE_PARTS,
        log=tmp_path / "log",
    ) as smsc:
        client = await smsc.bound()
        came = await parts(client, 4 + 2 + 4)
        assert [part.number for part in came] == [1, 2, 3, 4, 1, 4, 1, 2, 3, 4]
        lost = [(each["sender"], each["part"], each["parts"]) for each in smsc.events("text_lost")]
        phones = [came[at].sender for at in (0, 4, 6)]
        assert lost[:4] == [
            (phones[0], 5, 5),
            (phones[1], 2, 5),
            (phones[1], 3, 5),
            (phones[1], 5, 5),
        ]
        assert smsc.smsc.journal.counts["text_lost"] >= 5


async def test_a_short_text_that_is_lost_never_comes() -> None:
    async with serving(script="after 0 parts: mo-lose for 3", mo_rate=FAST) as smsc:
        client = await smsc.bound()
        [(frame, _)] = await texts(client, 1)
        counts = smsc.smsc.journal.counts
        assert counts["text_lost"] == 3
        answer(client, frame)
        assert (await client.ask(pdu.ENQUIRE_LINK)).status == 0
        assert counts["text"] - 3 == smsc.smsc.texts_owed + counts["text_taken"]


async def test_a_part_comes_as_often_as_chaos_says() -> None:
    async with serving(
        script="after 1 part: mo-repeat:3\nafter 2 parts: mo-repeat",
        mo_rate=SLOW,
        mo_text=FIVE_PARTS,
    ) as smsc:
        client = await smsc.bound()
        assert [part.number for part in await parts(client, 8)] == [1, 2, 2, 2, 3, 3, 4, 5]
        assert await client.quiet()
        counts = smsc.smsc.journal.counts
        assert (counts["text"], counts["text_repeated"], counts["text_taken"]) == (1, 3, 8)
        assert smsc.smsc.texts_owed == 0


async def test_phones_write_at_once_with_one_reference_and_their_parts_take_turns() -> None:
    async with serving(
        script="after 0 texts: mo-interleave:3", mo_rate=2, mo_text=TWO_PARTS
    ) as smsc:
        client = await smsc.bound()
        came = await parts(client, 6)
        assert [part.number for part in came] == [1, 1, 1, 2, 2, 2]
        phones = [part.sender for part in came]
        assert phones[:3] == phones[3:]
        assert len(set(phones)) == 3
        assert len({part.reference for part in came}) == 1
        # the rate is kept: the next one writes when three would have, after 1.5 s
        assert await client.quiet(0.8)
        assert {part.number for part in await parts(client, 2)} == {1, 2}


async def test_several_faults_happen_to_the_same_texts() -> None:
    script = """
        after 0 texts: mo-interleave
        after 0 texts: mo-shuffle for 2
        after 0 parts: mo-repeat, mo-lose
        after 2 parts: mo-lose
    """
    async with serving(script=script, mo_rate=SLOW, mo_text=TWO_PARTS) as smsc:
        client = await smsc.bound()
        came = await parts(client, 4)
        one, other = came[0].sender, came[1].sender
        assert [part.sender for part in came] == [one, other, one, one]
        of_one = [part.number for part in came if part.sender == one]
        assert sorted(of_one) == [1, 1, 2] != of_one
        assert came[1].number == 2
        assert smsc.smsc.texts_owed == 4


async def test_the_same_seed_makes_the_same_chaos_whatever_a_client_submits() -> None:
    chaos = "mo-shuffle=0.5,mo-lose=0.2,mo-repeat=0.2,throttle=0.5"

    async def orders(submits: int) -> list[int]:
        async with serving(chaos, seed=3, mo_rate=FAST, mo_text=FIVE_PARTS) as smsc:
            sender = await smsc.bound("tx")
            for _ in range(submits):
                await sender.submit(registered_delivery=0)
            receiver = await smsc.bound("rx")
            return [part.number for part in await parts(receiver, 60)]

    first = await orders(0)
    assert await orders(7) == first
    assert first != [1, 2, 3, 4, 5] * 12
