"""A value is known by its name: rows are not read by the places of their columns, and no call has a
long row of values without names.
"""

import ast
from collections.abc import Iterator
from typing import Final

from tests.support.sources import PACKAGE, sources

POSITIONAL_MAX: Final = 6
VARIADIC: Final = {  # they take as many values of one kind as there are
    "sa.Table",
    "sa.select",
    "op.create_table",
    "_closed",
    "_SAR_TLVS.pack",
}
# the layer under the declared statements; and changes of tables, which take no values
ASKS_THE_DRIVER: Final = {"database/statements/statement.py", "messages/retention/partitions.py"}


def test_no_row_is_read_by_place() -> None:
    assert not list(_read_by_place())


def test_no_call_has_more_values_than_names() -> None:
    assert not list(_long_calls())


def test_every_statement_of_the_hot_paths_is_declared() -> None:
    asking = {
        source.path
        for source in sources(PACKAGE)
        for node in ast.walk(source.tree)
        if isinstance(node, ast.Call) and ast.unparse(node.func) in ("tx.fetch", "tx.over")
    }
    assert asking == ASKS_THE_DRIVER


def _read_by_place() -> Iterator[str]:
    """`row[5]`, `rows[0][8]`, `row[2:5]`. (A migration is written once, and never changed.)"""
    for source in sources(PACKAGE):
        for node in ast.walk(source.tree):
            if (
                isinstance(node, ast.Subscript)
                and _is_place(node.slice)
                and _is_row(node.value)
                and not source.path.startswith("migrations/")
            ):
                yield f"{source.path}:{node.lineno} {ast.unparse(node)}"


def _is_place(index: ast.expr) -> bool:
    places = (index.lower, index.upper) if isinstance(index, ast.Slice) else (index,)
    return any(isinstance(place, ast.Constant) and isinstance(place.value, int) for place in places)


def _is_row(value: ast.expr) -> bool:
    if isinstance(value, ast.Name):
        return value.id in ("row", "record")
    return (
        isinstance(value, ast.Subscript)
        and _is_place(value.slice)
        and isinstance(value.value, ast.Name)
    )


def _long_calls() -> Iterator[str]:
    for source in sources(PACKAGE):
        for node in ast.walk(source.tree):
            if (
                isinstance(node, ast.Call)
                and len(node.args) > POSITIONAL_MAX
                and ast.unparse(node.func) not in VARIADIC
            ):
                yield f"{source.path}:{node.lineno} {ast.unparse(node.func)}: {len(node.args)}"
