"""A function is one screen, a module can be read at one sitting, and no line is wider than both.

A function counts from its `def` on. What stands above it, such as the options of a command, is a
list, which nobody has to hold in mind to read the code.
"""

import ast
import re
from collections.abc import Iterator
from fnmatch import fnmatch
from typing import Final

from tests.support.sources import ROOT, nodes_of, sources

FUNCTION_LINES_MAX = 60
MODULE_LINES_MAX = 400
COLUMNS_MAX = 100
# what it says to mypy or ruff must stand on its line; why it says so may stand above
PRAGMA: Final = re.compile(r"  # (type: ignore\[[\w-]+\]|noqa: \w+)$")
LONGER_FOR_A_REASON = {  # what the test would print, with * for the rest
    "src/heliograph/migrations/versions/*": "a migration is a list, written once and never changed",
}


def test_no_function_is_longer_than_a_screen_and_no_module_than_a_sitting() -> None:
    too_long = [
        place
        for place in _too_long()
        if not any(fnmatch(place, pattern) for pattern in LONGER_FOR_A_REASON)
    ]
    assert not too_long, "\n".join(too_long)


def test_no_line_is_longer_than_the_formatter_allows() -> None:
    """ruff's rule E501 counts no column of a comment that begins with a pragma."""
    too_long = [
        f"{folder}/{source.path}:{number} {len(line)} columns"
        for folder in ("src", "tests", "bench", "examples", "tools")
        for source in sources(ROOT / folder)
        if not source.path.startswith("heliograph/migrations/versions/")
        for number, line in enumerate(source.text.splitlines(), 1)
        if len(PRAGMA.sub("", line)) > COLUMNS_MAX and not _is_one_word(line)
    ]
    assert not too_long, "\n".join(too_long)


def _is_one_word(line: str) -> bool:
    """Returns whether it cannot be broken: it is one word, or ends with a URL."""
    words = line.split()
    return len(words) == 1 or "://" in words[-1]


def _too_long() -> Iterator[str]:
    for folder in ("src", "tests", "bench", "tools", "examples", "assets"):
        for source in sources(ROOT / folder):
            if (lines := source.text.count("\n")) > MODULE_LINES_MAX:
                yield f"{folder}/{source.path}: {lines} lines"
            for node in nodes_of(source.tree):
                if (
                    isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
                    and (lines := _lines(node)) > FUNCTION_LINES_MAX
                ):
                    yield f"{folder}/{source.path}:{node.lineno} {node.name}: {lines} lines"


def _lines(node: ast.FunctionDef | ast.AsyncFunctionDef) -> int:
    return (node.end_lineno or node.lineno) - node.lineno + 1
