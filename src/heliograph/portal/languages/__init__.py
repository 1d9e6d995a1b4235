"""Pages have languages: their texts, numbers, times and refusals are in one."""

from heliograph.portal.languages.spoken import (
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
