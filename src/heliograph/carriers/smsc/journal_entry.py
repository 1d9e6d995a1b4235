"""Describes a submit_sm for the journal: which part of which message it is, and a hash of
its text.
"""

from functools import lru_cache
from hashlib import sha256
from typing import Any, Final, NamedTuple

from heliograph.carriers.smpp import pdu
from heliograph.carriers.smpp.receipt import UCS2
from heliograph.text import gsm7_text, ucs2_text

TEXTS_KEPT_MAX: Final = 512  # a bulk send has few texts: each is decoded and hashed once

SAR: Final = (pdu.SAR_MSG_REF_NUM, pdu.SAR_TOTAL_SEGMENTS, pdu.SAR_SEGMENT_SEQNUM)
# information elements of a user data header (3GPP TS 23.040, 9.2.3.24.1 and .8)
_CONCATENATED_8: Final = 0x00
_CONCATENATED_16: Final = 0x08
_CODECS: Final = {1: "ascii", 3: "latin-1"}  # SMPP 3.4, 5.2.19


class LongMessagePart(NamedTuple):
    """Says which part of a long message a submit_sm is, and by which of the three forms it
    says so.
    """

    form: str  # "udh", "sar", "payload"; "" for a short one
    reference: int | None = None
    parts: int = 1
    part: int = 1


_SHORT: Final = LongMessagePart("")
_PAYLOAD: Final = LongMessagePart("payload")


def message_part_of(message: pdu.ShortMessage) -> tuple[LongMessagePart, bytes]:
    """Returns the part that it is, and its text's octets without the user data header."""
    tlvs = message.tlvs
    octets = message.short_message
    long = _SHORT
    if tlvs and pdu.MESSAGE_PAYLOAD in tlvs:
        octets, long = tlvs[pdu.MESSAGE_PAYLOAD], _PAYLOAD
    if message.esm_class & pdu.ESM_UDH and octets:
        end = octets[0] + 1
        return _from_header(octets[1:end]) or long, octets[end:]
    if tlvs and pdu.SAR_MSG_REF_NUM in tlvs:
        number, total, part = (int.from_bytes(tlvs.get(tag, b""), "big") for tag in SAR)
        return LongMessagePart("sar", number, total, part), octets
    return long, octets


def _from_header(header: bytes) -> LongMessagePart | None:
    at = 0
    while at + 2 <= len(header):
        element, length = header[at : at + 2]
        value = header[at + 2 : at + 2 + length]
        if (element, len(value)) in ((_CONCATENATED_8, 3), (_CONCATENATED_16, 4)):
            return LongMessagePart("udh", int.from_bytes(value[:-2], "big"), value[-2], value[-1])
        at += 2 + length
    return None


def text_hash(data_coding: int, octets: bytes) -> str:
    """Returns the SHA-256, in hexadecimal, of the text in UTF-8, which is the same whatever
    alphabet carried it. When the octets are no text, it is the hash of the octets.
    """
    return (_short_hash if len(octets) <= pdu.SHORT_MESSAGE_OCTETS_MAX else _hash)(
        data_coding, octets
    )


def _hash(data_coding: int, octets: bytes) -> str:
    try:
        return sha256(_text(data_coding, octets).encode("utf-8")).hexdigest()
    except ValueError:
        return sha256(octets).hexdigest()


_short_hash = lru_cache(TEXTS_KEPT_MAX)(_hash)


def _text(data_coding: int, octets: bytes) -> str:
    if data_coding == UCS2:
        return ucs2_text(octets)
    codec = _CODECS.get(data_coding)
    return octets.decode(codec) if codec else gsm7_text(octets)


def journal_fields(message: pdu.ShortMessage) -> dict[str, Any]:
    """Returns the fields of the journal's line about a submit_sm, or about a part of one."""
    long, octets = message_part_of(message)
    reference = message.tlvs.get(pdu.USER_MESSAGE_REFERENCE)
    return {
        "sender": message.source_addr,
        "recipient": message.destination_addr,
        "long": long.form or None,
        "long_reference": long.reference,
        "part": long.part,
        "parts": long.parts,
        "user_message_reference": int.from_bytes(reference, "big") if reference else None,
        "text_sha256": text_hash(message.data_coding, octets),
        "text_octets": len(octets),
        "data_coding": message.data_coding,
        "esm_class": message.esm_class,
        "registered_delivery": message.registered_delivery,
        "priority_flag": message.priority_flag,
        "validity_period": message.validity_period,
    }
