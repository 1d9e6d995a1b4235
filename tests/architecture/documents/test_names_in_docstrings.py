"""Checks that the names are there which docstrings mention: classes in backticks, such as
`StoredKind`, and names of modules, such as roles.senders. Whoever renames one renames it there too.
"""

import ast
import builtins
import re
from collections import defaultdict
from collections.abc import Iterator
from functools import cache
from typing import Final, NamedTuple

import pytest

from tests.support.sources import PACKAGE, nodes_of, sources

NO_NAMES_OF_OURS: Final = {
    "Upgrade": "a header of HTTP",
    "alert.opened": "an event, whose name is put together",
    "info.description": "a field of an OpenAPI document",
    "ipaddress.is_global": "a property of Python's own addresses",
    "keys.other": "a property of a parameter, whose class says it",
    "systemd.exec": "a page of systemd's manual",
    "cycle.send": "a method of uvicorn's",
}
FILES: Final = frozenset(("css", "html", "json", "md", "py", "toml"))
QUOTED_CLASS: Final = re.compile(r"`([A-Z][a-z]+(?:[A-Z][a-z]+)*)`")
DOTTED: Final = re.compile(r"(?<![\w./@-])([a-z_]\w*)\.([a-z_]\w*)(?![\w/-])(?!\.\w)")


class _Code(NamedTuple):
    names: frozenset[str]
    dotted: frozenset[str]  # attributes as code asks for them, and columns
    texts: frozenset[str]  # such as names of events and of headers
    of_modules: dict[str, set[str]]


@cache
def _code() -> _Code:
    of_modules: dict[str, set[str]] = defaultdict(set)
    dotted, texts = set[str](), set[str]()
    for source in sources(PACKAGE):
        *_, room, file = ("heliograph", *source.path.removesuffix(".py").split("/"))
        if file != "__init__":
            of_modules[room].add(file)
        module = of_modules[room if file == "__init__" else file]
        for node in nodes_of(source.tree):
            module.update(_names_of(node))
            dotted.update(_dotted_of(node))
            if isinstance(node, ast.Constant) and isinstance(node.value, str):
                texts.add(node.value)
    names = frozenset(dir(builtins)).union(*of_modules.values())
    return _Code(names, frozenset(dotted), frozenset(texts), dict(of_modules))


def _names_of(node: ast.AST) -> Iterator[str]:
    match node:
        case ast.ClassDef(name=name) | ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name):
            yield name
        case ast.Name(id=name) | ast.arg(arg=name) | ast.Attribute(attr=name):
            yield name
        case ast.alias(name=name, asname=asname):
            yield from (*name.split("."), asname or name)


def _dotted_of(node: ast.AST) -> Iterator[str]:
    match node:
        case ast.Attribute(value=ast.Name(id=owner), attr=name):
            yield f"{owner}.{name}"
        case ast.Call(
            func=ast.Attribute(attr="Table"), args=[ast.Constant(value=str(table)), *parts]
        ):
            for part in parts:
                match part:
                    case ast.Call(
                        func=ast.Attribute(attr="Column"),
                        args=[ast.Constant(value=str(column)), *_],
                    ):
                        yield f"{table}.{column}"


def _stale(docstring: str) -> set[str]:
    """Returns what the docstring names and the code does not have."""
    code = _code()
    classes = set(QUOTED_CLASS.findall(docstring)) - code.names
    dotted = {
        f"{owner}.{name}"
        for owner, name in DOTTED.findall(docstring)
        if name not in FILES and name not in code.of_modules.get(owner, ())
    }
    return (classes | dotted - code.dotted) - code.texts


def _docstrings() -> Iterator[tuple[str, str]]:
    for source in sources(PACKAGE):
        for node in nodes_of(source.tree):
            if isinstance(
                node, (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)
            ) and (docstring := ast.get_docstring(node)):
                yield source.path, docstring


def test_what_docstrings_name_exists() -> None:
    stale = {
        f"{path}: {name}"
        for path, docstring in _docstrings()
        for name in _stale(docstring) - NO_NAMES_OF_OURS.keys()
    }
    assert not stale, "\n".join(sorted(stale))


def test_no_exception_is_listed_in_vain() -> None:
    stale = {name for _, docstring in _docstrings() for name in _stale(docstring)}
    assert not NO_NAMES_OF_OURS.keys() - stale


@pytest.mark.parametrize(
    "docstring",
    ["In the order of `NoSuchKind`.", "`kind` is one of entry.roles; it", "See `roles.no_such`."],
)
def test_a_name_of_nothing_is_found(docstring: str) -> None:
    assert _stale(docstring)


@pytest.mark.parametrize(
    "docstring",
    ["In the order of `StoredKind`.", "`roles.senders` says", "`installation.home` is a mark."],
)
def test_a_name_of_the_code_is_known(docstring: str) -> None:
    assert not _stale(docstring)
