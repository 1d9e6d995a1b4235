"""The text of a statement is put together when its module is imported, from constants of ours.

So ruff's rule S608, which suspects every f-string with SQL in it, is off for the package: no text
of a statement can hold what a client sent.
"""

import ast
import re
from collections.abc import Iterator
from typing import Final

from tests.support.sources import PACKAGE, nodes_of, sources

STATEMENT: Final = re.compile(
    r"^\s*(SELECT\b.*\bFROM|INSERT\s+INTO|UPDATE\s+\S+(\s+\w+)?\s+SET|DELETE\s+FROM)\b", re.DOTALL
)
MADE_IN_A_FUNCTION: Final = {
    "database/partitions.py": "the names of partitions are made of months",
    "database/statements/statement.py": "makes statements when they are declared",
}


def test_no_function_puts_a_statement_together() -> None:
    found = [place for place in _put_together() if place.split(":")[0] not in MADE_IN_A_FUNCTION]
    assert not found, "\n".join(found)


def _put_together() -> Iterator[str]:
    for source in sources(PACKAGE):
        if source.path.startswith("migrations/"):  # written once, and never changed
            continue
        for function in nodes_of(source.tree):
            if isinstance(function, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda):
                for node in nodes_of(function):
                    if isinstance(node, ast.JoinedStr) and STATEMENT.match(_text(node)):
                        yield f"{source.path}:{node.lineno} {_text(node)[:60]}"


def _text(joined: ast.JoinedStr) -> str:
    """Returns the text of an f-string, with `{}` for each of its values."""
    return "".join(
        str(part.value) if isinstance(part, ast.Constant) else "{}" for part in joined.values
    )
