"""A message becomes submissions, and the octets of a submit_sm say what it holds."""

from typing import Any

import pytest

from heliograph.carriers.link import Outgoing
from heliograph.carriers.smpp import SmppSettings, pdu, user_message_reference
from heliograph.carriers.smpp.encode import Encoder, ton_npi_of, validity_period

AMINA = Outgoing(
    message_id="0197a5c0ffee70008000000000000abc",
    sender="AMINA",
    recipient="233201234567",
    text="x" * 400,
    encoding="GSM-7",
    segments=3,
    validity_s=86_400,
)


def encoder(**given: Any) -> Encoder:
    return Encoder(SmppSettings("test", "127.0.0.1", 2775, "amina", "secret", **given))


def test_a_short_message_is_these_octets() -> None:
    [submission] = encoder().submissions(
        Outgoing(
            message_id=AMINA.message_id,
            sender="AMINA",
            recipient="233201234567",
            text="Hi €",
            encoding="GSM-7",
            segments=1,
            validity_s=300,
            priority=1,
        )
    )
    assert submission.data == (
        b"\0"  # service_type
        b"\x05\x00AMINA\0"
        b"\x01\x01233201234567\0"
        b"\x00\x00\x01"  # esm_class, protocol_id, priority_flag
        b"\0"  # schedule_delivery_time
        b"000000000500000R\0"
        # registered_delivery, replace_if_present_flag, data_coding, sm_default_msg_id
        b"\x01\x00\x00\x00"
        b"\x05Hi \x1b\x65"  # the euro sign takes two septets
        b"\x02\x04\x00\x02\xab\xc1"  # user_message_reference: abc of the id, part 1
    )


def test_each_part_has_a_header_with_the_same_reference() -> None:
    submissions = encoder().submissions(AMINA)
    messages = [pdu.decode_sm(submission.data) for submission in submissions]
    assert [message.short_message[:6].hex() for message in messages] == [
        "050003bc0301",
        "050003bc0302",
        "050003bc0303",
    ]
    assert [len(message.short_message) - 6 for message in messages] == [153, 153, 94]
    assert [message.esm_class for message in messages] == [pdu.ESM_UDH] * 3
    assert [(submission.part, submission.parts) for submission in submissions] == [
        (1, 0b001),
        (2, 0b010),
        (3, 0b100),
    ]


def test_a_payload_carries_all_segments_in_one_submission() -> None:
    [submission] = encoder(long="payload").submissions(AMINA)
    message = pdu.decode_sm(submission.data)
    assert (message.short_message, message.tlvs[pdu.MESSAGE_PAYLOAD], message.esm_class) == (
        b"",
        b"x" * 400,
        0,
    )
    assert (submission.part, submission.parts) == (1, 0b111)


def test_sar_numbers_the_parts_in_tlvs() -> None:
    messages = [
        pdu.decode_sm(submission.data) for submission in encoder(long="sar").submissions(AMINA)
    ]
    assert {message.tlvs[pdu.SAR_MSG_REF_NUM] for message in messages} == {b"\x0a\xbc"}
    assert [message.tlvs[pdu.SAR_SEGMENT_SEQNUM] for message in messages] == [b"\1", b"\2", b"\3"]
    assert {message.tlvs[pdu.SAR_TOTAL_SEGMENTS] for message in messages} == {b"\3"}
    assert {message.esm_class for message in messages} == {0}


def test_what_latin_1_lacks_goes_as_ucs2_with_the_segments_it_was_paid_with() -> None:
    long = Outgoing(
        message_id=AMINA.message_id,
        sender="AMINA",
        recipient="233201234567",
        text="20€ " * 60,
        encoding="GSM-7",
        segments=2,
        validity_s=86_400,
    )
    [submission] = encoder(alphabet="latin1").submissions(long)
    message = pdu.decode_sm(submission.data)
    assert (message.data_coding, message.tlvs[pdu.MESSAGE_PAYLOAD].decode("utf-16-be")) == (
        8,
        long.text,
    )
    assert submission.parts == 0b11


def test_references_differ_between_neighbours_and_between_parts() -> None:
    first = 0x0197_A5C0_FFEE_7000_8000_0000_0000_0ABC
    references = {
        user_message_reference(f"{first + message:032x}", part)
        for message in range(4_096)
        for part in range(1, 11)
    }
    assert len(references) == 40_960
    assert max(references) < 65_536


@pytest.mark.parametrize(
    ("sender", "ton_npi"),
    [
        ("AMINA", (5, 0)),
        ("4 You", (5, 0)),
        ("233201234567", (1, 1)),
        ("1234567", (1, 1)),
        ("123456", (3, 0)),
    ],
)
def test_the_type_of_number_follows_from_the_sender(sender: str, ton_npi: tuple[int, int]) -> None:
    assert ton_npi_of(sender) == ton_npi


@pytest.mark.parametrize(
    ("seconds", "octets"),
    [
        (60, b"000000000100000R"),
        (86_399, b"000000235959000R"),
        (172_800, b"000002000000000R"),
        (0, b"000000000001000R"),  # all zeros would ask for the carrier's default
        (-5, b"000000000001000R"),
        (10**9, b"000028000000000R"),
    ],
)
def test_validity_is_relative_time(seconds: int, octets: bytes) -> None:
    assert validity_period(seconds) == octets
