"""A value is known by its name: rows are not read by the places of their columns, no call has a
long row of values without names, and three values that belong together are no tuple.
"""

import ast
import re
from collections.abc import Iterator
from typing import Final, TypeAlias

import pytest

from tests.support.sources import PACKAGE, ROOT, code_of, nodes_of, sources

POSITIONAL_MAX: Final = 6
STAR_STANDS_FOR: Final = 3
VARIADIC: Final = {  # they take as many values of one kind as there are
    "sa.Table",
    "sa.select",
    "op.create_table",
    "_closed",
    "_SAR_TLVS.pack",
}
# the layer under the declared statements; and changes of tables, which take no values
ASKS_THE_DRIVER: Final = {"database/statements/statement.py", "messages/retention/partitions.py"}

# they read one of many values of a kind, such as the characters of a text
OF_ONE_KIND: Final = {
    ("api/api.py", "want[1:-1]"),
    ("api/openapi/errors.py", "reasons[0]"),
    ("carriers/check_settings.py", "allowed[0]"),
    ("cli/carriers/message.py", "rows[0]"),
    ("cli/output.py", "found[0]"),
    ("database/schema.py", "name[0]"),
    ("database/statements/statement.py", "found[1]"),
    ("portal/message_pages/handsets.py", "texts[0]"),
    ("text/segments.py", "rest[:1]"),
    ("text/segments.py", "rest[1:]"),
    ("webhooks/http/dns.py", "where[0]"),  # an address, as the standard library has it
}

TUPLE_MAX: Final = 2
# tuples of more values, and why they have no names
LONGER_TUPLES: Final = {
    ("cli/__init__.py", "tuple[str | None, click.Command | None, list[str]]"): "click's own",
    ("cli/command.py", "tuple[str | None, click.Command | None, list[str]]"): "click's own",
    (
        "messages/accept/tariff.py",
        "tuple[str, frozenset[str] | None, bool]",
    ): "a key of a dictionary, which nobody reads",
    (
        "messages/carrier/record.py",
        "tuple[str, int, int]",
    ): "a key of a dictionary, which nobody reads",
    (
        "webhooks/http/address_guard.py",
        "tuple[int, int, int, str, tuple[Any, ...]]",
    ): "an address, as the standard library has it",
}
# values of one kind, as many as there are
_MANY: Final = re.compile(r"\btuple\[.*, \.\.\.\]|\b(Sequence|Iterable|Collection|list)\[")
Function: TypeAlias = ast.FunctionDef | ast.AsyncFunctionDef


def test_no_row_is_read_by_place() -> None:
    found = [
        (path, node)
        for path, tree in _trees()
        if not path.startswith("migrations/")  # a migration is written once, and never changed
        for node in _places_read(tree)
    ]
    places = [
        f"{path}:{node.lineno} {code_of(node)}"
        for path, node in found
        if (path, code_of(node)) not in OF_ONE_KIND
    ]
    assert not places, "\n".join(places)
    assert {(path, code_of(node)) for path, node in found} == OF_ONE_KIND


def test_no_call_has_more_values_than_names() -> None:
    assert not list(_long_calls())


@pytest.mark.parametrize("folder", ["examples", "tests"])
def test_no_record_of_many_values_is_made_by_place(folder: str) -> None:
    """Looks at what is made of a class alone. The words of a command are values of one kind, and
    many tests run commands.
    """
    found = [
        f"{source.path}:{node.lineno} {code_of(node.func)}"
        for source in sources(ROOT / folder)
        for node in nodes_of(source.tree)
        if isinstance(node, ast.Call)
        and code_of(node.func).rpartition(".")[2][:1].isupper()
        and _values_by_place(node) > POSITIONAL_MAX
    ]
    assert not found, "\n".join(found)


def test_no_tuple_has_more_values_than_names() -> None:
    found = [
        (source.path, node)
        for source in sources(PACKAGE)
        if not source.path.startswith("migrations/")
        for node in _long_tuples(source.tree)
    ]
    places = [
        f"{path}:{node.lineno} {code_of(node)}"
        for path, node in found
        if (path, code_of(node)) not in LONGER_TUPLES
    ]
    assert not places, "\n".join(places)
    assert {(path, code_of(node)) for path, node in found} == LONGER_TUPLES.keys()


@pytest.mark.parametrize(
    "line",
    [
        "def read(line: str) -> tuple[str, str, str]: ...",
        "def read(line: str) -> 'tuple[str, str, str]': ...",
        "def read(of: list[tuple[int, int, str]]) -> None: ...",
        "Key = tuple[str, str, int]",
        "Key: TypeAlias = 'tuple[str, str, int]'",
        "found: dict[tuple[int, str, str], int] = {}",
        "def read(line): return key, wrong, value",
        "def read(line): return (key, wrong, value) if line else None",
        "def read(line) -> Line: return key, *values",
        "async def read(line):\n    if line:\n        yield key, wrong, value",
    ],
)
def test_a_tuple_of_more_values_than_names_is_found(line: str) -> None:
    assert len(list(_long_tuples(ast.parse(line)))) == 1


@pytest.mark.parametrize(
    "line",
    [
        "def read(line: str) -> tuple[str, int]: return key, 1",
        "def labels() -> tuple[str, ...]: return 'first', 'middle', 'last'",
        "def labels() -> Sequence[str]: return 'first', 'middle', 'last'",
        "def first() -> str:\n    def of(): ...\n    return of(1, 2, 3)",
        "sorted(rows, key=lambda row: (row.a, row.b, row.c))",
        "TEXT = 'a tuple[of, three, words] in a text'",
    ],
)
def test_a_pair_and_values_of_one_kind_are_not(line: str) -> None:
    assert not list(_long_tuples(ast.parse(line)))


def test_every_statement_of_the_hot_paths_is_declared() -> None:
    asking = {
        source.path
        for source in sources(PACKAGE)
        for node in nodes_of(source.tree)
        if isinstance(node, ast.Call) and code_of(node.func) in ("tx.fetch", "tx.over")
    }
    assert asking == ASKS_THE_DRIVER


@pytest.mark.parametrize(
    "line",
    [
        "row[5]",
        "row[-1]",
        "row[2:5]",
        "row[: -len(EXTRA)]",
        "rows[0][8]",
        "of_send[16][i]",
        "self._items[-1][1]",
        "tx.execute(query).one()[8]",
        "tx.execute(query).one()[i]",
        "def held(tx): found = tx.execute(query).first(); return found[3]",
        "def held(tx): return found[3] if (found := tx.execute(query).first()) else 0",
        "(await held(tx))[1]",
        "self.row[3]",
        "for i, each in enumerate(rows): print(each[2])",
        "def told(pair: 'tuple[int, str]') -> str: return pair[1]",
        "tally(tx, place)[1]",
        "Traced._fields[1:-1]",
        "[each[:8] for each in rows]",
        "{each[0] for each in rows}",
        "sorted(rows, key=lambda each: each[2])",
        "for each in rows: print(each[1])",
        "def told(pair: tuple[int, str]) -> str: return pair[1]",
        "def told(pair: tuple[int, str] | None) -> str: return pair[1]",
    ],
)
def test_a_value_that_is_read_by_its_place_is_found(line: str) -> None:
    assert _places_read(ast.parse(line))


@pytest.mark.parametrize(
    "line",
    [
        "rows[0].id",
        "rows[-1]",
        "text.partition(' ')[0]",
        "found(tx, keys)[0]",
        "row[name]",
        "[names[place] for place in places]",
        "rows[0]['id']",
        "sorted(rows)[:10]",
        "for found in WORD.finditer(text): print(found[1])",
        "def first(some: tuple[int, ...]) -> int: return some[0]",
    ],
)
def test_one_of_many_values_of_a_kind_is_not(line: str) -> None:
    assert not _places_read(ast.parse(line))


def _trees() -> Iterator[tuple[str, ast.Module]]:
    """Yields the files of the package by their paths in it, then those of other folders."""
    yield from ((source.path, source.tree) for source in sources(PACKAGE))
    for folder in ("bench", "tools"):
        yield from ((f"{folder}/{source.path}", source.tree) for source in sources(ROOT / folder))


def _places_read(tree: ast.AST) -> list[ast.Subscript]:
    of_rows = _subscripts_of_rows(tree)
    return [
        node
        for node in nodes_of(tree)
        if isinstance(node, ast.Subscript)
        and (
            (_is_row(node.value) and (_is_place(node.slice) or isinstance(node.slice, ast.Slice)))
            or (_is_place(node.slice) and id(node) in of_rows)
            or _is_found(node.value)
            or _is_chained(node)
        )
    ]


def _is_place(index: ast.expr | None) -> bool:
    if isinstance(index, ast.Slice):
        return _is_place(index.lower) or _is_place(index.upper)
    if isinstance(index, ast.UnaryOp):
        return _is_place(index.operand)
    return isinstance(index, ast.Constant) and isinstance(index.value, int)


def _is_row(value: ast.expr) -> bool:
    """Returns whether it is called a row, or has the names of a row."""
    if isinstance(value, ast.Name):
        return value.id in ("row", "record")
    return isinstance(value, ast.Attribute) and value.attr in ("_fields", "row", "record")


def _is_chained(node: ast.Subscript) -> bool:
    """Returns whether a place is read of what was read at a place. What has a key has a name."""
    return (
        isinstance(node.value, ast.Subscript)
        and _is_place(node.value.slice)
        and not (isinstance(node.slice, ast.Constant) and isinstance(node.slice.value, str))
        and (_is_place(node.slice) or not isinstance(node.slice, ast.Slice))
    )


def _is_found(value: ast.expr) -> bool:
    """Returns whether it is the one row that a statement found."""
    return (
        isinstance(value, ast.Call)
        and isinstance(value.func, ast.Attribute)
        and value.func.attr in ("one", "one_or_none", "first", "fetchone")
    )


def _subscripts_of_rows(tree: ast.AST) -> set[int]:
    """Returns the subscripts of each of some values, in a loop or a key of sorting; of a parameter
    that is a tuple; of a row that a statement found; and of what a function answers, beyond its
    first.
    """
    found: set[int] = set()
    for node in nodes_of(tree):
        names: set[str] = set()
        if isinstance(node, ast.ListComp | ast.SetComp | ast.DictComp | ast.GeneratorExp):
            names = {name for each in node.generators for name in _names(each.target)}
        elif isinstance(node, ast.For | ast.AsyncFor):
            # the groups of a match have numbers
            names = set() if "finditer(" in code_of(node.iter) else _names(node.target)
        elif isinstance(node, ast.Lambda):
            names = {each.arg for each in node.args.args}
        elif isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            names = {each.arg for each in _parameters(node.args) if _is_tuple(each.annotation)}
            names |= _rows_named_in(node)
        for part in nodes_of(node) if names else ():
            if isinstance(part, ast.Subscript) and isinstance(part.value, ast.Name):
                found |= {id(part)} if part.value.id in names else set()
        if (
            isinstance(node, ast.Subscript)
            and _is_call_of_a_function(node.value)
            and not isinstance(node.slice, ast.Slice)
            and _is_place(node.slice)
            and code_of(node.slice) != "0"
        ):
            found.add(id(node))
    return found


def _names(target: ast.expr) -> set[str]:
    """Returns the names that a loop gives to each of some values, or to their parts."""
    return {part.id for part in nodes_of(target) if isinstance(part, ast.Name)}


def _rows_named_in(function: ast.AST) -> set[str]:
    """Returns the names that a function gives to the one row that a statement found."""
    named: set[str] = set()
    for node in nodes_of(function):
        if isinstance(node, ast.Assign) and _is_found(node.value):
            named |= {each.id for each in node.targets if isinstance(each, ast.Name)}
        elif isinstance(node, ast.NamedExpr) and _is_found(node.value):
            named.add(node.target.id)
    return named


def _is_call_of_a_function(value: ast.expr) -> bool:
    if isinstance(value, ast.Await):
        value = value.value
    return isinstance(value, ast.Call) and isinstance(value.func, ast.Name)


def _parameters(arguments: ast.arguments) -> list[ast.arg]:
    return [*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs]


def _is_tuple(annotation: ast.expr | None) -> bool:
    if isinstance(annotation, ast.Constant) and isinstance(annotation.value, str):
        annotation = ast.parse(annotation.value, mode="eval").body
    if isinstance(annotation, ast.BinOp):  # such as `tuple[int, str] | None`
        return _is_tuple(annotation.left) or _is_tuple(annotation.right)
    if not (isinstance(annotation, ast.Subscript) and code_of(annotation.value) == "tuple"):
        return False
    return "..." not in code_of(annotation.slice)


def _long_tuples(tree: ast.AST) -> Iterator[ast.expr]:
    """Yields the types of tuples of more than two values, and such tuples that functions answer."""
    for node in nodes_of(tree):
        if isinstance(node, ast.Subscript | ast.Constant) and _is_long_type(node):
            yield node
        elif isinstance(node, Function):
            yield from _long_answers(node)


def _is_long_type(node: ast.AST) -> bool:
    if isinstance(node, ast.Constant):
        if not (isinstance(node.value, str) and "tuple[" in node.value):
            return False
        try:
            of_text = ast.parse(node.value, mode="eval")
        except SyntaxError:  # it is no type, but a text
            return False
        return any(map(_is_long_type, nodes_of(of_text)))
    return (
        isinstance(node, ast.Subscript)
        and isinstance(node.value, ast.Name)
        and node.value.id == "tuple"
        and isinstance(node.slice, ast.Tuple)
        and len(node.slice.elts) > TUPLE_MAX
    )


def _long_answers(function: Function) -> Iterator[ast.Tuple]:
    if function.returns is not None and _MANY.search(code_of(function.returns)):
        return
    inside: list[ast.AST] = [*function.body]
    while inside:
        node = inside.pop()
        if isinstance(node, Function | ast.Lambda):  # they answer for themselves
            continue
        inside += ast.iter_child_nodes(node)
        if isinstance(node, ast.Return | ast.Yield):
            either = node.value
            values = [either.body, either.orelse] if isinstance(either, ast.IfExp) else [either]
            for value in values:
                if isinstance(value, ast.Tuple) and _is_long(value):
                    yield value


def _is_long(value: ast.Tuple) -> bool:
    has_star = any(isinstance(each, ast.Starred) for each in value.elts)
    return has_star or len(value.elts) > TUPLE_MAX


def _values_by_place(call: ast.Call) -> int:
    """Returns how many values a call gives by place. Given to a record, a star stands for three."""
    is_record = code_of(call.func).rpartition(".")[2].lstrip("_")[:1].isupper()
    stars = sum(isinstance(each, ast.Starred) for each in call.args)
    return len(call.args) + (STAR_STANDS_FOR - 1) * stars * is_record


def _long_calls() -> Iterator[str]:
    for path, tree in _trees():
        for node in nodes_of(tree):
            if (
                isinstance(node, ast.Call)
                and _values_by_place(node) > POSITIONAL_MAX
                and code_of(node.func) not in VARIADIC
            ):
                yield f"{path}:{node.lineno} {code_of(node.func)}: {len(node.args)}"
