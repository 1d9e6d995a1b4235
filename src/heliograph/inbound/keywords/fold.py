"""Folds words, so that one is known however a person writes it on a phone."""

import re
import unicodedata
from typing import Final

# Phones write these Latin letters of Twi and Hausa without their hooks, and the letters of Arabic
# that are written in several ways in one of them. Unicode sees no accent in any of them.
_LETTERS: Final = str.maketrans(
    # the characters of the second line, for those of the first
    "ɛɔɓɗƙƴıøđł" + "ٱىةک" + "ی" + "’‘`´ʼ",
    "eobdkyiodl" + "اي" + "هك" + "ي" + "'''''",
    "\u115f\u1160",  # letters that nobody sees, with which phones fill up
)
# of ASCII: hyphens are spaces, and characters that nobody sees are nothing
_ASCII: Final = {
    **dict.fromkeys([*range(0x20), 0x7F]),
    ord("-"): " ",
    ord("_"): " ",
    ord("`"): "'",
}
_INSIDE: Final = re.compile(r"[a-z0-9](?:.*[a-z0-9])?")
# general categories (Unicode Standard, 4.5)
_UNSEEN: Final = frozenset({"Mn", "Me", "Cf", "Cc", "Cs", "Co", "Cn"})
_HYPHENS: Final = frozenset({"Pd", "Pc"})
_TATWEEL: Final = "\u0640"  # it only makes an Arabic word longer
_LETTERS_AND_DIGITS: Final = ("L", "N")
_WORD: Final = re.compile(r"[^\W_]+")


def fold(text: str) -> str:
    """Returns the text as keywords are compared: without case, accents, vowel signs and characters
    that nobody sees, with one space for several and for a hyphen, and without what surrounds its
    first and last letter or digit. It is empty if the text has neither letters nor digits.
    """
    if text.isascii():  # most texts, at a tenth of the time
        return _folded_ascii(text)
    while (folded := _folded_once(text)) != text:
        text = folded
    return folded


def tokens(text: str) -> list[str]:
    """Returns the folded words of a text in their order. An apostrophe joins: `don't` is
    `dont`.
    """
    return _WORD.findall(fold(text).replace("'", ""))


def _folded_ascii(text: str) -> str:
    """Returns what `_folded_once` does, of a text that has nothing but ASCII."""
    spaced = " ".join(text.lower().split()).translate(_ASCII)
    inside = _INSIDE.search(spaced)
    return " ".join(inside[0].split()) if inside is not None else ""


def _folded_once(text: str) -> str:
    spaced = " ".join(text.split())
    plain = unicodedata.normalize("NFKD", unicodedata.normalize("NFKD", spaced).casefold())
    kinds = [(each, unicodedata.category(each)) for each in plain.translate(_LETTERS)]
    visible = "".join(
        " " if kind in _HYPHENS else each
        for each, kind in kinds
        if kind not in _UNSEEN and each != _TATWEEL
    )
    return unicodedata.normalize("NFC", " ".join(_without_edges(visible).split()))


def _without_edges(text: str) -> str:
    inside = [
        place
        for place, character in enumerate(text)
        if unicodedata.category(character)[0] in _LETTERS_AND_DIGITS
    ]
    return text[inside[0] : inside[-1] + 1] if inside else ""
