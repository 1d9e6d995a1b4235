"""The record of a request's body is named `…Request`, and the function that reads the body is named
`read_…_request`: one kind of name for what every endpoint has.
"""

import ast
from collections.abc import Iterator
from typing import Final

from tests.support.sources import PACKAGE, code_of, sources

# The functions that read a body into no record of their own, each with what they return.
EXCEPTIONS: Final = {"read_preview_request": "the two parts of a campaign that a preview needs"}


def readers() -> Iterator[tuple[str, ast.FunctionDef]]:
    """Yields the functions that read the JSON object of a body, each with its place."""
    for source in sources(PACKAGE):
        for node in source.tree.body:
            if isinstance(node, ast.FunctionDef) and takes_body(node):
                yield f"{source.path}:{node.lineno} {node.name}", node


def takes_body(node: ast.FunctionDef) -> bool:
    first, *_ = *node.args.args, None
    return (
        node.name.startswith("read_")
        and first is not None
        and first.annotation is not None
        and (first.arg, code_of(first.annotation)) == ("body", "dict[str, Any]")
    )


def record_of(node: ast.FunctionDef) -> str:
    """Returns the name of what a function returns: of a tuple, that of its first value."""
    assert node.returns is not None
    return code_of(node.returns).removeprefix("tuple[").partition(",")[0]


def is_named_by_rule(node: ast.FunctionDef) -> bool:
    return node.name.endswith("_request") and (
        node.name in EXCEPTIONS or record_of(node).endswith("Request")
    )


def test_bodies_of_requests_have_one_kind_of_name() -> None:
    found = dict(readers())
    assert len(found) >= 10  # it finds them
    assert [place for place, node in found.items() if not is_named_by_rule(node)] == []


def test_every_exception_is_there() -> None:
    assert set(EXCEPTIONS) <= {node.name for _, node in readers()}
