"""A function is one screen, and a module can be read at one sitting."""

import ast
from collections.abc import Iterator
from fnmatch import fnmatch

from tests.support.sources import ROOT, sources

FUNCTION_LINES_MAX = 60
MODULE_LINES_MAX = 400
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


def _too_long() -> Iterator[str]:
    for folder in ("src", "tests", "bench"):
        for source in sources(ROOT / folder):
            if (lines := source.text.count("\n")) > MODULE_LINES_MAX:
                yield f"{folder}/{source.path}: {lines} lines"
            for node in ast.walk(source.tree):
                if (
                    isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
                    and (lines := _lines(node)) > FUNCTION_LINES_MAX
                ):
                    yield f"{folder}/{source.path}:{node.lineno} {node.name}: {lines} lines"


def _lines(node: ast.FunctionDef | ast.AsyncFunctionDef) -> int:
    return (node.end_lineno or node.lineno) - node.lineno + 1
