"""Checks that the docstring of a public function names each error that the function itself raises,
or a class of it: "Raises NotFound."

An error that a function lets through from another one counts no less for its callers; which of
those matter to them is for the author to say. What a command raises, Click tells whoever typed it,
and its docstring is the text of `--help`.
"""

import ast
import builtins
import importlib
import inspect
from collections.abc import Iterable, Iterator
from typing import Any, get_args, get_type_hints

import pytest

from tests.support.sources import PACKAGE, Source, code_of, sources

Function = ast.FunctionDef | ast.AsyncFunctionDef
SCOPES = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef, ast.Lambda)


def test_a_public_function_names_the_errors_that_it_raises() -> None:
    unnamed = [
        f"{source.path}: {function.name} raises {error.__name__}"
        for source in sources(PACKAGE)
        if not source.path.startswith("migrations/")
        for function in source.tree.body
        if isinstance(function, Function)
        and not function.name.startswith("_")
        and not _is_command(function)
        for error in _raised_by(source, function.body, [])
        if not _is_named(error, ast.get_docstring(function) or "")
    ]
    assert not unnamed, "\n".join(unnamed)


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        ("raise KeyError(1)", [KeyError]),
        ("try:\n raise KeyError\nexcept LookupError:\n raise ValueError", [ValueError]),
        ("try:\n raise KeyError\nexcept ValueError:\n raise", [KeyError]),
        ("try:\n pass\nexcept Exception:\n pass\nelse:\n raise KeyError", [KeyError]),
        ("def inner():\n raise KeyError", []),
        ("with x:\n for y in z:\n  raise KeyError from None", [KeyError]),
    ],
)
def test_what_a_function_catches_or_hands_on_is_told_apart(
    body: str, expected: list[type[BaseException]]
) -> None:
    source = Source("base/ids.py", body, ast.parse(body))
    assert list(_raised_by(source, source.tree.body, [])) == expected


def _is_named(error: type[BaseException], docstring: str) -> bool:
    named = (kind for kind in error.__mro__ if kind not in (Exception, BaseException, object))
    return any(kind.__name__ in docstring for kind in named)


def _is_command(function: Function) -> bool:
    """Returns whether Click, or our own lazy commands, call it: its docstring is a help text."""
    return any("command" in code_of(each) for each in function.decorator_list)


def _raised_by(
    source: Source, body: Iterable[ast.AST], caught: list[type[BaseException]]
) -> Iterator[type[BaseException]]:
    """Yields what these statements raise, but for what `caught` or they themselves catch."""
    for node in body:
        if isinstance(node, SCOPES):
            continue
        if isinstance(node, ast.Try):
            handled = [kind for each in node.handlers for kind in _caught_by(source, each)]
            yield from _raised_by(source, node.body, [*caught, *handled])
            yield from _raised_by(source, [*node.handlers, *node.orelse, *node.finalbody], caught)
            continue
        if isinstance(node, ast.Raise) and node.exc is not None:
            error = _error_of(source, node.exc)
            if error is not None and not issubclass(error, tuple(caught)):
                yield error
        yield from _raised_by(source, ast.iter_child_nodes(node), caught)


def _caught_by(source: Source, handler: ast.ExceptHandler) -> list[type[BaseException]]:
    if handler.type is None:
        return [BaseException]
    kinds = handler.type.elts if isinstance(handler.type, ast.Tuple) else [handler.type]
    return [kind for each in kinds for kind in _kinds_of(_value_of(source, each))]


def _kinds_of(value: Any) -> list[type[BaseException]]:
    values = value if isinstance(value, tuple) else (value,)
    return [each for each in values if inspect.isclass(each) and issubclass(each, BaseException)]


def _error_of(source: Source, raised: ast.expr) -> type[BaseException] | None:
    """Returns the class that is raised: by its name, or by that of a function which makes one. None
    stands for one that the function was given.
    """
    value = _value_of(source, raised.func if isinstance(raised, ast.Call) else raised)
    if inspect.isfunction(value):
        made = get_type_hints(value).get("return")
        [*kinds] = _kinds_of(get_args(made) or made)
        return kinds[0] if kinds else None
    return next(iter(_kinds_of(value)), None)


def _value_of(source: Source, node: ast.expr) -> Any:
    """Returns what a name of the module means; None for one that only the function knows."""
    if isinstance(node, ast.Attribute):
        return getattr(_value_of(source, node.value), node.attr, None)
    path = f"heliograph/{source.path}".removesuffix(".py").removesuffix("/__init__")
    module = importlib.import_module(path.replace("/", "."))
    name = code_of(node)
    return getattr(module, name, getattr(builtins, name, None))
