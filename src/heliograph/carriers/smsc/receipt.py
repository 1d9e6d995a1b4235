"""Writes delivery receipts in the dialects that carriers use."""

from functools import lru_cache
from time import gmtime, strftime
from typing import Final, NamedTuple

from heliograph.carriers.link import ReceiptState
from heliograph.carriers.smpp import pdu

PADDED_CHARACTERS: Final = 20
_PLAIN: Final[frozenset[str]] = frozenset()
_MESSAGE_STATES: Final = {  # message_state, SMPP 3.4 table 5-6
    ReceiptState.ENROUTE: 1,
    ReceiptState.DELIVRD: 2,
    ReceiptState.EXPIRED: 3,
    ReceiptState.DELETED: 4,
    ReceiptState.UNDELIV: 5,
    ReceiptState.FAILED: 5,
    ReceiptState.ACCEPTD: 6,
    ReceiptState.UNKNOWN: 7,
    ReceiptState.REJECTD: 8,
}


class ReceiptToWrite(NamedTuple):
    """Describes a receipt that is still to be sent."""

    number: int  # of the message
    message_id: str  # the same as submit_sm_resp printed it
    addresses: bytes  # front of the deliver_sm body (pdu.encode_addresses)
    destination: bytes  # who sent the message
    state: ReceiptState
    error: str
    submitted_at_s: int
    dialect: frozenset[str] = _PLAIN  # of chaos.DIALECTS
    reference: bytes | None = None  # user_message_reference of the submit_sm, which comes back


def receipt_body(owed: ReceiptToWrite, now_s: int) -> bytes:
    """Returns the body of a deliver_sm. Its text follows SMPP 3.4 appendix B and its TLVs
    5.3.2.12, unless the dialect says otherwise. It is hot.
    """
    dialect = owed.dialect
    message_id = _printed(owed) if dialect else owed.message_id
    text, tlvs = b"", b""
    if "text-only" not in dialect or "tlvs-only" in dialect:
        tlvs = pdu.encode_tlv(pdu.RECEIPTED_MESSAGE_ID, message_id.encode("ascii") + b"\0")
        tlvs += pdu.encode_tlv(pdu.MESSAGE_STATE, bytes((_MESSAGE_STATES[owed.state],)))
        if owed.reference is not None:
            tlvs += pdu.encode_tlv(pdu.USER_MESSAGE_REFERENCE, owed.reference)
    if "tlvs-only" not in dialect:
        text = _text(owed, message_id, now_s)
    return pdu.encode_body(
        owed.addresses,
        owed.destination,
        pdu.ESM_RECEIPT,
        priority_flag=0,
        validity_period=b"",
        registered_delivery=0,
        data_coding=0,
        short_message=text,
        tlvs=tlvs,
    )


def _text(owed: ReceiptToWrite, message_id: str, now_s: int) -> bytes:
    state, error, seconds = owed.state, owed.error, "dates-12" in owed.dialect
    return b"id:%b sub:001 dlvrd:%b submit date:%b done date:%b stat:%b err:%b text:" % (
        message_id.encode("ascii"),
        b"001" if state is ReceiptState.DELIVRD else b"000",
        _date(owed.submitted_at_s, seconds),
        _date(now_s, seconds),
        state.value.encode("ascii"),
        b"E" + error[1:].encode("ascii")
        if "err-letters" in owed.dialect
        else error.encode("ascii"),
    )


def _printed(owed: ReceiptToWrite) -> str:
    if "ids-decimal" in owed.dialect:
        return str(owed.number)
    if "ids-hex" in owed.dialect:
        return f"{owed.number:X}"
    return (
        owed.message_id.zfill(PADDED_CHARACTERS)
        if "ids-padded" in owed.dialect
        else owed.message_id
    )


@lru_cache(64)
def _date(at_s: int, seconds: bool) -> bytes:
    """Returns a time in UTC as YYMMDDhhmm, with or without ss (SMPP 3.4, appendix B)."""
    return strftime("%y%m%d%H%M%S" if seconds else "%y%m%d%H%M", gmtime(at_s)).encode("ascii")
