"""What the rooms below refuse, and what else they say in English sentences, in the language that is
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
from heliograph.portal.languages.refusal_sentences import BY_REASON, SENTENCES
from heliograph.portal.languages.spoken import USUAL, language, said

PLACE: Final = re.compile(r"%\((\w+)\)s")
# what begins with this is words of ours, too, and is translated before it is filled in
WORDS: Final = "why"
DEPTH_MAX: Final = 4  # of sentences in sentences
# a field's name, and what is wrong with it
OF_FIELD: Final = re.compile(r"(column \d+, '[^']*',|\S+) (.+)", re.DOTALL)
BETWEEN: Final = "; "


class Sentence(NamedTuple):
    """A sentence as the code of other rooms has it, with places for what differs."""

    text: str
    pattern: re.Pattern[str]


def told(words: object, marks: bool = True) -> str:
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
    return said(sentence) % error.extra


def _translated(text: str, depth: int = 0) -> str | None:
    """Returns None for what is not known."""
    if depth > DEPTH_MAX:
        return None
    for sentence in _sentences():
        match = sentence.pattern.fullmatch(text)
        if match is not None:
            return said(sentence.text) % _filled(match.groupdict(), depth)
    return _of_field(text, depth)


def _filled(found: Mapping[str, str], depth: int) -> dict[str, str]:
    return {
        name: (_translated(value, depth + 1) or said(value)) if name.startswith(WORDS) else value
        for name, value in found.items()
    }


def _of_field(text: str, depth: int) -> str | None:
    """Returns the translation of a field's name with what is wrong with it, or of several of
    them.
    """
    if BETWEEN in text:
        parts = [_translated(part, depth + 1) for part in text.split(BETWEEN)]
        known = [part for part in parts if part is not None]
        return BETWEEN.join(known) if len(known) == len(parts) else None
    match = OF_FIELD.fullmatch(text.removesuffix("."))
    if match is None:
        return None
    wrong = _translated(match[2], depth + 1)
    end = "." * text.endswith(".")
    return None if wrong is None else f"{match[1]} {wrong}{end}"


@cache
def _sentences() -> tuple[Sentence, ...]:
    """Returns the sentences, those with the most words of their own first."""
    by_words = sorted(SENTENCES, key=lambda text: -len(PLACE.sub("", text)))
    return tuple(Sentence(text, _pattern(text)) for text in by_words)


def _pattern(text: str) -> re.Pattern[str]:
    parts = PLACE.split(text)  # words, a name, words, a name, …
    words = [
        f"(?P<{part}>.+?)" if place % 2 else re.escape(part.replace("%%", "%"))
        for place, part in enumerate(parts)
    ]
    return re.compile("".join(words), re.DOTALL)
