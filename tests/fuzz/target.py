"""Gives octets to everything that reads them from the other side of an SMPP connection, ours and
the SMSC's.
"""

from heliograph.carriers.smpp import pdu
from heliograph.carriers.smpp.framing import PDU_OCTETS_MAX, Framer
from heliograph.carriers.smpp.receipt import (
    ERROR_CHARACTERS_MAX,
    RAW_OCTETS_MAX,
    REF_CHARACTERS_MAX,
    is_receipt,
    read_receipt,
)
from heliograph.carriers.smsc import journal_entry

_STATUSES = {pdu.ESME_RINVCMDLEN, pdu.ESME_RINVMSGLEN, pdu.ESME_RINVTLVSTREAM}


def read_anything(octets: bytes) -> None:
    """Reads octets, the first of which says what the others are. Raises whatever is a fault of
    ours: nothing but PduError may come of any octets.
    """
    kind, rest = octets[:1], octets[1:]
    if kind == b"S":
        _stream(rest)
    elif kind == b"B":
        _bind(rest)
    elif kind == b"R":
        _receipt(pdu.ShortMessage("233201234567", "AMINA", rest[:254], pdu.ESM_RECEIPT))
    else:
        _body(rest)


def _stream(octets: bytes) -> None:
    """Asserts that the octets give the same PDUs as whole, cut at a place that they choose."""
    whole, cut = Framer(), Framer()
    frames = whole.feed(octets)
    at = octets[-1] if octets else 0
    assert cut.feed(octets[:at]) + cut.feed(octets[at:]) == frames
    assert (whole.broken is None) == (cut.broken is None)
    assert whole.unfinished_octets == cut.unfinished_octets <= PDU_OCTETS_MAX
    for frame in frames:
        pdu.command_name(frame.command)
        _body(frame.body)


def _body(octets: bytes) -> None:
    """Asserts that what can be decoded is decoded the same once it is encoded again."""
    try:
        message = pdu.decode_sm(octets)
    except pdu.PduError as malformed:
        if malformed.status not in _STATUSES:
            raise
        return
    assert pdu.decode_sm(pdu.encode_sm(message)) == message
    _receipt(message)
    told = journal_entry.journal_fields(message)
    assert len(told["text_sha256"]) == 64
    assert 0 <= told["part"] <= 255 or told["long"] == "sar"


def _bind(octets: bytes) -> None:
    try:
        bind = pdu.decode_bind(octets)
    except pdu.PduError as malformed:
        if malformed.status != pdu.ESME_RINVCMDLEN:
            raise
        return
    assert pdu.decode_bind(pdu.encode_bind(bind)) == bind


def _receipt(message: pdu.ShortMessage) -> None:
    is_receipt(message)
    receipt = read_receipt(message, None)
    assert receipt.ref is None or 0 < len(receipt.ref) <= REF_CHARACTERS_MAX
    assert receipt.error is None or 0 < len(receipt.error) <= ERROR_CHARACTERS_MAX
    assert len(receipt.raw) <= RAW_OCTETS_MAX
    assert receipt.user_message_reference is None or 0 <= receipt.user_message_reference <= 0xFFFF
