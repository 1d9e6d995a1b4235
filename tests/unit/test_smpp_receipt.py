"""Reading delivery receipts: which fields, from where, in which dialect (SMPP 3.4 appendix B and what carriers made of it)."""

import pytest

from heliograph.carriers.link import ReceiptState
from heliograph.carriers.smpp import pdu
from heliograph.carriers.smpp.receipt import ERROR_CHARACTERS_MAX, RAW_OCTETS_MAX, REF_CHARACTERS_MAX, is_receipt, read_receipt

STANDARD = "id:4711 sub:001 dlvrd:001 submit date:2601010930 done date:2601010931 stat:{stat} err:000 text:hello"


def receipt_of(text: str | bytes, esm_class: int = pdu.ESM_RECEIPT, data_coding: int = 0, tlvs: dict[int, bytes] | None = None) -> pdu.ShortMessage:
    octets = text if isinstance(text, bytes) else text.encode("latin-1")
    return pdu.ShortMessage("+233 20-1234567", "AMINA", octets, esm_class, data_coding, tlvs=tlvs or {})


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
def test_each_state_is_read_and_an_unknown_one_is_none(stat: str, state: ReceiptState | None) -> None:
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
        ("id:1 sub:001 dlvrd:001 submit date:260101093000 done date:260101093059 stat:DELIVRD err:0A1", "1", "DELIVRD", "0A1"),
        ("id:1 submit date: done date: stat:DELIVRD err:000", "1", "DELIVRD", "000"),
        ("text:id:2 stat:DELIVRD err:1", None, None, None),  # the customer's words
        ("valid:1 undelivered", None, None, None),
    ],
)
def test_fields_are_found_wherever_they_stand(text: str, ref: str | None, state: str | None, error: str | None) -> None:
    receipt = read_receipt(receipt_of(text), None)
    assert (receipt.ref, receipt.state and receipt.state.value, receipt.error) == (ref, state, error)


def test_tlvs_are_believed_before_the_text() -> None:
    tlvs = {
        pdu.RECEIPTED_MESSAGE_ID: b"1267\0",
        pdu.MESSAGE_STATE: b"\x05",
        pdu.NETWORK_ERROR_CODE: b"\x03\x00\x19",
        pdu.USER_MESSAGE_REFERENCE: b"\xbe\xef",
    }
    receipt = read_receipt(receipt_of(STANDARD.format(stat="DELIVRD"), tlvs=tlvs), None)
    assert (receipt.ref, receipt.state, receipt.error, receipt.user_message_reference) == ("1267", ReceiptState.UNDELIV, "000", 0xBEEF)
    assert read_receipt(receipt_of("", tlvs=tlvs), None).error == "25"


@pytest.mark.parametrize("tlvs", [{pdu.MESSAGE_STATE: b""}, {pdu.MESSAGE_STATE: b"\xf0"}, {pdu.RECEIPTED_MESSAGE_ID: b"\0"}])
def test_a_tlv_that_says_nothing_leaves_it_to_the_text(tlvs: dict[int, bytes]) -> None:
    receipt = read_receipt(receipt_of(STANDARD.format(stat="DELIVRD"), tlvs=tlvs), None)
    assert (receipt.ref, receipt.state) == ("4711", ReceiptState.DELIVRD)


@pytest.mark.parametrize(
    "message",
    [
        receipt_of(STANDARD.format(stat="DELIVRD").encode("utf-16-be"), data_coding=8),
        receipt_of(STANDARD.format(stat="DELIVRD").encode("utf-16-be"), data_coding=0),
        receipt_of(b"\x05\x00\x03\x01\x01\x01" + STANDARD.format(stat="DELIVRD").encode(), esm_class=pdu.ESM_RECEIPT | pdu.ESM_UDH),
        receipt_of(b"", tlvs={pdu.MESSAGE_PAYLOAD: STANDARD.format(stat="DELIVRD").encode()}),
        receipt_of(STANDARD.format(stat="DELIVRD"), data_coding=3),
    ],
    ids=["UCS-2", "UCS-2 unsaid", "user data header", "message_payload", "Latin-1"],
)
def test_a_receipt_is_read_in_any_wrapping(message: pdu.ShortMessage) -> None:
    receipt = read_receipt(message, "token")
    assert (receipt.ref, receipt.state, receipt.error) == ("4711", ReceiptState.DELIVRD, "000")
    assert (receipt.recipient, receipt.sender, receipt.token) == ("233201234567", "AMINA", "token")
    assert receipt.raw == (message.short_message or message.tlvs[pdu.MESSAGE_PAYLOAD])


def test_an_intermediate_notification_ends_nothing() -> None:
    assert read_receipt(receipt_of(STANDARD.format(stat="UNDELIV"), esm_class=pdu.ESM_INTERMEDIATE), None).state is ReceiptState.ENROUTE


def test_what_a_carrier_may_make_us_keep_is_limited() -> None:
    receipt = read_receipt(receipt_of(b"id:" + b"7" * 5_000 + b" stat:DELIVRD err:" + b"E" * 5_000), None)
    assert receipt.ref is not None
    assert receipt.error is not None
    assert (len(receipt.ref), len(receipt.error), len(receipt.raw)) == (REF_CHARACTERS_MAX, ERROR_CHARACTERS_MAX, RAW_OCTETS_MAX)


@pytest.mark.parametrize(
    ("esm_class", "tlvs", "expected"),
    [
        (0x04, {}, True),
        (0x44, {}, True),
        (0x20, {}, True),
        (0x00, {pdu.RECEIPTED_MESSAGE_ID: b"1\0"}, True),
        (0x00, {}, False),
        (0x40, {}, False),
        (0x08, {pdu.RECEIPTED_MESSAGE_ID: b"1\0"}, False),  # an acknowledgement by the handset's user is no receipt
    ],
)
def test_receipts_are_told_from_messages(esm_class: int, tlvs: dict[int, bytes], expected: bool) -> None:
    assert is_receipt(receipt_of(STANDARD, esm_class, tlvs=tlvs)) is expected
