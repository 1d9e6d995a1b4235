"""Code asks first whether it was told to end, wherever it goes on after any error: otherwise one
lost CancelledError is a task that never ends.
"""

import ast
from collections.abc import Iterator

from tests.support.sources import PACKAGE, code_of, nodes_of, sources

ANY_ERROR = ("Exception", "BaseException")


def handlers(tree: ast.AST) -> Iterator[ast.ExceptHandler]:
    """Yields those that catch any error that may come out of an await, also of one that is in the
    block of a context manager.
    """
    for node in nodes_of(tree):
        if isinstance(node, ast.Try) and any(
            awaits(part) for statement in node.body for part in nodes_of(statement)
        ):
            yield from (
                handler
                for handler in node.handlers
                if handler.type is None or code_of(handler.type) in ANY_ERROR
            )


def awaits(node: ast.AST) -> bool:
    return isinstance(node, ast.Await | ast.AsyncWith | ast.AsyncFor | ast.Yield)


def goes_on(handler: ast.ExceptHandler) -> bool:
    return not isinstance(handler.body[-1], ast.Raise)


def asks(handler: ast.ExceptHandler) -> bool:
    return any(
        isinstance(node, ast.Call) and code_of(node.func) == "cancelling.raise_if_cancelled"
        for node in nodes_of(handler)
    )


def test_every_handler_of_any_error_around_an_await_asks_whether_it_was_told_to_end() -> None:
    found = [
        (source.path, handler)
        for source in sources(PACKAGE)
        for handler in handlers(source.tree)
        if goes_on(handler)
    ]
    assert len(found) > 15, "there are such handlers"
    silent = [f"{path}:{handler.lineno}" for path, handler in found if not asks(handler)]
    assert not silent, silent


def test_there_is_no_task_group() -> None:
    """Until Python 3.13, a task group whose task fails leaves `cancelling()` of its parent at 1:
    whoever asks whether it was told to end is answered yes.
    """
    groups = [source.path for source in sources(PACKAGE) if "TaskGroup" in source.text]
    assert not groups, groups
