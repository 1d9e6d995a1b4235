"""Makes short messages of a text: it finds its encoding, its segments, and the octets that they
carry (docs/api.md, "Segments and price").

GSM-7 is the default alphabet of 3GPP TS 23.038, section 6.2.1, with its extension table, 6.2.1.1.
One character outside of it makes the whole text UCS-2, and dearer. No text is ever altered to fit.
"""

import re
from collections.abc import Callable
from itertools import pairwise
from typing import Final, NamedTuple

GSM_7: Final = "GSM-7"
UCS_2: Final = "UCS-2"

# 1,530 characters: what is longer is more likely a slip than a message, and is paid for by the
# segment
SEGMENTS_MAX: Final = 10

# A short message holds 140 octets (3GPP TS 23.040, 9.2.3.24): 160 septets or 70 UCS-2 units. In one
# of several, the 6 octets of the concatenation header take the room of 7 septets or 3 units.
_OCTETS: Final = 140
CONCATENATION_OCTETS: Final = 6
_SEPTETS_ALONE: Final = 160
_SEPTETS_OF_PART: Final = 153
_UNITS_ALONE: Final = 70
_UNITS_OF_PART: Final = 67

_ESCAPE: Final = "\x1b"
# by code, 00 to 7F; 1B, which is not a character, is the escape to the extension table
_DEFAULT_ALPHABET: Final = (
    "@£$¥èéùìòÇ\nØø\rÅåΔ_ΦΓΛΩΠΨΣΘΞ\x1bÆæßÉ"
    " !\"#¤%&'()*+,-./0123456789:;<=>?¡ABCDEFGHIJKLMNOPQRSTUVWXYZÄÖÑÜ§"
    "¿abcdefghijklmnopqrstuvwxyzäöñüà"
)
_EXTENSION: Final = {
    0x0A: "\f",
    0x14: "^",
    0x28: "{",
    0x29: "}",
    0x2F: "\\",
    0x3C: "[",
    0x3D: "~",
    0x3E: "]",
    0x40: "|",
    0x65: "€",
}

_BASIC_CHARACTERS: Final = re.escape(_DEFAULT_ALPHABET.replace(_ESCAPE, ""))
_BASIC: Final = re.compile(f"[{_BASIC_CHARACTERS}]*+")
_GSM: Final = re.compile(f"[{_BASIC_CHARACTERS}{re.escape(''.join(_EXTENSION.values()))}]*+")

_CODES: Final = {ord(character): code for code, character in enumerate(_DEFAULT_ALPHABET)} | {
    ord(character): _ESCAPE + chr(code) for code, character in _EXTENSION.items()
}
_EXTENSION_BY_SEPTET: Final = {chr(code): character for code, character in _EXTENSION.items()}


class SegmentCount(NamedTuple):
    """Says in which encoding a text is sent, and in how many segments."""

    encoding: str  # "GSM-7" or "UCS-2"
    segments: int  # short messages, from 1


def count(text: str) -> SegmentCount:
    """Returns the encoding of a text and how many segments it takes; more than SEGMENTS_MAX are
    counted too, for the caller to refuse. The time it takes grows with the length of the text, and
    no faster. Raises ValueError for a lone surrogate.
    """
    if _BASIC.fullmatch(text):
        septets = len(text)
        return SegmentCount(
            GSM_7, 1 if septets <= _SEPTETS_ALONE else -(-septets // _SEPTETS_OF_PART)
        )
    if _GSM.fullmatch(text):
        return SegmentCount(GSM_7, len(_ends_in_septets(_escape(text))))
    return SegmentCount(UCS_2, len(_ends_in_units(ucs2_octets(text))))


def beyond_gsm7(text: str) -> list[str]:
    """Returns the characters that make a text UCS-2, each once, in the order in which they come."""
    return [character for character in dict.fromkeys(text) if not _GSM.fullmatch(character)]


def split(text: str, encoding: str, header_octets: int = CONCATENATION_OCTETS) -> list[str]:
    """Returns the text of every segment, in order; joined they are the text. Each holds as much as
    it can beside a header of so many octets, and no pair is divided.

    `encoding` is what `count` returned, or "UCS-2" for any text. Raises ValueError when the text
    cannot be encoded so.
    """
    room_octets = _OCTETS - header_octets
    if encoding == GSM_7:
        _check_gsm7(text)
        escaped = _escape(text)
        return [
            escaped[start:end].replace(_ESCAPE, "")
            for start, end in pairwise([0, *_ends_in_septets(escaped, room_octets * 8 // 7)])
        ]
    if encoding == UCS_2:
        octets = ucs2_octets(text)
        return [
            ucs2_text(octets[2 * start : 2 * end])
            for start, end in pairwise([0, *_ends_in_units(octets, room_octets // 2)])
        ]
    raise ValueError(f"no such encoding: {encoding!r}; there are {GSM_7!r} and {UCS_2!r}")


def gsm7_octets(text: str) -> bytes:
    """Returns a text in the default alphabet, a septet an octet, with extension characters as 1B
    and their code: what SMPP carries with data_coding 0. Raises ValueError when a character is
    not in it.
    """
    _check_gsm7(text)
    return text.translate(_CODES).encode("ascii")


def gsm7_text(octets: bytes) -> str:
    """Returns the text of `gsm7_octets`. Raises ValueError for octets that are not GSM-7: an
    octet over 7F, or an escape that no code of the extension table follows.
    """
    if not octets.isascii():
        raise ValueError("an octet over 7F is no septet")
    basic, *escaped = octets.decode("ascii").split(_ESCAPE)
    parts = [basic.translate(_DEFAULT_ALPHABET)]
    for rest in escaped:
        character = _EXTENSION_BY_SEPTET.get(rest[:1])
        if character is None:
            raise ValueError(
                f"escape before {rest[:1].encode('ascii').hex() or 'nothing'}, which is not in the"
                " GSM 7-bit extension table"
            )
        parts += character, rest[1:].translate(_DEFAULT_ALPHABET)
    return "".join(parts)


def ucs2_octets(text: str) -> bytes:
    """Returns a text as UTF-16BE: what SMPP carries with data_coding 8. Raises ValueError for a
    lone surrogate.
    """
    return text.encode("utf-16-be")


def ucs2_text(octets: bytes) -> str:
    """Returns the text of `ucs2_octets`. Raises ValueError for half a unit or a lone surrogate."""
    return octets.decode("utf-16-be")


def _check_gsm7(text: str) -> None:
    """Raises ValueError unless every character is in the default alphabet or its extension
    table.
    """
    found = _GSM.match(text)
    end = found.end() if found else 0
    if end < len(text):
        raise ValueError(
            f"U+{ord(text[end]):04X} at position {end} is not in the GSM 7-bit default alphabet"
        )


def _escape(text: str) -> str:
    """Returns a GSM-7 text with the escape before each extension character, so that it has as
    many characters as it takes septets.
    """
    for character in _EXTENSION.values():
        text = text.replace(character, _ESCAPE + character)
    return text


def _ends_in_septets(escaped: str, part: int = _SEPTETS_OF_PART) -> list[int]:
    return _ends(len(escaped), _SEPTETS_ALONE, part, lambda at: escaped[at] == _ESCAPE)


def _ends_in_units(octets: bytes, part: int = _UNITS_OF_PART) -> list[int]:
    # D800..DBFF is the first half of a surrogate pair
    return _ends(len(octets) // 2, _UNITS_ALONE, part, lambda at: octets[2 * at] & 0xFC == 0xD8)


def _ends(size: int, alone: int, part: int, opens_pair: Callable[[int], bool]) -> list[int]:
    """Returns where each segment of a text of `size` septets or units ends. A segment that would
    end within a pair leaves the pair to the next.
    """
    if size <= alone:
        return [size]
    ends = []
    end = 0
    while end < size:
        end = min(end + part, size)
        if opens_pair(end - 1):
            end -= 1
        ends.append(end)
    return ends
