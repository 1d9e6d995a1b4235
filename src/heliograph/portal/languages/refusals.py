"""Says what the rooms below refuse, and their other English sentences, in the language that is
spoken.

A sentence is known by its words (`refusal_sentences.py`), and what it has in the places of its
figures and names is filled into the translation. Pages in English show the sentence itself.
"""

import re
from collections.abc import Mapping
from functools import cache
from typing import Final, NamedTuple

from markupsafe import Markup

from heliograph.base.errors import ServiceError
from heliograph.base.forms import SHOWN_MAX
from heliograph.portal.languages import formats
from heliograph.portal.languages.page_language import USUAL, language, translated
from heliograph.portal.languages.refusal_sentences import BY_REASON, SENTENCES

PLACE: Final = re.compile(r"%\((\w+)\)s")
# what begins with this is words of ours, too, and is translated before it is filled in
WORDS: Final = "why"
DEPTH_MAX: Final = 4  # of sentences in sentences
# what stands in these places is a list of choices, which are words of ours, or of names
CHOICES: Final = "choices"
LISTS: Final = (CHOICES, "allowed", "kinds", "others")
BETWEEN_NAMES: Final = re.compile(r", | and | or ")
# what stands in these places was typed, and stays as it is
TYPED: Final = ("given", "sent", "name", "phone", "sender", "id")
# a field's name, and what is wrong with it
OF_FIELD: Final = re.compile(
    r"(?:column (?P<place>\d+), (?P<name>'[^']*'),|tag (?P<tag>\d+)|(?P<custom>a custom field)"
    r"|(?P<field>\S+)) (?P<wrong>.+)",
    re.DOTALL,
)
# only custom fields have names of several words
OF_CUSTOM_FIELD: Final = re.compile(r"(?P<field>.{1,64}?) (?P<wrong>must .+)", re.DOTALL)
# each by the group that is there where it is said
NAMINGS: Final = {
    "place": "column %(place)s, %(name)s,",
    "tag": "tag %(tag)s",
    "custom": "a custom field",
}
BETWEEN: Final = "; "
# a value as `quote_value` quotes it, whole or cut short, within which nothing is between two fields
QUOTED: Final = (
    rf"(?<![^\s(])(?:['\"].{{{SHOWN_MAX - 1}}}…"
    r"|(?:'(?:[^'\\]|\\.)*'|\"(?:[^\"\\]|\\.)*\")(?=[\s;,.)]|$))"
)
QUOTED_OR_BETWEEN: Final = re.compile(f"{QUOTED}|{BETWEEN}", re.DOTALL)
PARTS_MAX: Final = 3  # of what is wrong with one field
PIECES_MAX: Final = 100  # of a text, so that it is compared with the sentences within a moment
MORE_FIELDS: Final = re.compile(r" ([0-9]+ more fields? (?:is|are) wrong\.)$")


class Sentence(NamedTuple):
    """Holds a sentence as the code of other rooms has it, with places for what differs."""

    text: str
    pattern: re.Pattern[str]


def translated_refusal(words: object, marks: bool = True) -> str:
    """Returns what was said, in the language that is spoken. What nobody has translated is marked
    as English; without `marks`, as for what people have written, it stays as it is.
    """
    text = str(words)
    if language() == USUAL:
        return text
    found = _translated(text)
    if found is None and isinstance(words, ServiceError):
        found = _by_reason(words)
    if found is not None:
        return found
    return Markup('<span lang="en">{}</span>').format(text) if marks and text else text


def _by_reason(error: ServiceError) -> str | None:
    """Returns the sentence of an error's reason, with the figures that the error has."""
    sentence = BY_REASON.get(error.reason)
    if sentence is None or not set(PLACE.findall(sentence)) <= set(error.extra):
        return None
    return translated(sentence) % error.extra


def _translated(text: str, depth: int = 0) -> str | None:
    """Returns None for what is not known."""
    more = MORE_FIELDS.search(text)
    if more is None:
        return _sentence(text, depth) or _of_fields(text, depth)
    first, rest = _of_fields(text[: more.start()], depth), _sentence(more[1], depth)
    return f"{first} {rest}" if first and rest else None


def _sentence(text: str, depth: int) -> str | None:
    if depth > DEPTH_MAX:
        return None
    for sentence in _sentences():
        match = sentence.pattern.fullmatch(text)
        if match is not None:
            return translated(sentence.text) % _filled(match.groupdict(), depth)
    return None


def _filled(found: Mapping[str, str], depth: int) -> dict[str, str]:
    return {name: _value(name, value, depth) for name, value in found.items()}


def _value(place: str, value: str, depth: int) -> str:
    """Returns what stands in a place, as the language writes it: sentences and words of ours,
    lists of them, numbers and amounts of money.
    """
    if place.startswith(WORDS):
        return _translated(value, depth + 1) or translated(value)
    if place.startswith(LISTS):
        names = BETWEEN_NAMES.split(value)
        ends = BETWEEN_NAMES.findall(value)
        displayed = [translated(name) if place.startswith(CHOICES) else name for name in names]
        return "".join(
            name + translated(end) for name, end in zip(displayed, [*ends, ""], strict=True)
        )
    return value if place.startswith(TYPED) else formats.number_in(value)


def _of_fields(text: str, depth: int) -> str | None:
    """Returns the translation of what is wrong with a field, or with several of them."""
    pieces = _pieces(text)
    if len(pieces) > PIECES_MAX:
        return None
    rests: list[str | None] = [""]  # what stands from each of the next pieces on
    for start in reversed(range(len(pieces))):
        found = None
        for count, rest in enumerate(rests[:PARTS_MAX], 1):
            words = BETWEEN.join(pieces[start : start + count])
            one = (_sentence(words, depth) if start else None) or _of_field(words, depth)
            if one is not None and rest is not None:
                found = f"{one}{translated(BETWEEN)}{rest}" if rest else one
                break
        rests.insert(0, found)
    return rests[0]


def _pieces(text: str) -> list[str]:
    """Returns what stands between semicolons, other than those of values."""
    pieces, start = list[str](), 0
    for found in QUOTED_OR_BETWEEN.finditer(text):
        if found[0] == BETWEEN:
            pieces.append(text[start : found.start()])
            start = found.end()
    return [*pieces, text[start:]]


def _of_field(text: str, depth: int) -> str | None:
    """Returns the translation of a field's name with what is wrong with it."""
    for naming in (OF_FIELD, OF_CUSTOM_FIELD):
        match = naming.fullmatch(text.removesuffix("."))
        wrong = None if match is None else _sentence(match["wrong"], depth)
        if match is not None and wrong is not None:
            return f"{_naming(match.groupdict())} {wrong}{'.' * text.endswith('.')}"
    return None


def _naming(found: Mapping[str, str | None]) -> str:
    """Returns how the field is called in the language that is spoken."""
    for group, words in NAMINGS.items():
        if found.get(group):
            return translated(words) % found
    return str(found["field"])


@cache
def _sentences() -> tuple[Sentence, ...]:
    """Returns the sentences, those with the most words of their own first."""
    by_words = sorted(SENTENCES, key=lambda text: -len(PLACE.sub("", text)))
    return tuple(Sentence(text, pattern_of(text)) for text in by_words)


def pattern_of(text: str) -> re.Pattern[str]:
    """Returns what a whole text is compared with: the words of a sentence, and groups named as its
    places.
    """
    parts = PLACE.split(text)  # words, a name, words, a name, …
    words = [
        f"(?P<{part}>.+?)" if place % 2 else re.escape(part.replace("%%", "%"))
        for place, part in enumerate(parts)
    ]
    return re.compile("".join(words), re.DOTALL)
