"""Handsets of the SMSC write at a rate, each text until it is answered."""

import asyncio
from collections import Counter

import pytest

from heliograph.carriers.smpp import pdu
from heliograph.carriers.smsc import handsets, session
from tests.support.wire.raw_client import answer, serving, texts

TEMPORARY = 0x64
FAST = 1_000.0


@pytest.mark.parametrize("how", ["trx", "rx"])
async def test_they_write_to_whoever_receives_each_text_from_another_phone(how: str) -> None:
    async with serving(mo_rate=50, mo_to="4567", mo_text="Hello") as smsc:
        client = await smsc.bound(how)
        began_s = asyncio.get_running_loop().time()
        came = [message for _, message in await texts(client, 26)]
        took_s = asyncio.get_running_loop().time() - began_s
        assert len({message.source_addr for message in came}) == 26
        assert all(message.source_addr.startswith("23320") for message in came)
        assert {(m.destination_addr, m.short_message, m.esm_class) for m in came} == {
            ("4567", b"Hello", 0)
        }
        assert took_s >= 25 / 50 - 0.05  # the first one comes at once


async def test_nobody_writes_to_a_transmitter_or_to_nobody() -> None:
    async with serving(mo_rate=FAST) as smsc:
        client = await smsc.bound("tx")
        assert await client.quiet()
        assert smsc.smsc.journal.counts["text"] == 0


async def test_a_text_comes_again_after_a_temporary_error_and_not_after_others(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(handsets, "SENT_AGAIN_S", 0.1)
    async with serving(mo_rate=0.1) as smsc:
        client = await smsc.bound()
        [(first, message)] = await texts(client, 1)
        answer(client, first, TEMPORARY)
        [(again, the_same)] = await texts(client, 1)
        assert (the_same, smsc.smsc.texts_owed) == (message, 1)
        assert again.sequence != first.sequence
        answer(client, again, 0x08 + 0x01)
        assert await client.quiet(0.3)
        assert smsc.smsc.texts_owed == 0
        counts = smsc.smsc.journal.counts
        assert (counts["text_sent_back"], counts["text_refused"], counts["text"]) == (1, 1, 1)


async def test_what_a_lost_connection_left_unanswered_comes_on_another_one(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(session, "TEXTS_UNANSWERED_MAX", 5)
    async with serving(mo_rate=FAST) as smsc:
        first = await smsc.bound()
        left = await texts(first, 5)
        assert await first.quiet()  # no more than may be unanswered
        answer(first, left[0][0])
        await texts(first, 1)
        first.close()
        await first.until_closed()
        second = await smsc.bound("rx")
        again = await texts(second, 5)
        assert {m.source_addr for _, m in again} >= {m.source_addr for _, m in left[1:]}
        assert left[0][1].source_addr not in {m.source_addr for _, m in again}


async def test_past_so_many_that_wait_no_handset_writes(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(session, "TEXTS_UNANSWERED_MAX", 5)
    monkeypatch.setattr(handsets, "WAITING_MAX", 20)
    async with serving(mo_rate=FAST) as smsc:
        client = await smsc.bound()
        await texts(client, 5)
        assert await client.quiet()
        assert smsc.smsc.texts_owed == 25


@pytest.mark.parametrize(("character", "data_coding"), [("a", 0), ("ж", 8)])
async def test_a_long_text_comes_in_parts(character: str, data_coding: int) -> None:
    text = character * 200
    async with serving(mo_rate=0.1, mo_text=text) as smsc:
        client = await smsc.bound()
        total = 2 if data_coding == 0 else 3
        came = [message for _, message in await texts(client, total)]
        assert {(m.data_coding, m.esm_class) for m in came} == {(data_coding, pdu.ESM_UDH)}
        headers = [m.short_message[:6] for m in came]
        assert [(h[:3], h[4], h[5]) for h in headers] == [
            (b"\5\0\3", total, number) for number in range(1, total + 1)
        ]
        assert len({h[3] for h in headers}) == 1
        octets = b"".join(m.short_message[6:] for m in came)
        assert octets.decode("ascii" if data_coding == 0 else "utf-16-be") == text


async def test_receipts_and_texts_share_a_connection() -> None:
    async with serving(mo_rate=50) as smsc:
        client = await smsc.bound()
        ids = [(await client.submit())[1] for _ in range(20)]
        kinds: Counter[bool] = Counter()
        while kinds[True] < len(ids) or kinds[False] < 10:
            frame = await client.next(pdu.DELIVER_SM)
            kinds[bool(pdu.decode_sm(frame.body).esm_class & pdu.ESM_RECEIPT)] += 1
            answer(client, frame)
        assert (await client.ask(pdu.ENQUIRE_LINK)).status == 0
        assert smsc.smsc.journal.counts["acknowledged"] == len(ids)
        assert smsc.smsc.journal.counts["text_taken"] == kinds[False]
