"""Keeps which language a page is written in, and finds its texts.

English texts stand in the code, and name their translations. A language's catalog is read once by
a process (docs/decisions/portal.md, U100). Each request says which language is spoken
(`use_language`) before anything of its page is made.
"""

from contextvars import ContextVar
from functools import cache
from gettext import GNUTranslations, NullTranslations
from importlib import resources
from importlib.resources.abc import Traversable
from io import BytesIO
from typing import Final, NamedTuple
from zoneinfo import ZoneInfo

USUAL: Final = "en"
LANGUAGES: Final = {USUAL: "English", "fr": "Français"}  # each by its own name
ACCEPTED_OCTETS_MAX: Final = 200  # of Accept-Language, which is read with every request
TRANSLATIONS: Traversable = resources.files("heliograph.portal").joinpath("translations")


class PageLanguage(NamedTuple):
    """Says in which language, and by whose clocks, a page is written."""

    language: str
    zone: str


_AT_FIRST: Final = PageLanguage(USUAL, "UTC")
_spoken: ContextVar[PageLanguage] = ContextVar("spoken")


def use_language(language: str, zone: str = "UTC") -> None:
    """Lets all texts of this request be written in a language, and its times in a time zone."""
    _spoken.set(PageLanguage(language, zone))


def language() -> str:
    """Returns the language that is spoken."""
    return _spoken.get(_AT_FIRST).language


def zone() -> ZoneInfo:
    """Returns the time zone of the account that is shown."""
    return ZoneInfo(_spoken.get(_AT_FIRST).zone)


def known_language(language: str | None) -> str | None:
    """Returns the language, if there is one of this name."""
    return language if language in LANGUAGES else None


def preferred_language(accept_language: str) -> str:
    """Returns the language that an Accept-Language prefers among ours (RFC 9110, 12.5.4)."""
    best, best_weight = USUAL, 0.0
    for each in accept_language[:ACCEPTED_OCTETS_MAX].split(","):
        tag, _, weight = each.partition(";")
        found = known_language(tag.strip().partition("-")[0].lower())
        if found is not None and _weight(weight) > best_weight:
            best, best_weight = found, _weight(weight)
    return best


def _weight(text: str) -> float:
    try:
        return float(text.strip().removeprefix("q=") or 1)
    except ValueError:
        return 0.0


@cache
def catalog(language: str) -> NullTranslations:
    """Returns the texts of a language; those of English are the ones in the code."""
    if language == USUAL:
        return NullTranslations()
    from babel.messages import mofile, pofile  # needed once, and not for English

    found = TRANSLATIONS.joinpath(language, "LC_MESSAGES", "portal.po")
    compiled = BytesIO()
    with found.open("rb") as texts:
        mofile.write_mo(compiled, pofile.read_po(texts, locale=language))
    compiled.seek(0)
    return GNUTranslations(compiled)


def translated_to(language: str, text: str) -> str:
    """Returns a text in a language. Without a translation, it is the text itself."""
    # gettext answers an empty text with the head of its catalog
    return catalog(language).gettext(text) if text else text


def translated(text: str) -> str:
    """Returns a text in the language that is spoken: one that was `marked`, or a word."""
    return translated_to(language(), text)


def _(text: str, **values: object) -> str:
    """Returns a text in the language that is spoken, with its values filled in."""
    return translated(text) % values if values else translated(text)


def ngettext(one: str, many: str, count: int, **values: object) -> str:
    """Returns the form of a text that goes with a count, with its values filled in."""
    return catalog(language()).ngettext(one, many, count) % values


def marked(text: str) -> str:
    """Returns a text as it is. It is translated later, and `make texts` finds it by this mark."""
    return text
