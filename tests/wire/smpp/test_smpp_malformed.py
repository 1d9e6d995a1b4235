"""Octets that are not SMPP harm nothing but the session they come on, if that."""

import asyncio
import logging
import struct

import pytest

from heliograph.carriers.link import LinkState, ReceiptState, SubmitOutcome
from heliograph.carriers.smpp import pdu, session
from tests.support.wire.raw_carrier import raw_carrier
from tests.support.wire.recorder import bound, outgoing, prepared, submit_all

RECEIPT = pdu.encode_pdu(
    pdu.DELIVER_SM,
    0,
    77,
    pdu.encode_sm(
        pdu.ShortMessage("233201234567", "AMINA", b"id:7 stat:DELIVRD err:000", esm_class=4)
    ),
)


def header(length: int, command: int = pdu.ENQUIRE_LINK, sequence: int = 5) -> bytes:
    return struct.pack(">IIII", length, command, 0, sequence)


@pytest.mark.parametrize("length", [0, 15, 65_537, 2**31, 2**32 - 1])
async def test_an_impossible_length_ends_its_session_and_no_other(length: int) -> None:
    async with raw_carrier() as carrier, bound(carrier.settings(binds=2)) as (link, inbox):
        await inbox.until(lambda: inbox.states[-1][1] == "2 of 2 binds")
        broken, whole = carrier.sessions
        broken.say(RECEIPT + header(length) + b"\xff" * 100)
        await carrier.until_lost(broken)
        assert broken.answers(pdu.GENERIC_NACK) == [(0, pdu.ESME_RINVCMDLEN)]
        # what came before it counts
        assert [receipt.state for receipt in inbox.receipts] == [ReceiptState.DELIVRD]
        link.submit(prepared(link, 2))
        await inbox.until_answered(2)
        assert len(carrier.lost) == 1
        assert len(whole.answers(pdu.SUBMIT_SM)) >= 1
        await inbox.until(lambda: inbox.states[-1][1] == "2 of 2 binds")  # bound again
    assert inbox.outcomes() == [SubmitOutcome.ACCEPTED] * 2


DELIVER_HEAD = b"\0\1\1233201234567\0\0\0AMINA\0\4\0\0\0\0\0\0\0\0"  # up to sm_default_msg_id
MALFORMED = {
    "unknown command": (pdu.encode_pdu(0x0000ABCD, 0, 5), pdu.ESME_RINVCMDID),
    "a request only an SMSC gets": (
        pdu.encode_pdu(pdu.SUBMIT_SM, 0, 5, b"\0" * 40),
        pdu.ESME_RINVCMDID,
    ),
    "deliver_sm without a body": (pdu.encode_pdu(pdu.DELIVER_SM, 0, 5), pdu.ESME_RINVCMDLEN),
    "missing NUL": (
        pdu.encode_pdu(pdu.DELIVER_SM, 0, 5, b"\0\1\1" + b"2" * 200),
        pdu.ESME_RINVCMDLEN,
    ),
    "sm_length beyond the PDU": (
        pdu.encode_pdu(pdu.DELIVER_SM, 0, 5, DELIVER_HEAD + b"\xfeid:1"),
        pdu.ESME_RINVMSGLEN,
    ),
    "TLV beyond the PDU": (
        pdu.encode_pdu(pdu.DELIVER_SM, 0, 5, DELIVER_HEAD + b"\0\x00\x1e\xff\xff7\0"),
        pdu.ESME_RINVTLVSTREAM,
    ),
}


@pytest.mark.parametrize(("octets", "status"), MALFORMED.values(), ids=MALFORMED)
async def test_a_malformed_pdu_is_refused_and_the_next_is_read(octets: bytes, status: int) -> None:
    async with raw_carrier() as carrier, bound(carrier.settings()) as (link, inbox):
        peer = carrier.sessions[0]
        peer.say(octets + RECEIPT)
        assert await carrier.until_heard(peer, pdu.GENERIC_NACK) == [(5, status)]
        assert await carrier.until_heard(peer, pdu.DELIVER_SM_RESP) == [(77, pdu.ESME_ROK)]
        await submit_all(link, inbox, prepared(link, 1))
        assert link.tally.malformed == 1
        assert carrier.lost == []


async def test_what_needs_no_answer_gets_none() -> None:
    unasked = (
        pdu.SUBMIT_SM_RESP,
        pdu.DELIVER_SM_RESP,
        pdu.ENQUIRE_LINK_RESP,
        pdu.GENERIC_NACK,
        0x8000ABCD,
        pdu.ALERT_NOTIFICATION,
    )
    async with raw_carrier() as carrier, bound(carrier.settings()) as (link, inbox):
        peer = carrier.sessions[0]
        peer.say(b"".join(pdu.encode_pdu(command, 0, 999) for command in unasked) + RECEIPT)
        await carrier.until_heard(peer, pdu.DELIVER_SM_RESP)
        assert [frame.command for frame in peer.heard] == [
            pdu.BIND_TRANSCEIVER,
            pdu.DELIVER_SM_RESP,
        ]
        assert (inbox.answers, link.tally.unexpected) == ([], 4)


async def test_an_answer_without_its_nul_or_its_id_still_counts() -> None:
    async with raw_carrier() as carrier, bound(carrier.settings()) as (link, inbox):
        peer = carrier.sessions[0]
        peer.deaf = True
        link.submit(prepared(link, 2))
        peer.say(
            pdu.encode_pdu(pdu.SUBMIT_SM_RESP, 0, 2, b"4711")
            + pdu.encode_pdu(pdu.SUBMIT_SM_RESP, 0, 3)
        )
        await inbox.until_answered(2)
    assert [(answer.outcome, answer.ref) for answer in inbox.answers] == [
        (SubmitOutcome.ACCEPTED, "4711"),
        (SubmitOutcome.ACCEPTED, None),
    ]


async def test_a_pdu_may_come_octet_by_octet() -> None:
    async with raw_carrier() as carrier, bound(carrier.settings()) as (_, inbox):
        peer = carrier.sessions[0]
        for octet in RECEIPT * 2:
            peer.say(bytes((octet,)))
            await asyncio.sleep(0)
        await inbox.until_received(2)
        await carrier.until_heard(peer, pdu.DELIVER_SM_RESP, 2)


async def test_a_carrier_that_sends_and_never_reads_is_left(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    # the real one takes seconds to reach
    monkeypatch.setattr(session, "UNSENT_OCTETS_MAX", 200_000)
    async with raw_carrier() as carrier, bound(carrier.settings()) as (_, inbox):
        peer = carrier.sessions[0]
        peer.transport.pause_reading()
        flood = header(16) * 20_000
        async with asyncio.timeout(20):
            while inbox.states[-1][0] is LinkState.BOUND:
                peer.say(flood)
                await asyncio.sleep(0)
        assert "reads nothing" in await inbox.until_state(LinkState.BACKING_OFF)


async def test_the_debug_log_holds_no_text_no_number_and_no_password(
    caplog: pytest.LogCaptureFixture,
) -> None:
    caplog.set_level(logging.DEBUG, "heliograph")
    async with raw_carrier() as carrier, bound(carrier.settings()) as (link, inbox):
        carrier.sessions[0].say(RECEIPT + MALFORMED["TLV beyond the PDU"][0])
        await submit_all(
            link,
            inbox,
            link.prepare(outgoing("your code is 918273", recipient="233209998877", sender="BILAL")),
        )
        await inbox.until_received(1)
        carrier.sessions[0].say(header(0))
        await inbox.until_state(LinkState.BACKING_OFF)
    told = {
        (record.getMessage(), getattr(record, "command", ""))
        for record in caplog.records
        if getattr(record, "carrier", "") == "raw"
    }
    assert {
        ("pdu_received", "submit_sm_resp"),
        ("pdu_sent", "bind_transceiver"),
        ("submitted", ""),
        ("pdu_malformed", ""),
        ("carrier_not_bound", ""),
    } <= told
    for secret in (
        "918273",
        "233209998877",
        "9998877",
        "233201234567",
        "BILAL",
        "secret",
        "DELIVRD",
    ):
        assert secret not in caplog.text + str([vars(record) for record in caplog.records])
