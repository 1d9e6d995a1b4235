"""Reads the project's own Python files as syntax trees: the tests of `tests/architecture` look at
them.
"""

import ast
import gc
import tomllib
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).parents[2]
PACKAGE = ROOT / "src" / "heliograph"
TESTS = ROOT / "tests"
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]


class Source(NamedTuple):
    path: str  # from the folder that was asked for: `messages/send.py`
    text: str
    tree: ast.Module


@cache
def sources(folder: Path) -> tuple[Source, ...]:
    """Returns every Python file below the folder, sorted.

    Syntax trees are millions of objects, none of which is garbage. So the collector is not run
    meanwhile, and does not look at them afterwards.
    """
    gc.disable()
    try:
        return tuple(_read(folder))
    finally:
        gc.enable()
        gc.freeze()


def _read(folder: Path) -> Iterator[Source]:
    for path in sorted(folder.rglob("*.py")):
        if "node_modules" not in path.parts:
            text = path.read_text("utf-8")
            yield Source(path.relative_to(folder).as_posix(), text, ast.parse(text))


@cache
def nodes_of(tree: ast.AST) -> tuple[ast.AST, ...]:
    """Returns what `ast.walk` yields, and walks once: each test that asks for all nodes of all
    sources would take a second of a processor for that alone.
    """
    return tuple(ast.walk(tree))


@cache
def code_of(node: ast.AST) -> str:
    """Returns what `ast.unparse` returns, and writes each node once, as `nodes_of` walks once."""
    return ast.unparse(node)
