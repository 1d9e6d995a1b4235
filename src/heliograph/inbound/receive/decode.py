"""Makes a text of the octets that came in, exactly: what is not text stays as it came, in base64.

The octets of parts are put together before they are read, because a carrier may cut anywhere: also
between an escape and its character, or within a surrogate pair.
"""

from base64 import b64encode
from collections.abc import Sequence
from typing import Final, NamedTuple

from heliograph.carriers import BINARY, LATIN_1
from heliograph.text import GSM_7, UCS_2, gsm7_text, ucs2_text

ENCODINGS: Final = (GSM_7, LATIN_1, UCS_2, BINARY)
_ESCAPE: Final = 0x1B
_WIDEST: Final = (UCS_2, LATIN_1, GSM_7)


class TextPiece(NamedTuple):
    """Holds the octets of one part. `number` is its place in the text."""

    number: int
    alphabet: str
    octets: bytes


class DecodedText(NamedTuple):
    """Holds a text. With the encoding `binary` it is base64 of the octets."""

    encoding: str
    text: str


def decode(pieces: Sequence[TextPiece], *, complete: bool) -> DecodedText:
    """Returns the text of these parts, in their order. Of an incomplete text, half a character at
    an edge of what is there becomes a replacement character.

    What cannot be read in its alphabet, or has a NUL, which no text column takes, is binary. NULs
    behind the text are left out: some centres end it with them, as programs in C end theirs.
    """
    if all(piece.alphabet != BINARY for piece in pieces):
        try:
            read = [_read(alphabet, octets, complete) for alphabet, octets in _runs(pieces)]
        except ValueError:
            read = []
        whole = "".join(each.text for each in read)
        text = whole.rstrip("\0")
        if read and "\0" not in text and (text or not whole):
            encodings = {each.encoding for each in read}
            return DecodedText(next(each for each in _WIDEST if each in encodings), text)
    return DecodedText(BINARY, b64encode(b"".join(piece.octets for piece in pieces)).decode())


def _runs(pieces: Sequence[TextPiece]) -> list[tuple[str, bytes]]:
    """Returns the octets of parts that follow each other in one alphabet, put together."""
    runs: list[tuple[str, bytes]] = []
    last: TextPiece | None = None
    octets = b""
    for piece in pieces:
        if last is not None and (last.alphabet, last.number + 1) != (piece.alphabet, piece.number):
            runs.append((last.alphabet, octets))
            octets = b""
        octets += piece.octets
        last = piece
    return [*runs, (last.alphabet, octets)] if last is not None else runs


def _read(alphabet: str, octets: bytes, complete: bool) -> DecodedText:
    if alphabet == GSM_7:
        # some carriers' own default alphabet is Latin-1: no septet is over 7F
        return DecodedText(GSM_7, _gsm7(octets)) if octets.isascii() else _latin1(octets)
    if alphabet == LATIN_1:
        return _latin1(octets)
    if complete:
        return DecodedText(UCS_2, ucs2_text(octets))
    return DecodedText(UCS_2, octets.decode("utf-16-be", "replace"))


def _latin1(octets: bytes) -> DecodedText:
    return DecodedText(LATIN_1, octets.decode("latin-1"))


def _gsm7(octets: bytes) -> str:
    """Reads septets as handsets do (3GPP TS 23.038, 6.2.1.1): an escape before a code that the
    extension table does not have is left out, and one before another, or before nothing, is a
    space.
    """
    try:
        return gsm7_text(octets)
    except ValueError:
        pass
    text: list[str] = []
    at = 0
    while at < len(octets):
        width = 1
        if octets[at] != _ESCAPE:
            text.append(gsm7_text(octets[at : at + 1]))
        elif octets[at + 1 : at + 2] in (b"", b"\x1b"):
            text.append(" ")
            width = 2
        else:
            try:
                text.append(gsm7_text(octets[at : at + 2]))
                width = 2
            except ValueError:
                pass
        at += width
    return "".join(text)
