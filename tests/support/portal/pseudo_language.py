"""Makes French with marks around all that was translated. What a page shows outside of them was
not.
"""

import re
from collections.abc import Iterator
from contextlib import contextmanager
from html.parser import HTMLParser
from pathlib import Path

from babel.messages import pofile

from heliograph.portal import rendering
from heliograph.portal.languages import page_language

BEGIN, END = "⟦", "⟧"
_HTML_OR_PLACE = re.compile(r"<[^>]*>|%\(\w+\)s|%%")
# what people see beside the text of a page
SEEN = ("aria-label", "placeholder", "title", "alt", "data-copied", "data-by-hand", "data-cannot")
# these hold programs, ids and times
NOT_WORDS = ("script", "style", "code", "pre", "time")
EMPTY = ("input", "meta", "link", "br", "hr", "img", "use", "rect", "line", "path", "col")
# 31 janv. 2026, and 31 janv. 2026, 14:30:00 UTC
DATE = re.compile(r"\b\d{1,2} (?:janv|févr|mars|avr|mai|juin|juil|août|sept|oct|nov|déc)\b\.?")
# a word of some letters, which is not part of an id, an address, a file or a code
WORD = re.compile(r"(?<![\w.@/:+-])[^\W\d_]{2,}(?![\w@/:-]|\.\w)")


@contextmanager
def marked_french(directory: Path) -> Iterator[None]:
    """Has French pages made of a catalog in which each translation is in marks. The values that are
    filled into it are outside of them.
    """
    with page_language.TRANSLATIONS.joinpath("fr", "LC_MESSAGES", "portal.po").open("rb") as real:
        catalog = pofile.read_po(real, locale="fr")
    for message in catalog:
        if message.id and isinstance(message.string, str):
            message.string = marks(message.string)
        elif message.id:
            message.string = tuple(marks(form) for form in message.string or ())
    file = directory / "fr" / "LC_MESSAGES" / "portal.po"
    file.parent.mkdir(parents=True)
    with file.open("wb") as texts:
        pofile.write_po(texts, catalog)
    ours, page_language.TRANSLATIONS = page_language.TRANSLATIONS, directory
    _forget()
    try:
        yield
    finally:
        page_language.TRANSLATIONS = ours
        _forget()


def _forget() -> None:
    page_language.catalog.cache_clear()
    rendering._environment.cache_clear()


def marks(text: str) -> str:
    """Puts a text into marks, but neither its tags nor the places of its values."""
    said, last = "", 0
    for found in _HTML_OR_PLACE.finditer(text):
        said += _in_marks(text[last : found.start()]) + found[0]
        last = found.end()
    return said + _in_marks(text[last:])


def _in_marks(words: str) -> str:
    return f"{BEGIN}{words}{END}" if words.strip() else words


class _Shown(HTMLParser):
    """Collects what a page shows outside of marks."""

    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self.texts: list[str] = []
        self._hidden: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = dict(attrs)
        if not self._hidden:
            self.texts += [given[name] or "" for name in SEEN if given.get(name)]
        is_other = tag != "html" and given.get("lang") not in (None, "fr")
        if tag not in EMPTY and (self._hidden or tag in NOT_WORDS or is_other):
            self._hidden.append(tag)

    def handle_endtag(self, tag: str) -> None:
        if self._hidden and tag not in EMPTY:
            self._hidden.pop()

    def handle_data(self, data: str) -> None:
        if not self._hidden:
            self.texts.append(data)


def english_of(html: str, data: set[str]) -> list[str]:
    """Returns the texts of a page that have words outside of marks, other than the words in
    `data`.
    """
    shown = _Shown()
    shown.feed(html)
    found = []
    for text in shown.texts:
        bare = DATE.sub(" ", re.sub(f"{BEGIN}.*?{END}", " ", text, flags=re.DOTALL))
        if any(word.casefold() not in data for word in WORD.findall(bare)):
            found.append(" ".join(text.split()))
    return found
