"""A page is written in one language: its texts, numbers, times and refusals."""

from heliograph.portal.languages.page_language import (
    LANGUAGES,
    USUAL,
    _,
    asked_for,
    catalog,
    known,
    language,
    marked,
    said,
    speak,
)

__all__ = [
    "LANGUAGES",
    "USUAL",
    "_",
    "asked_for",
    "catalog",
    "known",
    "language",
    "marked",
    "said",
    "speak",
]
