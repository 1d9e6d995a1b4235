"""Our SMSC speaks SMPP 3.4 as a centre does: it knows binds, windows and receipts, and answers what
it cannot take.
"""

from pathlib import Path
from typing import Any

import pytest

from heliograph.carriers.smpp import pdu
from heliograph.carriers.smpp.framing import PDU_OCTETS_MAX
from heliograph.carriers.smsc.session import RECEIPTS_UNACKNOWLEDGED_MAX
from tests.support.wire.raw_client import RawClient, read, sequences, serving, submission

QUERY_SM = 0x03


@pytest.mark.parametrize(
    ("recipient", "status", "stat", "err"),
    [
        ("233201234000", 0, "UNDELIV", "001"),
        ("233201234001", 0x0B, None, None),
        ("233201234002", 0, "EXPIRED", "027"),
        ("233201234567", 0, "DELIVRD", "000"),
    ],
)
async def test_the_last_digits_choose_the_outcome(
    recipient: str, status: int, stat: str | None, err: str | None
) -> None:
    async with serving() as smsc:
        client = await smsc.bound()
        answered, message_id = await client.submit(recipient)
        assert answered == status
        if stat is None:
            assert (message_id, smsc.smsc.receipts_owed) == ("", 0)
            return
        receipt = await client.receipt()
        assert read(receipt) | {"id": message_id, "stat": stat, "err": err} == read(receipt)
        assert (
            receipt.source_addr,
            receipt.destination_addr,
            receipt.source_ton,
            receipt.dest_ton,
        ) == (recipient, "AMINA", 1, 5)


async def test_a_recipient_in_003_gets_its_receipt_later_than_the_others() -> None:
    async with serving(late_receipt_s=0.3) as smsc:
        client = await smsc.bound()
        _, late = await client.submit("233201234003")
        _, other = await client.submit()
        assert [read(await client.receipt())["id"] for _ in range(2)] == [other, late]


async def test_only_who_is_told_may_bind_and_once() -> None:
    async with serving(system_id="amina", password="secret") as smsc:
        client = await smsc.client()
        assert await client.bind(system_id="bilal") == 0x0F
        assert await client.bind(password="guess") == 0x0E
        assert await client.bind() == 0
        assert await client.bind() == 0x05


async def test_who_has_not_bound_to_send_cannot_submit() -> None:
    async with serving() as smsc:
        client = await smsc.client()
        assert (await client.submit())[0] == 0x04
        assert await client.bind("rx") == 0
        assert (await client.submit())[0] == 0x04


async def test_receipts_go_to_a_receiver_of_the_same_system_id() -> None:
    async with serving() as smsc:
        stranger, sender, receiver = (
            await smsc.bound("trx", "chidi"),
            await smsc.bound("tx"),
            await smsc.bound("rx"),
        )
        _, message_id = await sender.submit()
        assert read(await receiver.receipt())["id"] == message_id
        assert await stranger.quiet()
        assert await sender.quiet(0)


@pytest.mark.parametrize(
    ("asked", "recipient", "comes"),
    [(0, "233201234000", False), (2, "233201234567", False), (2, "233201234000", True)],
)
async def test_a_receipt_comes_only_if_it_is_asked_for(
    asked: int, recipient: str, comes: bool
) -> None:
    async with serving() as smsc:
        client = await smsc.bound()
        await client.submit(recipient, registered_delivery=asked)
        assert smsc.smsc.receipts_owed == comes


async def test_a_receipt_that_was_not_acknowledged_comes_again_on_the_next_session() -> None:
    async with serving() as smsc:
        first = await smsc.bound()
        await first.submit()
        frame = await first.next(pdu.DELIVER_SM)
        first.close()
        second = await smsc.bound()
        assert (await second.next(pdu.DELIVER_SM)).body[-20:] == frame.body[-20:]


async def test_a_receipt_that_the_client_has_no_room_for_comes_again() -> None:
    async with serving() as smsc:
        client = await smsc.bound()
        _, message_id = await client.submit()
        assert [read(await client.receipt(status=status))["id"] for status in (0x14, 0)] == [
            message_id
        ] * 2
        assert (await client.ask(pdu.ENQUIRE_LINK)).status == 0
        assert smsc.smsc.receipts_owed == 0


async def test_no_more_receipts_are_on_the_wire_than_its_window_holds() -> None:
    async with serving() as smsc:
        client = await smsc.bound()
        for _ in range(RECEIPTS_UNACKNOWLEDGED_MAX + 5):
            client.request(pdu.SUBMIT_SM, submission())
        for _ in range(RECEIPTS_UNACKNOWLEDGED_MAX):
            await client.next(pdu.DELIVER_SM)
        await client.ask(pdu.ENQUIRE_LINK)
        assert sequences(client.heard, pdu.DELIVER_SM) == []
        client.say(pdu.encode_pdu(pdu.DELIVER_SM_RESP, 0, 1, b"\0"))
        await client.next(pdu.DELIVER_SM)


async def test_a_long_text_is_taken_in_all_three_forms(tmp_path: Path) -> None:
    sar = {
        pdu.SAR_MSG_REF_NUM: b"\x12\x34",
        pdu.SAR_TOTAL_SEGMENTS: b"\x03",
        pdu.SAR_SEGMENT_SEQNUM: b"\x02",
    }
    async with serving(log=tmp_path / "log") as smsc:
        client = await smsc.bound()
        await client.submit(short_message=b"\x05\x00\x03\x4d\x03\x02hello", esm_class=pdu.ESM_UDH)
        await client.submit(
            short_message=b"\x06\x08\x04\x12\x34\x03\x02hello", esm_class=pdu.ESM_UDH
        )
        await client.submit(tlvs=sar)
        await client.submit(
            short_message=b"",
            tlvs={pdu.MESSAGE_PAYLOAD: b"hello", pdu.USER_MESSAGE_REFERENCE: b"\xbe\xef"},
        )
        told = smsc.events("submit_sm")
        assert [
            (line["long"], line["long_reference"], line["part"], line["parts"]) for line in told
        ] == [
            ("udh", 77, 2, 3),
            ("udh", 0x1234, 2, 3),
            ("sar", 0x1234, 2, 3),
            ("payload", None, 1, 1),
        ]
        assert len({line["text_sha256"] for line in told}) == 1
        assert [line["user_message_reference"] for line in told] == [None, None, None, 0xBEEF]
        receipts = [await client.receipt() for _ in told]
        assert [receipt.tlvs.get(pdu.USER_MESSAGE_REFERENCE) for receipt in receipts] == [
            None,
            None,
            None,
            b"\xbe\xef",
        ]


async def test_what_it_does_not_know_is_nacked_and_nothing_else_changes() -> None:
    async with serving() as smsc:
        client = await smsc.bound()
        for command in (QUERY_SM, 0x0F00):
            answer = await client.ask(command)
            assert (answer.command, answer.status) == (pdu.GENERIC_NACK, 0x03)
        # a response that nobody asked for is nobody's business
        client.say(pdu.encode_pdu(0x80000F00, 0, 99))
        client.say(pdu.encode_pdu(pdu.DELIVER_SM_RESP, 0, 99, b"\0"))
        assert (await client.submit())[0] == 0


@pytest.mark.parametrize(
    ("body", "status"),
    [
        (b"", 0x02),
        (submission()[:20], 0x02),
        (submission()[:-2], 0x01),
        (submission() + b"\x00\x1e\x00\xffabc", 0xC0),
        (submission(""), 0x0B),
        (submission("2" * 21), 0x0B),
        (submission(source_addr="A" * 21), 0x0A),
    ],
)
async def test_a_submission_that_is_malformed_is_refused_and_the_next_one_taken(
    body: bytes, status: int
) -> None:
    async with serving() as smsc:
        client = await smsc.bound()
        answer = await client.ask(pdu.SUBMIT_SM, body)
        assert (answer.command, answer.status) == (pdu.SUBMIT_SM_RESP, status)
        assert (await client.submit())[0] == 0


def _sar(reference: bytes, total: bytes, part: bytes) -> dict[int, bytes]:
    return {
        pdu.SAR_MSG_REF_NUM: reference,
        pdu.SAR_TOTAL_SEGMENTS: total,
        pdu.SAR_SEGMENT_SEQNUM: part,
    }


@pytest.mark.parametrize(
    ("fields", "status"),
    [
        ({"validity_period": "000028000000000R"}, 0),
        ({"validity_period": "991231235959948+"}, 0),
        ({"validity_period": "280229000000000-"}, 0),
        ({"validity_period": "3600"}, 0x62),
        ({"validity_period": "000001000000000r"}, 0x62),
        ({"validity_period": "000000240000000R"}, 0x62),
        ({"validity_period": "000001000000100R"}, 0x62),
        ({"validity_period": "270229000000000+"}, 0x62),
        ({"validity_period": "280101000060000+"}, 0x62),
        ({"validity_period": "280101000000049+"}, 0x62),
        ({"schedule_delivery_time": "000001000000000R"}, 0),
        ({"schedule_delivery_time": "2028-01-01 00:00"}, 0x61),
        ({"schedule_delivery_time": "280001000000000+"}, 0x61),
        ({"recipient": "2" * 20}, 0),
        ({"recipient": "+233201234567"}, 0x0B),
        ({"recipient": "23320123456\xb2"}, 0x0B),
        ({"priority_flag": 3}, 0),
        ({"priority_flag": 4}, 0x06),
        ({"tlvs": {pdu.MESSAGE_PAYLOAD: b"hello"}}, 0x01),
        ({"esm_class": 0x40, "short_message": b"\x05\x00\x03\x4d\x03\x03hello"}, 0),
        # ports, no part
        ({"esm_class": 0x40, "short_message": b"\x06\x05\x04\x0b\x84\x23\xf0hello"}, 0),
        ({"esm_class": 0x40, "short_message": b"\x05\x00\x03\x4d\x03\x00hello"}, 0x45),
        ({"esm_class": 0x40, "short_message": b"\x05\x00\x03\x4d\x03\x04hello"}, 0x45),
        ({"esm_class": 0x40, "short_message": b"\x06\x08\x04\x12\x34\x00\x01hello"}, 0x45),
        ({"esm_class": 0x40, "short_message": b"\x06\x00\x03\x4d\x03\x01"}, 0x45),
        (
            {
                "esm_class": 0x40,
                "short_message": b"",
                "tlvs": {pdu.MESSAGE_PAYLOAD: b"\x05\x00\x03\x4d\x03\x04hello"},
            },
            0x45,
        ),
        ({"esm_class": 0x40, "short_message": b""}, 0x45),
        ({"tlvs": _sar(b"\x12\x34", b"\x03", b"\x03")}, 0),
        ({"tlvs": _sar(b"\x12\x34", b"\x03", b"\x04")}, 0x45),
        ({"tlvs": _sar(b"\x12\x34", b"\x03", b"\x00")}, 0x45),
        ({"tlvs": _sar(b"", b"\x03", b"\x01")}, 0x45),
        ({"tlvs": {pdu.SAR_TOTAL_SEGMENTS: b"\x03", pdu.SAR_SEGMENT_SEQNUM: b"\x01"}}, 0x45),
        ({"tlvs": {pdu.SAR_MSG_REF_NUM: b"\x12\x34"}}, 0x45),
    ],
)
async def test_a_submission_that_says_what_cannot_be_is_refused(
    fields: dict[str, Any], status: int
) -> None:
    async with serving() as smsc:
        client = await smsc.bound()
        answered, message_id = await client.submit(**fields)
        assert (answered, bool(message_id)) == (status, status == 0)
        assert smsc.smsc.receipts_owed == (status == 0)


@pytest.mark.parametrize("length", [0, 15, PDU_OCTETS_MAX + 1, 2**31])
async def test_an_impossible_length_ends_the_session_and_no_other(length: int) -> None:
    async with serving() as smsc:
        client, other = await smsc.bound(), await smsc.bound()
        client.request(pdu.SUBMIT_SM, submission())
        client.say(pdu.HEADER.pack(length, pdu.SUBMIT_SM, 0, 2))
        assert (await client.next(pdu.SUBMIT_SM_RESP)).status == 0
        assert (await client.next(pdu.GENERIC_NACK)).status == 0x02
        await client.until_closed()
        assert (await other.submit())[0] == 0


async def test_unbind_is_answered_and_ends_the_connection() -> None:
    async with serving() as smsc:
        client = await smsc.bound()
        assert (await client.ask(pdu.UNBIND)).status == 0
        await client.until_closed()


async def test_who_never_binds_is_shown_out() -> None:
    async with serving(bind_within_s=0.05) as smsc:
        bound, idle = await smsc.bound(), await smsc.client()
        await idle.until_closed()
        assert (await bound.ask(pdu.ENQUIRE_LINK)).status == 0


async def test_a_silent_client_is_asked_whether_it_is_there_and_dropped_without_an_answer() -> None:
    async with serving(enquire_link_s=0.05, enquire_link_timeout_s=0.1) as smsc:
        client = await smsc.bound()
        for _ in range(3):
            asked = await client.next(pdu.ENQUIRE_LINK)
            client.say(pdu.encode_pdu(pdu.ENQUIRE_LINK_RESP, 0, asked.sequence))
        await client.until_closed()


async def test_past_the_window_it_throttles() -> None:
    async with serving(window=10, answer_delay_s=0.05) as smsc:
        client = await smsc.bound()
        assert await _answers_to(client, 14) == {0: 10, 0x58: 4}


async def test_past_the_window_it_stops_reading_and_goes_on_when_there_is_room() -> None:
    async with serving(window=10, answer_delay_s=0.05, over_window="stop") as smsc:
        client = await smsc.bound()
        assert await _answers_to(client, 35) == {0: 35}
        assert smsc.smsc.journal.counts["submit_sm"] == 35


async def _answers_to(client: RawClient, submissions: int) -> dict[int, int]:
    """Returns how often which status answered so many submissions that were sent at once."""
    for _ in range(submissions):
        client.request(pdu.SUBMIT_SM, submission(registered_delivery=0))
    statuses = [(await client.next(pdu.SUBMIT_SM_RESP)).status for _ in range(submissions)]
    return {status: statuses.count(status) for status in set(statuses)}
