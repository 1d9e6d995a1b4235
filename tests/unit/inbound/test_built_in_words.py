"""The built-in words are one thing each, and the documentation lists them."""

from heliograph.inbound.keywords.built_in import BUILT_IN, BUILT_IN_WORDS, KeywordLanguage
from tests.support.sources import ROOT

NAMES = ("English", "French", "Portuguese", "Arabic", "Swahili", "Hausa", "Twi")


def test_no_word_means_two_things() -> None:
    words = [
        word
        for by_language in BUILT_IN_WORDS.values()
        for listed in by_language.values()
        for word in listed.split(",")
    ]
    assert len(BUILT_IN) == len(words)


def test_the_documentation_lists_every_word() -> None:
    page = (ROOT / "docs" / "inbound.md").read_text("utf-8")
    for language, name in zip(KeywordLanguage, NAMES, strict=True):
        listed = " | ".join(by_language[language] for by_language in BUILT_IN_WORDS.values())
        assert f"| {name} (`{language.value}`) | {listed} |" in page
