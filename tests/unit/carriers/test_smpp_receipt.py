"""Delivery receipts are read with the fields that they have, wherever these stand, in any dialect
(SMPP 3.4 appendix B and what carriers made of it).
"""

import pytest

from heliograph.carriers.link import ReceiptState
from heliograph.carriers.smpp import pdu
from heliograph.carriers.smpp.receipt import (
    ERROR_CHARACTERS_MAX,
    RAW_OCTETS_MAX,
    REF_CHARACTERS_MAX,
    is_receipt,
    read_receipt,
)

STANDARD = (
    "id:4711 sub:001 dlvrd:001 submit date:2601010930 done date:2601010931 stat:{stat} err:000"
    " text:hello"
)


def receipt_of(
    text: str | bytes,
    esm_class: int = pdu.ESM_RECEIPT,
    data_coding: int = 0,
    tlvs: dict[int, bytes] | None = None,
) -> pdu.ShortMessage:
    octets = text if isinstance(text, bytes) else text.encode("latin-1")
    return pdu.ShortMessage(
        "+233 20-1234567", "AMINA", octets, esm_class, data_coding, tlvs=tlvs or {}
    )


@pytest.mark.parametrize(
    ("stat", "state"),
    [
        *((state.value, state) for state in ReceiptState),
        ("DELIVERED", ReceiptState.DELIVRD),
        ("Undeliverable", ReceiptState.UNDELIV),
        ("rejected", ReceiptState.REJECTD),
        ("accepted", ReceiptState.ACCEPTD),
        ("BUFFERED", ReceiptState.ENROUTE),
        ("DELIVERY_FAILED", None),  # begins like a success: only whole words are believed
        ("", None),
    ],
)
def test_each_state_is_read_and_an_unknown_one_is_none(
    stat: str, state: ReceiptState | None
) -> None:
    assert read_receipt(receipt_of(STANDARD.format(stat=stat)), None).state is state


@pytest.mark.parametrize(
    ("text", "ref", "state", "error"),
    [
        ("id:4711 stat:DELIVRD", "4711", "DELIVRD", None),
        ("stat:UNDELIV id:4711", "4711", "UNDELIV", None),
        ("ID:4711 Stat:Expired Err:27 Text:", "4711", "EXPIRED", "27"),
        ("id: 4711 sub: 001 stat: DELIVRD err: 000", "4711", "DELIVRD", "000"),
        ("id:4711,stat:DELIVRD,err:000", "4711", "DELIVRD", "000"),
        ("id:a b stat:DELIVRD err:0\0", "a b", "DELIVRD", "0"),
        ("id: stat:DELIVRD err: text:", None, "DELIVRD", None),
        (
            (
                "id:1 sub:001 dlvrd:001 submit date:260101093000 done date:260101093059"
                " stat:DELIVRD err:0A1"
            ),
            "1",
            "DELIVRD",
            "0A1",
        ),
        ("id:1 submit date: done date: stat:DELIVRD err:000", "1", "DELIVRD", "000"),
        ("text:id:2 stat:DELIVRD err:1", None, None, None),  # the customer's words
        ("valid:1 undelivered", None, None, None),
    ],
)
def test_fields_are_found_wherever_they_stand(
    text: str, ref: str | None, state: str | None, error: str | None
) -> None:
    receipt = read_receipt(receipt_of(text), None)
    assert (receipt.ref, receipt.state and receipt.state.value, receipt.error) == (
        ref,
        state,
        error,
    )


def test_tlvs_are_believed_before_the_text() -> None:
    tlvs = {
        pdu.RECEIPTED_MESSAGE_ID: b"1267\0",
        pdu.MESSAGE_STATE: b"\x05",
        pdu.NETWORK_ERROR_CODE: b"\x03\x00\x19",
        pdu.USER_MESSAGE_REFERENCE: b"\xbe\xef",
    }
    receipt = read_receipt(receipt_of(STANDARD.format(stat="DELIVRD"), tlvs=tlvs), None)
    assert (receipt.ref, receipt.state, receipt.error, receipt.user_message_reference) == (
        "1267",
        ReceiptState.UNDELIV,
        "000",
        0xBEEF,
    )
    assert read_receipt(receipt_of("", tlvs=tlvs), None).error == "25"


@pytest.mark.parametrize(
    "tlvs",
    [{pdu.MESSAGE_STATE: b""}, {pdu.MESSAGE_STATE: b"\xf0"}, {pdu.RECEIPTED_MESSAGE_ID: b"\0"}],
)
def test_a_tlv_that_says_nothing_leaves_it_to_the_text(tlvs: dict[int, bytes]) -> None:
    receipt = read_receipt(receipt_of(STANDARD.format(stat="DELIVRD"), tlvs=tlvs), None)
    assert (receipt.ref, receipt.state) == ("4711", ReceiptState.DELIVRD)


@pytest.mark.parametrize(
    "message",
    [
        receipt_of(STANDARD.format(stat="DELIVRD").encode("utf-16-be"), data_coding=8),
        receipt_of(STANDARD.format(stat="DELIVRD").encode("utf-16-be"), data_coding=0),
        receipt_of(
            b"\x05\x00\x03\x01\x01\x01" + STANDARD.format(stat="DELIVRD").encode(),
            esm_class=pdu.ESM_RECEIPT | pdu.ESM_UDH,
        ),
        receipt_of(b"", tlvs={pdu.MESSAGE_PAYLOAD: STANDARD.format(stat="DELIVRD").encode()}),
        receipt_of(STANDARD.format(stat="DELIVRD"), data_coding=3),
    ],
    ids=["UCS-2", "UCS-2 unsaid", "user data header", "message_payload", "Latin-1"],
)
def test_a_receipt_is_read_in_any_wrapping(message: pdu.ShortMessage) -> None:
    receipt = read_receipt(message, "token")
    assert (receipt.ref, receipt.state, receipt.error) == ("4711", ReceiptState.DELIVRD, "000")
    assert (receipt.recipient, receipt.sender, receipt.token) == ("233201234567", "AMINA", "token")
    assert (
        receipt.raw
        == STANDARD.format(stat="DELIVRD").removesuffix(" text:hello").encode() + b" (11 left out)"
    )


@pytest.mark.parametrize(
    ("text", "kept"),
    [
        ("id:4711 sub:001 stat:?", b"id:4711 sub:001 stat:?"),
        (
            "id: sub: 001 stat:DELIVRD err:000 Text:328253 is",
            b"id: sub: 001 stat:DELIVRD err:000 (15 left out)",
        ),
        ("id:1,stat:DELIVRD;TEXT : 328253 is", b"id:1,stat:DELIVRD (17 left out)"),
        ("stat:DELIVRD err:000 msg:328253 is", b"stat:DELIVRD err:000 (14 left out)"),
        ("id: text:328253 stat:DELIVRD", b"id: (25 left out)"),
        ("err:000text:328253", b" (18 left out)"),
        ("328253 is your code", b" (19 left out)"),
        ("err:\xe9 328253", b" (12 left out)"),
    ],
)
def test_only_fields_with_one_word_each_are_kept_of_a_receipt(text: str, kept: bytes) -> None:
    assert read_receipt(receipt_of(text), None).raw == kept
    assert read_receipt(receipt_of(text.encode("utf-16-be"), data_coding=8), None).raw == kept
    # UCS-2, unsaid
    assert b"328" not in read_receipt(receipt_of(text.encode("utf-16-be")), None).raw


@pytest.mark.parametrize(
    "front",
    ["id:1 stat:DELIVRD", STANDARD.format(stat="DELIVRD").removesuffix(" err:000 text:hello")],
)
@pytest.mark.parametrize(
    ("err", "error", "kept"),
    [
        ("err: 328253 is your LK code", None, ""),
        ("err:328253", None, ""),
        ("err:328253 text:", None, ""),
        ("err:328253. It is your code", None, ""),
        ("err:000 328253 is your", "000", " err:000"),
        ("err:000,Text:328253", "000", " err:000"),
        ("err:000;text:328253 is your", "000", " err:000"),
        ("err:000text:328253", "000text", ""),
        ("err:-1text:328253 text:", "-1text", ""),
        ("err:000\x00328253", "000", " err:000"),
        ("err:,328253 is your", None, " err:"),
        ("err:Absent subscriber msg:328253 is", "Absent", " err:Absent"),
        ("err:32825300 text:hello", "32825300", " err:32825300"),
    ],
)
def test_of_an_error_the_first_word_is_kept_and_none_that_may_be_a_code(
    front: str, err: str, error: str | None, kept: str
) -> None:
    receipt = read_receipt(receipt_of(f"{front} {err}"), None)
    assert (receipt.state, receipt.error) == (ReceiptState.DELIVRD, error)
    assert receipt.raw.split(b" (")[0] == (front + kept).encode()


def test_a_state_that_may_be_a_code_is_not_kept() -> None:
    assert (
        read_receipt(receipt_of("id:1 stat: 328253 is your code"), None).raw
        == b"id:1 (26 left out)"
    )


def test_an_intermediate_notification_ends_nothing() -> None:
    assert (
        read_receipt(
            receipt_of(STANDARD.format(stat="UNDELIV"), esm_class=pdu.ESM_INTERMEDIATE), None
        ).state
        is ReceiptState.ENROUTE
    )


def test_what_a_carrier_may_make_us_keep_is_limited() -> None:
    text = b"id:" + b"7" * 5_000 + b" stat:DELIVRD err:" + b"E" * 5_000
    receipt = read_receipt(receipt_of(text), None)
    assert receipt.ref is not None
    assert receipt.error is not None
    assert (len(receipt.ref), len(receipt.error)) == (REF_CHARACTERS_MAX, ERROR_CHARACTERS_MAX)
    assert len(receipt.raw) <= RAW_OCTETS_MAX
    kept, left_out = receipt.raw.split(b" (")
    assert text.startswith(kept)
    assert len(kept) + int(left_out.split()[0]) == len(text)


@pytest.mark.parametrize(
    ("esm_class", "tlvs", "expected"),
    [
        (0x04, {}, True),
        (0x44, {}, True),
        (0x20, {}, True),
        (0x00, {pdu.RECEIPTED_MESSAGE_ID: b"1\0"}, True),
        (0x00, {}, False),
        (0x40, {}, False),
        # an acknowledgement by the handset's user is no receipt
        (0x08, {pdu.RECEIPTED_MESSAGE_ID: b"1\0"}, False),
    ],
)
def test_receipts_are_told_from_messages(
    esm_class: int, tlvs: dict[int, bytes], expected: bool
) -> None:
    assert is_receipt(receipt_of(STANDARD, esm_class, tlvs=tlvs)) is expected


@pytest.mark.parametrize(
    ("err", "shown"),
    [
        ("<script>alert(1)</script>", "?script?alert(1)?/script?"),
        ("\u202e\u2066cod", "??cod"),
        ("\x1b[31m05", "?[31m05"),
        ("\x9b2J", "?2J"),
        ("'\"&`\\", "?????"),
        ("E-05/1.2_x", "E-05/1.2_x"),
    ],
)
def test_an_error_is_shown_as_a_code_whatever_a_carrier_writes(err: str, shown: str) -> None:
    for front in (
        "id:1 sub:001 dlvrd:000 submit date:2601010000 done date:2601010000 stat:UNDELIV err:",
        "id:1 stat:UNDELIV err:",
    ):
        receipt = read_receipt(receipt_of(f"{front}{err}".encode("utf-16-be"), data_coding=8), None)
        assert (receipt.state, receipt.error) == (ReceiptState.UNDELIV, shown)
