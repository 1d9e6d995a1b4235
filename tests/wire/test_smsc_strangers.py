"""Who connects to the SMSC and means no session costs it a place for a short time, and costs others nothing."""

import asyncio
from pathlib import Path

import pytest

from heliograph.base import files
from heliograph.carriers.smpp import pdu
from heliograph.carriers.smsc import SmscSettings, guests
from tests.wire.raw_client import RawClient, serving, submission

HALF = pdu.encode_pdu(pdu.SUBMIT_SM, 0, 7, submission())[:40]


def test_a_connection_has_ten_seconds_to_bind() -> None:
    assert SmscSettings().bind_within_s == 10.0


@pytest.mark.parametrize("said", [b"", HALF, pdu.encode_pdu(pdu.ENQUIRE_LINK, 0, 1), pdu.encode_pdu(pdu.BIND_TRANSMITTER, 0, 1, b"\0")],
                         ids=["nothing", "half a PDU", "enquire_link", "a malformed bind"])
async def test_who_does_not_bind_in_time_is_shown_out_whatever_he_says_meanwhile(said: bytes) -> None:
    async with serving(bind_within_s=0.3) as smsc:
        bound, other = await smsc.bound(), await smsc.client()
        saying = asyncio.create_task(keep_saying(other, said))
        await other.until_closed()
        saying.cancel()
        assert (await bound.ask(pdu.ENQUIRE_LINK)).status == 0
        assert smsc.smsc.session_count == 1


async def test_half_a_pdu_that_never_ends_is_no_sign_of_life() -> None:
    async with serving(enquire_link_s=0.2, enquire_link_timeout_s=0.2) as smsc:
        client = await smsc.bound()
        client.say(HALF[:-10])
        saying = asyncio.create_task(keep_saying(client, b"x"))
        await client.until_closed()
        saying.cancel()


async def test_who_asks_and_reads_no_answer_is_dropped(tmp_path: Path) -> None:
    """What he is owed would be kept for ever, and while it is, nothing that he sends is read: silence is measured in reading time."""
    async with serving(enquire_link_s=0.2, enquire_link_timeout_s=0.2, log=tmp_path / "log") as smsc:
        reader, writer = await asyncio.open_connection("127.0.0.1", smsc.port)
        writer.write(pdu.encode_pdu(pdu.BIND_TRANSCEIVER, 0, 1, pdu.encode_bind(pdu.BindRequest("amina", "secret", ""))))
        reader._transport.pause_reading()  # type: ignore[attr-defined]
        async with asyncio.timeout(20):
            with pytest.raises(ConnectionError):
                await keep_asking(writer)
        writer.close()
        assert [lost["why"] for lost in smsc.events("lost")] == ["the client reads nothing"]


async def test_past_the_sessions_of_an_address_another_address_still_gets_in(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(guests, "SESSIONS_OF_ADDRESS_MAX", 2)
    async with serving(log=tmp_path / "log") as smsc:
        first, _ = await smsc.bound(), await smsc.bound()
        await (await smsc.client()).until_closed()
        await (await smsc.client()).until_closed()
        elsewhere = RawClient(*await asyncio.open_connection("127.0.0.1", smsc.port, local_addr=("127.0.0.2", 0)))
        assert await elsewhere.bind() == 0
        elsewhere.close()
        first.request(pdu.UNBIND)
        await first.until_closed()
        await smsc.bound()
        [told] = smsc.events("refused")  # once a minute, however many come
        assert (told["peer"], told["why"]) == ("127.0.0.1", "this address has 2 connections; allowed: 2")
        assert smsc.smsc.journal.counts["connection_refused"] == 2


async def test_there_are_fewer_sessions_than_files_that_can_be_open(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(files, "limit", lambda: guests.FILES_KEPT + 2)
    async with serving() as smsc:
        first, _ = await smsc.bound(), await smsc.bound()
        await (await smsc.client()).until_closed()
        assert (await first.ask(pdu.ENQUIRE_LINK)).status == 0


async def keep_asking(writer: asyncio.StreamWriter) -> None:
    asked = pdu.encode_pdu(pdu.ENQUIRE_LINK, 0, 2) * 4_096
    while True:
        writer.write(asked)
        await writer.drain()


async def keep_saying(client: RawClient, octets: bytes) -> None:
    while True:
        client.say(octets)
        await asyncio.sleep(0.02)
