"""Writes each page in one language: its texts, numbers, times and refusals."""

from heliograph.portal.languages.page_language import (
    LANGUAGES,
    USUAL,
    _,
    catalog,
    known_language,
    language,
    marked,
    preferred_language,
    translated,
    use_language,
)

__all__ = [
    "LANGUAGES",
    "USUAL",
    "_",
    "catalog",
    "known_language",
    "language",
    "marked",
    "preferred_language",
    "translated",
    "use_language",
]
