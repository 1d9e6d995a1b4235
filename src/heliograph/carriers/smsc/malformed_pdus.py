"""Makes octets that are not a valid PDU."""

from collections.abc import Callable
from typing import Final

from heliograph.carriers.smpp import pdu

_UNKNOWN_COMMAND: Final = 0x00000F00  # reserved (SMPP 3.4, 5.1.2.1)
_SEQUENCE: Final = 1


def _with_length(length: int) -> bytes:
    return pdu.HEADER.pack(length, pdu.DELIVER_SM, pdu.ESME_ROK, _SEQUENCE)


def _with_a_bad_tlv() -> bytes:
    """Returns a deliver_sm whose TLV reaches beyond its end."""
    tlv = pdu.encode_tlv(pdu.RECEIPTED_MESSAGE_ID, b"4711\0")[:-2]
    return pdu.encode_pdu(
        pdu.DELIVER_SM,
        pdu.ESME_ROK,
        _SEQUENCE,
        pdu.encode_sm(pdu.ShortMessage(esm_class=pdu.ESM_RECEIPT)) + tlv,
    )


_FORMS: Final[dict[str, Callable[[], bytes]]] = {
    "length-0": lambda: _with_length(0),
    "length-15": lambda: _with_length(15),
    "length-2g": lambda: _with_length(2**31),
    "tlv": _with_a_bad_tlv,
    "command": lambda: pdu.encode_pdu(_UNKNOWN_COMMAND, pdu.ESME_ROK, _SEQUENCE),
}


def malformed_pdu(form: str) -> bytes:
    """Returns the octets of one of chaos.MALFORMED."""
    return _FORMS[form]()
