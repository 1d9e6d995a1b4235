"""Every input that was ever worth keeping is still read as it should be (`make fuzz` looks
for more).
"""

from pathlib import Path

import pytest

from tests.fuzz.target import read_anything

CORPUS = sorted((Path(__file__).parent / "corpus").iterdir())


@pytest.mark.parametrize("path", CORPUS, ids=lambda path: path.name)
def test_an_input_of_the_corpus_is_read(path: Path) -> None:
    read_anything(path.read_bytes())
