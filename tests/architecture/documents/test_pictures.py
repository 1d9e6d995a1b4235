"""The pictures of the documents are there, small, and each is shown somewhere."""

import re

from tests.support.sources import ROOT

OCTETS_MAX = 150_000  # a dozen of them load within seconds, and a clone stays small
SHOWN = re.compile(r"!\[[^\]]{20,}\]\((?:docs/)?pictures/([\w-]+\.png)\)")


def test_each_picture_is_shown_with_words_for_who_cannot_see_it_and_is_small() -> None:
    pages = [ROOT / "README.md", *(ROOT / "docs").glob("*.md")]
    shown = {name for page in pages for name in SHOWN.findall(page.read_text("utf-8"))}
    kept = {picture.name: picture.stat().st_size for picture in ROOT.glob("docs/pictures/*")}
    assert shown == set(kept)
    assert [name for name, octets in kept.items() if octets > OCTETS_MAX] == []
