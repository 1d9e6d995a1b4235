"""Reads the texts that handsets send: in which alphabet one is, and which part of a longer one.

Nothing here raises. What contradicts itself becomes a text in no alphabet, whose octets are kept as
they came.
"""

import hashlib
from collections.abc import Iterator
from typing import Final, NamedTuple

from heliograph.carriers.link import BINARY, LATIN_1, HandsetText, PartOf
from heliograph.carriers.smpp import pdu
from heliograph.text import GSM_7, UCS_2

ADDRESS_CHARACTERS_MAX: Final = 64  # SMPP 3.4, 4.7.1: of a data_sm, with its NUL

_NATIONAL: Final = 2  # a type of number (SMPP 3.4, 5.2.5)
# Information elements of a user data header (3GPP TS 23.040, 9.2.3.24): a reference of 8 or 16
# bits, and the national tables of GSM-7, which nothing here reads.
_REFERENCE_8: Final = 0x00
_REFERENCE_16: Final = 0x08
_NATIONAL_TABLES: Final = frozenset({0x24, 0x25})
# references of different kinds are different ones, whatever their numbers
_KIND_8: Final = 1 << 16
_KIND_16: Final = 2 << 16
_KIND_SAR: Final = 3 << 16

# data_coding (SMPP 3.4, 5.2.19)
_CODINGS: Final = {0x00: GSM_7, 0x01: LATIN_1, 0x03: LATIN_1, 0x08: UCS_2}


class _Header(NamedTuple):
    """Holds what a user data header says, and the octets behind it. `is_broken`: it reaches beyond
    them. `has_national_tables`: septets are not read as they usually are.
    """

    octets: bytes
    part: PartOf | None = None
    is_broken: bool = False
    has_national_tables: bool = False


def read_handset_text(message: pdu.ShortMessage, token: object) -> HandsetText:
    """Returns the text, or the part of one, in a deliver_sm or data_sm."""
    octets = message.short_message or message.tlvs.get(pdu.MESSAGE_PAYLOAD, b"")
    header = _header(octets) if message.esm_class & pdu.ESM_UDH else _Header(octets)
    alphabet = _alphabet(message.data_coding)
    if header.is_broken or (header.has_national_tables and alphabet == GSM_7):
        alphabet = BINARY
    return HandsetText(
        _address(message.source_addr),
        _address(message.destination_addr),
        alphabet,
        header.octets,
        header.part or _sar(message.tlvs),
        digest=_digest(message, octets),
        token=token,
        is_national=message.source_ton == _NATIONAL and message.source_addr[:1] != "+",
    )


def _address(address: str) -> str:
    """Returns an address as we write it: of a number, digits without plus."""
    address = address[:ADDRESS_CHARACTERS_MAX]
    digits = address.removeprefix("+")
    return digits if digits.isascii() and digits.isdigit() else address


def _alphabet(coding: int) -> str:
    """Returns the alphabet of a data_coding. What SMPP does not name, carriers hand on from the
    network: the groups of 3GPP TS 23.038, section 4.
    """
    if coding <= 0x0F:
        return _CODINGS.get(coding, BINARY)
    group = coding >> 4
    # 4 to 7 say what 0 to 3 do, and that the phone deletes the text. Bit 5 is: compressed.
    if group <= 0x7 and not coding & 0x20:
        return (GSM_7, BINARY, UCS_2, BINARY)[coding >> 2 & 3]
    if group in (0xC, 0xD):
        return GSM_7
    if group == 0xE:
        return UCS_2
    if group == 0xF:
        return BINARY if coding & 0x04 else GSM_7
    return BINARY


def _header(octets: bytes) -> _Header:
    """Reads a user data header. If it reaches beyond the octets, all of them are kept."""
    end = 1 + octets[0] if octets else 1
    elements = list(_elements(octets[1:end]))
    if end > len(octets) or None in elements:
        return _Header(octets, is_broken=True)
    part = None
    has_national_tables = False
    for element in elements:
        assert element is not None
        kind, data = element
        if kind == _REFERENCE_8 and len(data) == 3:
            part = _part(_KIND_8 | data[0], data[1], data[2]) or part
        elif kind == _REFERENCE_16 and len(data) == 4:
            part = _part(_KIND_16 | data[0] << 8 | data[1], data[2], data[3]) or part
        elif kind in _NATIONAL_TABLES:
            has_national_tables = True
    return _Header(octets[end:], part, has_national_tables=has_national_tables)


def _elements(header: bytes) -> Iterator[tuple[int, bytes] | None]:
    """Yields the kind and the data of each element, and None for one that is cut off."""
    at = 0
    while at < len(header):
        end = at + 2 + header[at + 1] if at + 1 < len(header) else len(header) + 1
        yield (header[at], header[at + 2 : end]) if end <= len(header) else None
        at = end


def _sar(tlvs: dict[int, bytes]) -> PartOf | None:
    """Returns what the TLVs of SMPP say (SMPP 3.4, 5.3.2.22 to 24), which need each other."""
    reference, total, number = (
        tlvs.get(tag, b"")
        for tag in (pdu.SAR_MSG_REF_NUM, pdu.SAR_TOTAL_SEGMENTS, pdu.SAR_SEGMENT_SEQNUM)
    )
    if (len(reference), len(total), len(number)) != (2, 1, 1):
        return None
    return _part(_KIND_SAR | int.from_bytes(reference, "big"), total[0], number[0])


def _part(reference: int, total: int, number: int) -> PartOf | None:
    """Returns which part a text is. It is None for a text of one part, and for a number that no
    part can have (3GPP TS 23.040, 9.2.3.24.1: such an element is ignored).
    """
    return PartOf(reference, total, number) if total > 1 and 1 <= number <= total else None


def _digest(message: pdu.ShortMessage, octets: bytes) -> str:
    """Returns a digest that two PDUs share only if one is the other, sent again."""
    tags = (pdu.SAR_MSG_REF_NUM, pdu.SAR_TOTAL_SEGMENTS, pdu.SAR_SEGMENT_SEQNUM)
    identity = (
        message.source_addr,
        message.destination_addr,
        message.esm_class & pdu.ESM_UDH,
        message.data_coding,
        octets,
        *(message.tlvs.get(tag) for tag in tags),
    )
    return hashlib.sha256(repr(identity).encode()).hexdigest()[:32]
