"""Tests share some helpers, some names mean the same thing in all of them, and they ask servers in
one way.
"""

import ast
from collections.abc import Iterator, Sequence
from pathlib import PurePosixPath

import pytest

from tests.support.sources import TESTS, code_of, nodes_of, sources

PROGRAMS = {
    "tests.fuzz.target": "what make fuzz runs, and the test of its corpus",
    "tests.quick": "make quick, and the test of what it chooses",
}
READS_AUTHORITIES = {"get", "post", "put", "delete", "request", "stream", "Client"}
AMINA = {
    "amina": "api/conftest.py",  # an actor with keys, who sends requests
    "amina_id": "capability/conftest.py",  # the id of an account, which use cases take
}
CAST = {"amina", "bilal", "chidi"}
# fixtures of a test file that hide one of a conftest.py
HIDES_FOR_A_REASON = {
    "capability/cli/test_commands_unconfirmed.py: run": "a server whose standby is gone",
    "capability/messages/retention/test_retention_months.py: db": "others would miss its months",
    "faults/test_redis.py: deployment": "a Redis of the test's own",
    "wire/simulator/test_smsc_smpplib.py: smsc": "a process, as an operator starts it",
}


def test_no_test_reads_certificate_authorities_to_ask_a_server_without_tls() -> None:
    """Each call needs 25 ms of a processor to read them (tests/support/plain_http.py)."""
    calls = [
        f"tests/{source.path}:{node.lineno}: httpx.{node.attr}; call tests.support.plain_http"
        for source in sources(TESTS)
        if source.path != "support/plain_http.py"
        for called in nodes_of(source.tree)
        if isinstance(called, ast.Call) and isinstance(node := called.func, ast.Attribute)
        if isinstance(node.value, ast.Name) and node.value.id == "httpx"
        if node.attr in READS_AUTHORITIES
    ]
    assert not calls, "\n".join(calls)


def test_tests_share_what_stands_in_support_and_nothing_else() -> None:
    """A test file that others import from cannot be changed, moved or deleted by itself."""
    sideways = [
        f"tests/{source.path}:{line} imports {module}: move that to tests/support"
        for source in sources(TESTS)
        for node in nodes_of(source.tree)
        for line, module in _imported(node)
        if module.startswith("tests.") and not module.startswith("tests.support")
        if module not in PROGRAMS
    ]
    assert not sideways, "\n".join(sideways)


def test_one_class_is_called_house() -> None:
    houses = [
        source.path
        for source in sources(TESTS)
        for node in nodes_of(source.tree)
        if isinstance(node, ast.ClassDef) and node.name == "House"
    ]
    assert houses == ["support/capability/sending.py"]


def test_amina_is_one_actor_and_amina_id_the_id_of_one_account() -> None:
    """If a test needs more of her, it adds that in a fixture that says what it is, or has an
    account of another name.
    """
    assert {(name, path) for path, name in _fixtures() if name in AMINA} == set(AMINA.items())


def test_amina_is_who_she_is_wherever_a_test_names_her() -> None:
    """Her record, her key and her headers are called by other names."""
    others = [
        f"tests/{source.path}:{node.lineno} {name} = {code_of(value)[:60]}"
        for source in sources(TESTS)
        if not source.path.startswith("support/")
        for node in nodes_of(source.tree)
        if isinstance(node, ast.Assign)
        for name, value in _assigned(node)
        if name in AMINA and not _is_hers(name, value)
    ]
    assert not others, "\n".join(others)


@pytest.mark.parametrize(
    ("line", "is_hers"),
    [
        ("amina = server.cast.amina", True),
        ("amina = open_account(db)", False),
        ("amina = house.amina_id", False),
        ("amina_id = open_account(db, credits=1)", True),
        ("db, amina_id = house.db, house.amina_id", True),
        ("amina_id = account(db)", False),
        ("amina_id = server.cast.amina", False),
        ("amina_id, chidi = account(db), account(db, 'chidi')", False),
        ("amina_id, chidi = (issue_key(db, name) for name in NAMES)", False),
        ("amina_id = issue_key(db, open_account(db))", False),
    ],
)
def test_another_value_by_her_name_is_found(line: str, is_hers: bool) -> None:
    [node] = ast.parse(line).body
    assert isinstance(node, ast.Assign)
    [(name, value)] = [each for each in _assigned(node) if each[0] in AMINA]
    assert _is_hers(name, value) == is_hers


def _assigned(node: ast.Assign) -> Iterator[tuple[str, ast.expr]]:
    """Yields the names that are assigned, each with its value, or with that of all of them."""
    for target in node.targets:
        names = target.elts if isinstance(target, ast.Tuple) else [target]
        values = node.value.elts if isinstance(node.value, ast.Tuple) else [node.value] * len(names)
        for name, value in zip(names, values, strict=False):
            if isinstance(name, ast.Name):
                yield name.id, value


def _is_hers(name: str, value: ast.expr) -> bool:
    """Returns whether a name of `AMINA` is given what it stands for."""
    if isinstance(value, ast.GeneratorExp):
        return _is_hers(name, value.elt)
    if name == "amina":
        return isinstance(value, ast.Attribute) and value.attr in CAST
    if isinstance(value, ast.Call):
        return isinstance(value.func, ast.Name) and value.func.id == "open_account"
    return isinstance(value, ast.Attribute) and value.attr == "amina_id"


def test_no_fixture_hides_one_of_a_conftest_above_it() -> None:
    """A name that means one thing in a folder is not given to another by one of its files, nor by a
    folder in it.
    """
    fixtures = list(_fixtures())
    shared = {
        (PurePosixPath(path).parent, name)
        for path, name in fixtures
        if PurePosixPath(path).name == "conftest.py"
    }
    hiding = {
        f"{path}: {name}"
        for path, name in fixtures
        if any((folder, name) in shared for folder in _above(PurePosixPath(path)))
    }
    assert hiding == HIDES_FOR_A_REASON.keys()


def _above(file: PurePosixPath) -> Sequence[PurePosixPath]:
    """Returns the folders whose conftest a fixture of this file would hide."""
    return file.parents[1:] if file.name == "conftest.py" else file.parents


def _fixtures() -> Iterator[tuple[str, str]]:
    """Yields the file and the name of each fixture."""
    for source in sources(TESTS):
        for node in nodes_of(source.tree):
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
                for decorator in node.decorator_list:
                    if code_of(decorator).startswith("pytest.fixture"):
                        yield source.path, _name_given(decorator) or node.name


def _name_given(decorator: ast.expr) -> str | None:
    """Returns the name in `@pytest.fixture(name="amina")`, if there is one."""
    given = decorator.keywords if isinstance(decorator, ast.Call) else []
    return next((ast.literal_eval(one.value) for one in given if one.arg == "name"), None)


def _imported(node: ast.AST) -> list[tuple[int, str]]:
    """Returns the line and the name of each module that an import takes something of. One that is
    relative is of the tests, for these folders are no packages of anything else.
    """
    if isinstance(node, ast.Import):
        return [(node.lineno, alias.name) for alias in node.names]
    if not isinstance(node, ast.ImportFrom):
        return []
    if node.level:
        return [(node.lineno, f"tests.{'.' * node.level}{node.module or ''}")]
    if node.module == "tests":
        return [(node.lineno, f"tests.{alias.name}") for alias in node.names]
    return [(node.lineno, node.module or "")]


@pytest.mark.parametrize(
    "line",
    [
        "import tests.api.conftest",
        "from tests import api",
        "from tests.api import conftest",
        "from ..api import conftest",
        "from .test_keys import helper",
        "from . import test_keys",
    ],
)
def test_an_import_of_another_folder_of_tests_is_seen(line: str) -> None:
    [(_, module)] = [found for node in nodes_of(ast.parse(line)) for found in _imported(node)]
    assert module.startswith("tests.")
    assert not module.startswith("tests.support")
