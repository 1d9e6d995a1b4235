"""Code goes into another room only through its front door, its `__init__.py`
(docs/decisions/base.md).

`__all__` lists what a room hands out: names, and modules inside, whose public names others may use
then. A folder that is listed has a front door of its own. That imports run downward only is
import-linter's business (`make lint`).
"""

import ast
import importlib
import inspect
import re
from collections.abc import Collection, Iterator, Mapping
from itertools import pairwise
from typing import Any, cast, get_args, get_origin

import sqlalchemy as sa

from heliograph.database.statements import BatchStatement, Statement, TablesStatement
from heliograph.database.transitions import Transitions
from tests.support.doors import handed_out, is_handed_out
from tests.support.imports import Import, all_imports, imports_of, is_module, names_of
from tests.support.sources import PACKAGE, ROOT, Source, nodes_of, sources

ALL_DOORS_OPEN = {
    "base": "every file of it is there for everybody",
    "database": "likewise: it is what all others store with",
    "text": "pure functions, which own nothing that could be touched past a front door",
}
OPEN_FILES = {
    "tables": "statements join, and keys refer to, the tables of rooms below",
}
# whole statements, which a room above runs, and whose text it cannot read
STATEMENTS_FOR_OTHERS = {
    "heliograph.requests: INSERT_KEYS": "the one writer of Idempotency-Keys, which other rooms"
    " run in their own transactions",
    "heliograph.wallet: INSERT_ENTRIES": "the one writer of ledger entries, which the room of sends"
    " runs in its own transactions",
}
# functions and fields by which a front door hands out a query or a part of one
QUERIES_FOR_OTHERS: dict[str, str] = {}
STATEMENTS = (BatchStatement, Statement, TablesStatement, sa.ClauseElement)
CONTAINERS = {tuple, list, set, frozenset}  # a NamedTuple is a row
# how a statement begins, or a part of one, or a comment in one
SQL_TEXT = re.compile(
    r"\s*((SELECT|INSERT|UPDATE|DELETE|WITH|FROM|WHERE|JOIN|SET|VALUES|RETURNING|ORDER BY"
    r"|ON CONFLICT)\s|/\*|--)"
)
TAKES_SQL = {"sql", "statement"}  # how a parameter with such a text is called
SQL_OF_TRANSITIONS = {"is_in", "may_become", "may_store"}
# a page that a reader takes in at once; beyond it a module, which says whose its names are, is
# handed out in place of names
NAMES_MAX = 40
FOLDERS_OF_USERS = ("bench", "tools")  # beside the package's own rooms; tests do not count


def test_a_room_is_entered_through_its_front_door_only() -> None:
    trespasses = [
        f"{found.path} imports {found.module}{f': {found.name}' if found.name else ''}"
        for found in all_imports()
        if _enters_another_room(found) and not is_handed_out(found)
    ]
    assert not trespasses, "no front door hands this out:\n" + "\n".join(trespasses)


def test_front_doors_hand_out_only_what_somebody_outside_uses() -> None:
    used = {
        (package, name)
        for source in _users()
        for package, name in _uses(source)
        if not _is_inside(source, package)
    }
    unused = [
        f"{package}: {name}"
        for package, names in handed_out().items()
        for name in names
        if (package, name) not in used
    ]
    assert not unused, "handed out, and used by nobody outside:\n" + "\n".join(sorted(unused))


def test_a_front_door_hands_out_no_module_beside_names_of_it() -> None:
    """Whoever reads a call finds one way to write it: `money.to_text` and not also `to_text`."""
    both = [
        f"{package}: {name} of {module}"
        for package, names in handed_out().items()
        for name in names
        for module in [_module_of(package, name)]
        if module in names - names_of(package)
    ]
    assert not both, "handed out, and so is its module:\n" + "\n".join(sorted(both))


def test_a_front_door_lists_few_names() -> None:
    long = {
        package: len(names) for package, names in handed_out().items() if len(names) > NAMES_MAX
    }
    assert not long, f"more than {NAMES_MAX} names; hand out a module in place of its names: {long}"


def test_a_module_is_imported_by_its_name_where_it_is_used() -> None:
    """A front door does not load the modules that it lists. `users.two_step` works only where
    somebody else has loaded it already.
    """
    unloaded = [
        f"{source.path}: {package}.{name}"
        for source in (*_users(), *sources(ROOT / "tests"))
        for package, name in _attributes_of_modules(source)
        if name in handed_out().get(package, frozenset()) - names_of(package)
        and is_module(f"{package}.{name}")
    ]
    assert not unloaded, "used, and not imported:\n" + "\n".join(sorted(unloaded))


def test_no_front_door_hands_out_sql() -> None:
    """No front door hands out a statement or a part of one. A statement that joins another room's
    tables takes them from its `tables.py`.
    """
    handed = [
        f"{package}: {name}"
        for package, names in handed_out().items()
        for name in names
        if name.endswith("sql")
        or _is_sql(getattr(importlib.import_module(package), name, None))
        or _home_of(package, name).endswith("sql")
    ]
    assert set(handed) == set(STATEMENTS_FOR_OTHERS), "\n".join(sorted(handed))


def test_a_room_takes_tables_and_values_from_the_tables_of_another_and_no_sql() -> None:
    handed = [
        f"{source.path}: {module}.{name}"
        for source in sources(PACKAGE)
        for module, name in _uses(source)
        if module.startswith("heliograph.")
        and module.rpartition(".")[2] in OPEN_FILES
        and module.split(".")[1] != source.path.split("/")[0]
        and _is_part_of_sql(getattr(importlib.import_module(module), name))
    ]
    assert not handed, "\n".join(sorted(handed))


def test_only_the_room_of_a_state_asks_for_it_in_sql() -> None:
    """Others name the states, and write conditions on them by themselves."""
    asked = [
        f"{source.path}: {module}.{name}.{node.attr}"
        for source in sources(PACKAGE)
        for module, name in _uses(source)
        if module.startswith("heliograph.")
        and module.split(".")[1] != source.path.split("/")[0]
        and isinstance(getattr(importlib.import_module(module), name, None), Transitions)
        for node in nodes_of(source.tree)
        if isinstance(node, ast.Attribute)
        and node.attr in SQL_OF_TRANSITIONS
        and ast.unparse(node.value).rpartition(".")[2] == name
    ]
    assert not asked, "\n".join(sorted(asked))


def test_nobody_reads_the_text_of_a_statement() -> None:
    """A statement is run as it is declared. Only the room `database` makes one of another."""
    read = [
        f"{source.path}: {ast.unparse(node)}"
        for source in sources(PACKAGE)
        if not source.path.startswith("database/")
        for node in nodes_of(source.tree)
        if isinstance(node, ast.Attribute)
        and (
            node.attr == "_part_for"
            or (
                node.attr in ("postgresql", "sqlite")
                and isinstance(node.value, ast.Name)
                and node.value.id.isupper()
            )
        )
    ]
    assert not read, "\n".join(sorted(read))


def test_no_module_that_is_handed_out_has_sql_under_a_public_name() -> None:
    """Whoever is handed a module may use all its public names. Functions that ask are among them; a
    statement or a part of one is not.
    """
    handed = [
        f"{package}.{module}: {name}"
        for package, modules in handed_out().items()
        for module in modules
        for name in _assigned_in(package, module)
        if _is_sql(getattr(importlib.import_module(f"{package}.{module}"), name))
    ]
    assert not handed, "\n".join(handed)


def test_no_front_door_hands_out_a_function_of_queries() -> None:
    """What a function that is handed out takes and returns, and a class holds, are values and rows.
    With a query of SQLAlchemy, or a part of one, rooms above would build on how a room stores.
    """
    handed = {
        place
        for package, names in handed_out().items()
        for name in names
        for module, found in _functions_and_classes(package, name)
        for place, hints in _hints_of(found)
        if any(map(_names_query, hints))
        for place in [f"{module}: {place}"]
    }
    assert handed == set(QUERIES_FOR_OTHERS), "\n".join(sorted(handed ^ set(QUERIES_FOR_OTHERS)))


def test_no_front_door_hands_out_a_function_that_takes_the_text_of_a_statement() -> None:
    handed = [
        f"{module}: {found.__name__}"
        for package, names in handed_out().items()
        if package.split(".")[1] not in ALL_DOORS_OPEN
        for name in names
        for module, found in _functions_and_classes(package, name)
        if inspect.isfunction(found) and TAKES_SQL & inspect.signature(found).parameters.keys()
    ]
    assert not handed, "\n".join(sorted(handed))


def _is_sql(value: object) -> bool:
    if isinstance(value, Mapping):
        return any(_is_sql(each) for each in value.values())
    if type(value) in CONTAINERS:
        return any(_is_sql(each) for each in cast(Collection[object], value))
    is_text = isinstance(value, str) and SQL_TEXT.match(value) is not None
    return is_text or isinstance(value, STATEMENTS)


def _is_part_of_sql(value: object) -> bool:
    """Returns whether it is anything but a table, a class, or a value: a word such as a status is a
    value, and a text with spaces is none.
    """
    if isinstance(value, str):
        return re.fullmatch(r"[\w.-]*", value) is None
    if isinstance(value, Mapping):
        return any(_is_part_of_sql(each) for each in value.values())
    if type(value) in CONTAINERS:
        return any(_is_part_of_sql(each) for each in cast(Collection[object], value))
    is_table_or_class = isinstance(value, sa.Table) or inspect.isclass(value)
    return not is_table_or_class and (isinstance(value, STATEMENTS) or inspect.isfunction(value))


def _assigned_in(package: str, module: str) -> list[str]:
    """Returns the public names that a module gives to values; none if there is no such file."""
    path = PACKAGE.parent.joinpath(*package.split("."), f"{module}.py")
    if module in names_of(package) or not path.is_file():
        return []
    return [
        target.id
        for node in ast.parse(path.read_text("utf-8")).body
        if isinstance(node, ast.Assign | ast.AnnAssign)
        for target in (node.targets if isinstance(node, ast.Assign) else [node.target])
        if isinstance(target, ast.Name) and not target.id.startswith("_")
    ]


def _functions_and_classes(package: str, name: str) -> list[tuple[str, Any]]:
    """Returns the functions and classes that a name of a front door gives, each with the module
    that others take it from: those that a module declares, if the name is that of a module.
    """
    if name in names_of(package) or not is_module(f"{package}.{name}"):
        return [(package, getattr(importlib.import_module(package), name))]
    module = importlib.import_module(f"{package}.{name}")
    return [
        (module.__name__, value)
        for called, value in vars(module).items()
        if not called.startswith("_") and getattr(value, "__module__", "") == module.__name__
    ]


def _hints_of(value: Any) -> Iterator[tuple[str, list[Any]]]:
    """Yields a function's name with the types that it takes and returns; of a class, each public
    field and method.
    """
    if inspect.isfunction(value):
        yield value.__qualname__, list(value.__annotations__.values())
    elif inspect.isclass(value):
        for field, hint in vars(value).get("__annotations__", {}).items():
            if not field.startswith("_"):
                yield f"{value.__qualname__}.{field}", [hint]
        for method, inside in vars(value).items():
            function = getattr(inside, "fget", None) or getattr(inside, "__func__", inside)
            is_public = method == "__init__" or not method.startswith("_")
            if is_public and inspect.isfunction(function):
                yield from _hints_of(function)


def _names_query(hint: Any) -> bool:
    """Returns whether a type is one of SQLAlchemy's queries, or is made of one. A type in quotes
    counts by its words.
    """
    if isinstance(hint, str):
        named = [getattr(sa, word, None) for word in re.findall(r"\w+", hint)]
        return any(map(_names_query, filter(inspect.isclass, named)))
    if isinstance(hint, list):  # what a Callable takes
        return any(map(_names_query, hint))
    kind = get_origin(hint) or hint
    is_query = inspect.isclass(kind) and issubclass(kind, sa.ClauseElement)
    return is_query or any(map(_names_query, get_args(hint)))


def _enters_another_room(found: Import) -> bool:
    room, *inside = found.module.split(".")[1:] or [""]
    return (
        room not in ("", found.path.split("/")[0], *ALL_DOORS_OPEN)
        and found.module.rpartition(".")[2] not in OPEN_FILES
        and bool(inside or found.name)
    )


def _users() -> list[Source]:
    return [
        *sources(PACKAGE),
        *(source for folder in FOLDERS_OF_USERS for source in sources(ROOT / folder)),
    ]


def _is_inside(source: Source, package: str) -> bool:
    return source in sources(PACKAGE) and f"heliograph/{source.path}".startswith(
        package.replace(".", "/") + "/"
    )


def _uses(source: Source) -> set[tuple[str, str]]:
    """Returns what the file imports, and what it takes of modules that it imports, as pairs of
    package and name.
    """
    found = set()
    for used in imports_of(source):
        way = used.module.split(".")
        steps = {(".".join(way[:length]), way[length]) for length in range(1, len(way))}
        # a function that is called as its file is not used by whoever enters the file
        found |= {(package, name) for package, name in steps if name not in names_of(package)}
        if used.name:
            found.add((used.module, used.name))
    # a limit that a command names, and loads when somebody exceeds it (cli/checked_values.py)
    for node in nodes_of(source.tree):
        if isinstance(node, ast.Call):
            given = [each.value for each in node.args if isinstance(each, ast.Constant)]
            names = [each for each in given if isinstance(each, str)]
            found |= set(pairwise(names))
    return found | _attributes_of_modules(source)


def _attributes_of_modules(source: Source) -> set[tuple[str, str]]:
    """Returns what the file takes of modules that it imports, as pairs of module and name."""
    modules = {
        alias.asname or alias.name: f"{node.module}.{alias.name}"
        for node in nodes_of(source.tree)
        if isinstance(node, ast.ImportFrom) and node.module
        for alias in node.names
        if is_module(f"{node.module}.{alias.name}")
    }
    return {
        (modules[node.value.id], node.attr)
        for node in nodes_of(source.tree)
        if isinstance(node, ast.Attribute)
        and isinstance(node.value, ast.Name)
        and node.value.id in modules
    }


def _module_of(package: str, name: str) -> str:
    """Returns the module of the package, as the package calls it, that a name comes from; an empty
    text if it comes from elsewhere.
    """
    home = _home_of(package, name)
    inside = home.removeprefix(f"{package}.")
    return "" if inside == home else inside.split(".")[0]


def _home_of(package: str, name: str) -> str:
    """Returns the module that a front door has the name from."""
    path = PACKAGE.parent.joinpath(*package.split("."), "__init__.py")
    for node in ast.parse(path.read_text("utf-8")).body:
        if isinstance(node, ast.ImportFrom) and node.module:
            for alias in node.names:
                if name == (alias.asname or alias.name):
                    return node.module
    return package
