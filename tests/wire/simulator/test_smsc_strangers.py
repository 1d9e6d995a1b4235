"""Who connects to the SMSC and means no session takes a place of it for a short time, and takes
nothing from others.
"""

import asyncio
from pathlib import Path

import pytest

from heliograph.base import open_files
from heliograph.base.addresses import network_of
from heliograph.carriers.smpp import pdu
from heliograph.carriers.smsc import SmscSettings, connections
from tests.support.wire.raw_client import RawClient, Served, serving, submission

HALF = pdu.encode_pdu(pdu.SUBMIT_SM, 0, 7, submission())[:40]


def test_a_connection_has_ten_seconds_to_bind() -> None:
    assert SmscSettings().bind_within_s == 10.0


@pytest.mark.parametrize(
    "said",
    [
        b"",
        HALF,
        pdu.encode_pdu(pdu.ENQUIRE_LINK, 0, 1),
        pdu.encode_pdu(pdu.BIND_TRANSMITTER, 0, 1, b"\0"),
    ],
    ids=["nothing", "half a PDU", "enquire_link", "a malformed bind"],
)
async def test_who_does_not_bind_in_time_is_shown_out_whatever_he_says_meanwhile(
    said: bytes,
) -> None:
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
    """What he is owed would be kept for ever, and while it is, nothing that he sends is
    read: silence is measured in reading time.
    """
    async with serving(
        enquire_link_s=0.2, enquire_link_timeout_s=0.2, log=tmp_path / "log"
    ) as smsc:
        reader, writer = await asyncio.open_connection("127.0.0.1", smsc.port)
        writer.write(
            pdu.encode_pdu(
                pdu.BIND_TRANSCEIVER, 0, 1, pdu.encode_bind(pdu.BindRequest("amina", "secret", ""))
            )
        )
        reader._transport.pause_reading()  # type: ignore[attr-defined]
        async with asyncio.timeout(20):
            with pytest.raises(ConnectionError):
                await keep_asking(writer)
        writer.close()
        assert [lost["why"] for lost in smsc.events("lost")] == ["the client reads nothing"]


async def test_one_address_has_a_quarter_of_the_places_and_its_quietest_ends_for_its_next(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(open_files, "limit", lambda: connections.FILES_KEPT + 8)
    async with serving(log=tmp_path / "log") as smsc:
        elsewhere = await connected(smsc, "127.0.0.2")
        assert await elsewhere.bind() == 0
        speaking, quiet = await smsc.bound(), await smsc.bound()
        assert (await speaking.ask(pdu.ENQUIRE_LINK)).status == 0
        third = await smsc.bound()
        await quiet.until_closed()
        fourth = await smsc.bound()
        await speaking.until_closed()
        for client in (elsewhere, third, fourth):
            assert (await client.ask(pdu.ENQUIRE_LINK)).status == 0
        elsewhere.close()
        [told] = smsc.events("limited")  # once a minute, however many there are
        assert (told["peer"], told["why"]) == (
            "127.0.0.1",
            "this address has 2 connections; allowed: 2",
        )
        assert [lost["why"] for lost in smsc.events("lost")] == ["ended for a newer connection"] * 2
        assert (smsc.smsc.journal.counts["limited"], smsc.smsc.session_count) == (2, 3)


async def test_who_says_much_and_does_not_bind_ends_before_who_is_bound(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(open_files, "limit", lambda: connections.FILES_KEPT + 8)
    async with serving() as smsc:
        unbound, bound = await smsc.client(), await smsc.bound()
        assert (await unbound.ask(pdu.ENQUIRE_LINK)).status == 0
        await smsc.bound()
        await unbound.until_closed()
        assert (await bound.ask(pdu.ENQUIRE_LINK)).status == 0


async def test_when_several_addresses_hold_every_place_who_comes_is_let_in(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(open_files, "limit", lambda: connections.FILES_KEPT + 8)
    async with serving() as smsc:
        idle = [await connected(smsc, f"127.0.0.{last}") for last in (2, 2, 3, 3, 4, 4, 5, 5)]
        operator = await smsc.bound()
        await idle[0].until_closed()
        assert (await operator.ask(pdu.ENQUIRE_LINK)).status == 0
        assert smsc.smsc.session_count == 8
        for client in idle:
            client.close()


async def connected(smsc: Served, address: str) -> RawClient:
    return RawClient(
        *await asyncio.open_connection("127.0.0.1", smsc.port, local_addr=(address, 0))
    )


@pytest.mark.parametrize(
    ("one", "other", "same"),
    [
        ("192.0.2.1", "192.0.2.2", False),
        ("::ffff:192.0.2.1", "192.0.2.1", True),
        ("2001:db8::1", "2001:db8::ffff:0:0:1", True),
        ("2001:db8::1", "2001:db8:0:1::1", False),
        ("fe80::1%eth0", "fe80::2%eth0", True),
        ("", "", True),
    ],
)
def test_whose_an_address_is(one: str, other: str, same: bool) -> None:
    assert (network_of(one) == network_of(other)) is same


async def keep_asking(writer: asyncio.StreamWriter) -> None:
    asked = pdu.encode_pdu(pdu.ENQUIRE_LINK, 0, 2) * 4_096
    while True:
        writer.write(asked)
        await writer.drain()


async def keep_saying(client: RawClient, octets: bytes) -> None:
    while True:
        client.say(octets)
        await asyncio.sleep(0.02)
