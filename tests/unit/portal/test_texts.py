"""The catalogs of languages have every text of the pages, translated, and no place of their own."""

import re
import subprocess
import sys
from pathlib import Path

import pytest
from babel.messages import pofile

from heliograph.portal.languages import LANGUAGES, USUAL
from heliograph.portal.languages.page_language import TRANSLATIONS

ROOT = Path(__file__).parents[3]
PLACE = re.compile(r"%\(\w+\)s|%%|<[^>]*>|\{\}")


def places(text: object) -> set[str]:
    return set(PLACE.findall(str(text)))


@pytest.mark.parametrize("language", sorted(set(LANGUAGES) - {USUAL}))
def test_no_text_is_missing(language: str, tmp_path: Path) -> None:
    found = tmp_path / "portal.pot"
    extract = [sys.executable, "-m", "babel.messages.frontend", "-q", "extract", "-k", "marked"]
    files = ["-F", "assets/texts.cfg", "-o", str(found), "src/heliograph/portal"]
    subprocess.run([*extract, *files], cwd=ROOT, check=True)
    with TRANSLATIONS.joinpath(language, "LC_MESSAGES", "portal.po").open("rb") as file:
        catalog = pofile.read_po(file, locale=language)
    with found.open("rb") as file:
        texts = [message for message in pofile.read_po(file) if message.id]
    assert len(texts) > 1_000
    for text in texts:
        there = catalog.get(text.id, text.context)
        assert there is not None, f"make texts has not put this into the catalog: {text.id}"
        forms = there.string if isinstance(there.string, tuple) else (there.string,)
        ids = text.id if isinstance(text.id, tuple) else (text.id,)
        assert all(forms), f"not translated: {text.id}"
        assert not there.fuzzy, f"not sure: {text.id}"
        for id_, form in zip(ids, forms, strict=True):
            assert places(form) <= places(id_), id_
