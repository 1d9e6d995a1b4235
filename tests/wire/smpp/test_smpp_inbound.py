"""Texts from handsets are reported, counted and logged, as deliver_sm and as data_sm, and are
answered when they are stored; a receipt may come as either.
"""

import asyncio
import logging

import pytest

from heliograph.base import clock, metrics
from heliograph.carriers.link import ReceiptState
from heliograph.carriers.smpp import pdu
from heliograph.carriers.smpp.inbound import LINES_A_SECOND_MAX, mask_address
from heliograph.carriers.smpp.link import SmppLink
from tests.support.wire.raw_carrier import raw_carrier
from tests.support.wire.recorder import Recorder, bound
from tests.support.wire.smsc_peer import Smsc

DATA_SM_HEAD = b"\0\1\1%b\0\0\0%b\0%c\0\0"  # source_addr, destination_addr, esm_class
DATA_SM_RESP = pdu.DATA_SM | pdu.RESPONSE
WROTE = b"STOP, my code is 918273"


def data_sm(
    sequence: int, source: bytes, destination: bytes, esm_class: int, tlvs: dict[int, bytes]
) -> bytes:
    body = DATA_SM_HEAD % (source, destination, esm_class) + b"".join(
        pdu.encode_tlv(tag, value) for tag, value in tlvs.items()
    )
    return pdu.encode_pdu(pdu.DATA_SM, 0, sequence, body)


def counted(carrier: str) -> float:
    return sum(
        sample.value
        for metric in metrics.INBOUND.collect()
        for sample in metric.samples
        if sample.labels == {"carrier": carrier} and sample.name.endswith("_total")
    )


def logged(caplog: pytest.LogCaptureFixture) -> list[dict[str, object]]:
    wanted = ("carrier", "sender", "recipient", "octets", "left_out")
    return [
        {name: value for name, value in vars(record).items() if name in wanted}
        for record in caplog.records
        if record.getMessage() == "inbound_text"
    ]


async def test_a_text_from_a_handset_is_counted_and_logged_without_itself_or_its_number(
    smsc: Smsc, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG, "heliograph")
    before = counted("smsc")
    async with bound(smsc.settings()) as (_, inbox):
        await smsc.tell(
            "deliver",
            {
                "source_addr": "233201234567",
                "destination_addr": "1234",
                "short_message": WROTE.decode(),
            },
        )
        await smsc.until("acknowledged", 1)
    assert (counted("smsc") - before, inbox.receipts) == (1, [])
    assert logged(caplog) == [
        {"carrier": "smsc", "sender": "23320*******", "recipient": "1234", "octets": len(WROTE)}
    ]
    everything = caplog.text + str([vars(record) for record in caplog.records])
    assert not [secret for secret in ("918273", "STOP", "1234567") if secret in everything]


async def test_data_sm_is_read_as_deliver_sm_is(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO, "heliograph")
    before = counted("raw")
    async with (
        raw_carrier() as carrier,
        bound(carrier.settings(), acknowledges=False) as (link, inbox),
    ):
        session = carrier.sessions[0]
        session.say(data_sm(5, b"233201234567", b"1234", 0, {pdu.MESSAGE_PAYLOAD: WROTE}))
        session.say(
            data_sm(
                6,
                b"233201234567",
                b"AMINA",
                4,
                {pdu.RECEIPTED_MESSAGE_ID: b"7f\0", pdu.MESSAGE_STATE: b"\2"},
            )
        )
        (receipt,) = await inbox.until_received(1)
        # neither is stored yet
        (text,) = await inbox.until_texts(1)
        assert session.answers(DATA_SM_RESP) == []
        link.answer_texts([text], stored=True)
        assert await carrier.until_heard(session, DATA_SM_RESP) == [(5, pdu.ESME_ROK)]
        link.acknowledge([receipt])
        assert await carrier.until_heard(session, DATA_SM_RESP, 2) == [
            (5, pdu.ESME_ROK),
            (6, pdu.ESME_ROK),
        ]
        session.say(pdu.encode_pdu(pdu.DATA_SM, 0, 7, b"\0\1\1233201234567\0\0\0001234\0\0\0"))
        assert await carrier.until_heard(session, pdu.GENERIC_NACK) == [(7, pdu.ESME_RINVCMDLEN)]
    assert (receipt.ref, receipt.state, receipt.recipient, receipt.sender) == (
        "7f",
        ReceiptState.DELIVRD,
        "233201234567",
        "AMINA",
    )
    assert counted("raw") - before == 1
    assert [line["octets"] for line in logged(caplog)] == [len(WROTE)]


async def test_a_text_that_cannot_be_stored_is_one_that_the_carrier_sends_again() -> None:
    text = pdu.encode_sm(pdu.ShortMessage("233201234567", "1234", WROTE))
    async with (
        raw_carrier() as carrier,
        bound(carrier.settings(), acknowledges=False) as (link, inbox),
    ):
        session = carrier.sessions[0]
        session.say(
            pdu.encode_pdu(pdu.DELIVER_SM, 0, 5, text) + pdu.encode_pdu(pdu.DELIVER_SM, 0, 6, text)
        )
        first, again = await inbox.until_texts(2)
        assert first.digest == again.digest
        link.answer_texts([first], stored=False)
        link.answer_texts([again], stored=True)
        assert await carrier.until_heard(session, pdu.DELIVER_SM_RESP, 2) == [
            (5, pdu.ESME_RX_T_APPN),
            (6, pdu.ESME_ROK),
        ]


async def test_who_only_tries_a_bind_takes_no_texts() -> None:
    text = pdu.encode_sm(pdu.ShortMessage("233201234567", "1234", WROTE))
    async with raw_carrier() as carrier:
        link = SmppLink(carrier.settings(), Recorder())
        await link.start()
        async with asyncio.timeout(10):
            while not (carrier.sessions and carrier.sessions[0].heard):
                carrier.news.clear()
                await carrier.news.wait()
        carrier.sessions[0].say(pdu.encode_pdu(pdu.DELIVER_SM, 0, 5, text))
        assert await carrier.until_heard(carrier.sessions[0], pdu.DELIVER_SM_RESP) == [
            (5, pdu.ESME_RX_T_APPN)
        ]
        await link.close(0)


async def test_many_texts_at_once_are_all_counted_and_few_are_logged(
    caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    caplog.set_level(logging.INFO, "heliograph")
    before, now_s = counted("raw"), [1_000.0]
    monkeypatch.setattr(clock, "monotonic_s", lambda: now_s[0])
    text = pdu.encode_sm(pdu.ShortMessage("233201234567", "1234", WROTE))
    async with raw_carrier() as carrier, bound(carrier.settings()):
        session = carrier.sessions[0]
        session.say(
            b"".join(
                pdu.encode_pdu(pdu.DELIVER_SM, 0, sequence, text) for sequence in range(1, 101)
            )
        )
        await carrier.until_heard(session, pdu.DELIVER_SM_RESP, 100)
        now_s[0] += 1
        session.say(pdu.encode_pdu(pdu.DELIVER_SM, 0, 101, text))
        await carrier.until_heard(session, pdu.DELIVER_SM_RESP, 101)
    assert counted("raw") - before == 101
    assert [line.get("left_out") for line in logged(caplog)] == [None] * LINES_A_SECOND_MAX + [
        100 - LINES_A_SECOND_MAX
    ]


@pytest.mark.parametrize(
    ("address", "shown"),
    [
        ("1234", "1234"),
        ("AMINA", "AMINA"),
        ("+233201234567", "+23320*******"),
        ("0201234567", "02012*****"),
        ("", ""),
        ("9" * 99, "99999" + "*" * 16),
        ("tel:233201234567", "tel:2***********"),
    ],
)
def test_a_phone_number_is_told_by_its_beginning_only(address: str, shown: str) -> None:
    assert mask_address(address) == shown
