"""Receipts that cannot be sent yet wait in their order, as many as there may be, and outlive their
session.
"""

import pytest

from heliograph.carriers.smpp import pdu
from heliograph.carriers.smsc import outbox, session
from tests.support.wire.raw_client import RawClient, Served, read, serving


async def submitted(client: RawClient, count: int) -> list[str]:
    """Returns the ids of so many submissions."""
    return [(await client.submit())[1] for _ in range(count)]


async def received(client: RawClient, count: int) -> list[str]:
    """Returns the ids in so many receipts, in the order in which they came. None is
    acknowledged.
    """
    return [
        read(pdu.decode_sm((await client.next(pdu.DELIVER_SM)).body))["id"] for _ in range(count)
    ]


async def settled(smsc: Served, client: RawClient) -> None:
    """Waits until the SMSC has looked at all that the client has said."""
    assert (await client.ask(pdu.ENQUIRE_LINK)).status == 0


async def test_receipts_wait_for_a_receiver_and_keep_their_order() -> None:
    async with serving() as smsc:
        ids = await submitted(await smsc.bound("tx"), 5)
        assert await received(await smsc.bound("rx"), 5) == ids


async def test_receipts_outlive_their_session_and_keep_their_order(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(session, "RECEIPTS_UNACKNOWLEDGED_MAX", 3)
    async with serving() as smsc:
        first = await smsc.bound()
        ids = await submitted(first, 5)
        assert await received(first, 3) == ids[:3]
        first.close()
        second = await smsc.bound()
        assert await received(second, 3) == ids[:3]
        second.say(
            pdu.encode_pdu(pdu.DELIVER_SM_RESP, 0, 1, b"\0")
            + pdu.encode_pdu(pdu.DELIVER_SM_RESP, 0, 2, b"\0")
        )
        assert await received(second, 2) == ids[3:]


async def test_past_so_many_receipts_owed_submissions_are_answered_queue_full(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(outbox, "RECEIPTS_OWED_MAX", 3)
    async with serving() as smsc:
        sender = await smsc.bound("tx")
        assert [(await sender.submit())[0] for _ in range(5)] == [0, 0, 0, 0x14, 0x14]
        receiver = await smsc.bound("rx")
        for _ in range(3):
            await receiver.receipt()
        await settled(smsc, receiver)
        assert (await sender.submit())[0] == 0


async def test_a_client_that_reads_nothing_is_not_read_any_more_and_others_are() -> None:
    """The answers that it does not take are not made: the server's memory stays flat."""
    asked = 1_500_000  # their answers are 24 MB, more than the sockets between them hold
    async with serving() as smsc:
        deaf, other = await smsc.bound(), await smsc.bound()
        deaf.say(pdu.encode_pdu(pdu.ENQUIRE_LINK, 0, 1) * asked)
        counts, answered = smsc.smsc.journal.counts, -1
        while answered != counts["enquire_link"]:
            answered = counts["enquire_link"]
            assert await other.quiet(0.2)
        assert 0 < answered < asked
        assert smsc.smsc.session_count == 2
        assert (await other.submit())[0] == 0
