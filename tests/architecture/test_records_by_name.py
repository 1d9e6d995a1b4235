"""A record is filled by the names of its fields, from a row by those of its columns: that values
stand in the order of the fields is checked by nothing else.
"""

import ast
import re
from collections.abc import Iterator
from typing import Final, TypeAlias

import pytest

from tests.support.sources import PACKAGE, code_of, nodes_of, sources

_ASKING: Final = {"execute", "exec_driver_sql", "fetch", "fetchrow", "stream"}
_ONE_OR_MORE: Final = {"all", "one", "one_or_none", "first", "fetchone", "fetchall", "partitions"}
_OF_EACH: Final = {"iter", "list", "map", "reversed", "sorted", "tuple"}
_UNPACKED_MAX: Final = 2
# the layers that make rows with names of what a driver returns, and what others put in an order
BY_PLACE: Final = {
    "api/listening.py": "an address, as the standard library has it",
    "database/commits.py": "a driver's row of the one statement beside it",
    "database/postgresql/engine.py": "the same statement's row, of psycopg",
    "database/postgresql/pool.py": "the same statement's row, of asyncpg",
    "database/reads.py": "compares the names of the columns with those of the fields before",
    "database/statements/row.py": "fills the rows of declared statements, which name them",
}

# an INSERT of all that is given, which lists its columns otherwise than by the row's names
LISTED_BY_HAND: Final = re.compile(
    r"INSERT INTO \S+(?: AS \w+)? \((?!\{columns_of\(\w+\)\}\))"
    r"[^()]*(?:\([^()]*\)[^()]*)*\)\s+SELECT\s+(?:\w+\.)?\*"
)

Function: TypeAlias = ast.FunctionDef | ast.AsyncFunctionDef


def test_records_take_the_columns_of_their_fields_names() -> None:
    found = [
        (source.path, f"{source.path}:{node.lineno} {code_of(node)[:80]}")
        for source in sources(PACKAGE)
        if not source.path.startswith("migrations/")
        for node in _filled_by_place(source.tree)
    ]
    places = [place for path, place in found if path not in BY_PLACE]
    assert not places, "\n".join(places)
    assert {path for path, _ in found} == set(BY_PLACE)


@pytest.mark.parametrize(
    "line",
    [
        "Sender(*row)",
        "[sender.Sender(*row) for row in tx.execute(query)]",
        "[Sender(*each) for each in tx.execute(query)]",
        "def of(tx): rows = tx.execute(query); return [Sender(*each) for each in rows]",
        "def of(tx): known = tx.execute(query).one_or_none(); return known and Sender(*known)",
        "def of(tx): return Sender(*known) if (known := tx.execute(query).first()) else None",
        "Sender(account_id, *tx.execute(query).one())",
        "GroupTally(*map(int, tx.execute(query).one()))",
        "map(Sender._make, rows)",
        "Sender._make([*row, False])",
        "starmap(Sender, rows)",
        "for id_, *told in tx.execute(query): print(Sender(*told))",
        "for id_, name, status, by in stream(tx, query): print(id_)",
        "for id_, name, status in stream(tx, query): print(id_)",
        "for id_, name, status in () if known else stream(tx, query): print(id_)",
        "def of(tx): id_, name, status = tx.execute(query).one()",
        "phones = [Phone(number, country) for number, country, *_ in recipients]",
        "number, *_ = recipient",
        "TallyKey(*place)",
        "[Rate(*line) for line in lines]",
        "sql.Range(*known.values())",
        "def of(tx): id_, name, status, by = tx.execute(query).one()",
        "{id_: name for id_, name, status, by in tx.execute(query).all()}",
    ],
)
def test_a_record_that_is_filled_by_place_is_found(line: str) -> None:
    assert list(_filled_by_place(ast.parse(line)))


@pytest.mark.parametrize(
    "line",
    [
        "Sender(**row._asdict())",
        "records_of(Sender, tx.execute(query))",
        "TallyKey(*place, code)",
        "sa.Table(*columns, metadata)",
        "sa.select(*columns)",
        "for id_, status in tx.execute(query): print(id_)",
        "for name, least, most, default in SETTINGS: print(name)",
    ],
)
def test_other_values_are_not(line: str) -> None:
    assert not list(_filled_by_place(ast.parse(line)))


def test_an_insert_of_all_that_is_given_takes_its_columns_from_the_row() -> None:
    places = [
        f"{source.path}:{node.lineno}"
        for source in sources(PACKAGE)
        if not source.path.startswith("migrations/")
        for node in _listed_by_hand(source.tree)
    ]
    assert not places, "\n".join(places)


@pytest.mark.parametrize(
    "line",
    [
        "S = 'INSERT INTO queue (carrier_id, rank_us) SELECT * FROM :given AS g'",
        "S = f'INSERT INTO queue AS q ({COLUMNS}) SELECT * FROM :given AS g {more}'",
        "S = f'INSERT INTO queue ({columns_of(Run)}, tries) SELECT g.*, 0 FROM :given AS g'",
    ],
)
def test_columns_that_are_listed_by_hand_are_found(line: str) -> None:
    assert list(_listed_by_hand(ast.parse(line)))


def test_columns_of_a_row_and_those_of_a_select_with_names_are_not() -> None:
    assert not list(
        _listed_by_hand(
            ast.parse(
                "A = f'INSERT INTO queue AS q ({columns_of(Run)}) SELECT * FROM :given AS g'\n"
                "B = 'INSERT INTO queue (rank_us, tries) SELECT rank_us, 0 FROM :given AS g'"
            )
        )
    )


def _listed_by_hand(tree: ast.AST) -> Iterator[ast.expr]:
    for node in nodes_of(tree):
        if isinstance(node, ast.JoinedStr):
            text = "".join(
                str(part.value) if isinstance(part, ast.Constant) else f"{{{code_of(part.value)}}}"
                for part in node.values
                if isinstance(part, ast.Constant | ast.FormattedValue)
            )
        elif isinstance(node, ast.Constant):
            text = str(node.value)
        else:
            continue
        if LISTED_BY_HAND.search(text):
            yield node


def _filled_by_place(tree: ast.AST) -> Iterator[ast.expr]:
    """Yields what fills a record from some values by their places; what gives a row's columns more
    than two names; and what names the first of some values and drops the rest.
    """
    found: dict[int, ast.expr] = {}
    functions: list[ast.AST] = [node for node in nodes_of(tree) if isinstance(node, Function)]
    for part in functions or [tree]:  # a name stands for rows in its own function
        rows = _names_of_rows(part)
        for node in nodes_of(part):
            for by_place in _by_place(node, rows):
                found[id(by_place)] = by_place
    yield from found.values()


def _by_place(node: ast.AST, rows: set[str]) -> Iterator[ast.expr]:
    if isinstance(node, ast.Call) and _fills(node, rows):
        yield node
    if isinstance(node, ast.Attribute) and node.attr == "_make":
        yield node
    for target, value in _named(node):
        if isinstance(target, ast.Tuple):
            is_long = len(target.elts) > _UNPACKED_MAX
            if (is_long and _is_of_rows(value, rows)) or _drops_the_rest(target):
                yield target


def _fills(call: ast.Call, rows: set[str]) -> bool:
    name = code_of(call.func).rpartition(".")[2].lstrip("_")
    is_all = len(call.args) == 1 and not call.keywords
    return name == "starmap" or (
        name[:1].isupper()
        and any(
            isinstance(value, ast.Starred) and (is_all or _is_of_rows(value.value, rows))
            for value in call.args
        )
    )


def _drops_the_rest(target: ast.Tuple) -> bool:
    return any(isinstance(each, ast.Starred) and code_of(each.value) == "_" for each in target.elts)


def _names_of_rows(part: ast.AST) -> set[str]:
    names = {"row"}
    for _ in range(2):  # from a query to its rows, and on to each of them
        names |= {
            name.id
            for node in nodes_of(part)
            for target, value in _named(node)
            if _is_of_rows(value, names)
            for name in _last_names(target)
        }
    return names


def _named(node: ast.AST) -> Iterator[tuple[ast.expr, ast.expr]]:
    """Yields the targets of a statement, each with what it stands for or what it is one of."""
    if isinstance(node, ast.Assign):
        yield from ((target, node.value) for target in node.targets)
    elif isinstance(node, ast.NamedExpr):
        yield node.target, node.value
    elif isinstance(node, ast.For | ast.comprehension):
        yield node.target, node.iter


def _last_names(target: ast.expr) -> Iterator[ast.Name]:
    """Yields the name that is a row, or the columns that are left of one."""
    if isinstance(target, ast.Name):
        yield target
    elif isinstance(target, ast.Tuple):
        rest = [each.value for each in target.elts if isinstance(each, ast.Starred)]
        yield from (each for each in rest if isinstance(each, ast.Name))


def _is_of_rows(value: ast.expr, rows: set[str]) -> bool:
    """Returns whether it is rows, one of them, or made of one value after the other of one."""
    if isinstance(value, ast.Name):
        return value.id in rows
    if isinstance(value, ast.Await):
        return _is_of_rows(value.value, rows)
    if isinstance(value, ast.IfExp):
        return _is_of_rows(value.body, rows) or _is_of_rows(value.orelse, rows)
    if not isinstance(value, ast.Call):
        return False
    if isinstance(value.func, ast.Attribute):
        name = value.func.attr
        if name in _ASKING:
            return True
        return name in _ONE_OR_MORE and _is_of_rows(value.func.value, rows)
    name = code_of(value.func)
    if name in _ASKING:
        return True
    return name in _OF_EACH and any(_is_of_rows(each, rows) for each in value.args)
