"""A comment says all that it says by itself. One that begins with "and", "or" or "…" goes on where
the comment of the line before has ended, and means nothing to whoever reads its own line.

That a comment is plain and true no test can tell: readers do.
"""

import io
import re
import tokenize
from pathlib import Path
from typing import Final

import pytest

from tests.support.sources import PACKAGE, ROOT

CONTINUES: Final = re.compile(r"#\s*(…|(and|or|but)\b)")


@pytest.mark.parametrize(
    "folder", [PACKAGE, ROOT / "bench", ROOT / "tools"], ids=lambda folder: str(folder.name)
)
def test_no_comment_goes_on_where_that_of_another_line_ended(folder: Path) -> None:
    files = sorted(folder.rglob("*.py"))
    assert files
    found = [
        f"{path.relative_to(ROOT)}:{line}"
        for path in files
        for line in _continuing(path.read_text("utf-8"))
    ]
    assert not found, "say it in a sentence of its own:\n" + "\n".join(found)


@pytest.mark.parametrize(
    "text",
    [
        "FIRST = 1  # for names that are new\nLAST = 2  # … for others\n",
        "FIRST = 1  # for the head,\nLAST = 2  # and for the body\n",
        "# how often it is looked at,\nLOOK = 1\n# and how often results are stored\nSTORE = 2\n",
    ],
)
def test_a_comment_that_goes_on_is_found(text: str) -> None:
    assert _continuing(text)


@pytest.mark.parametrize(
    "text",
    [
        "# how often it is looked at\n# and how often results are stored\nLOOK = 1\n",
        "FIRST = 1  # for the head and for the body\n",
        "TEXT = '# and so on'\n",
    ],
)
def test_the_next_line_of_a_comment_is_not(text: str) -> None:
    assert not _continuing(text)


def _continuing(text: str) -> list[int]:
    """Returns the lines whose comment goes on, although the line before is no comment."""
    lines = text.splitlines()
    return [
        token.start[0]
        for token in tokenize.generate_tokens(io.StringIO(text).readline)
        if token.type == tokenize.COMMENT and CONTINUES.match(token.string)
        if not (
            token.line.lstrip().startswith("#")
            and token.start[0] > 1
            and lines[token.start[0] - 2].lstrip().startswith("#")
        )
    ]
