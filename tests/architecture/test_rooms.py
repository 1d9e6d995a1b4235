"""No room is too large for one reader, its folders have an order, and no files import each other
in a circle.

A room is a folder of the package. In `messages`, the largest, each of its folders is a room of its
own, and so are the files beside these folders taken together. The tests of use cases and of pure
functions stand in folders that are called as the rooms of the code.
"""

import tomllib
from collections import Counter
from graphlib import CycleError, TopologicalSorter

import pytest

from tests.support.imports import all_imports, module_of
from tests.support.sources import PACKAGE, ROOT, TESTS, sources

FILES_IN_A_FOLDER_MAX = 25
SHARE_OF_LINES_MAX = 0.12
DIVIDED_INTO_ROOMS = "messages"
WITHOUT_ORDER = {
    "migrations": "its folder is a list",
}
NO_ROOM = "migrations/versions/"  # a migration is written once and never changed
OF_ROOMS = ("capability", "unit")  # the folders of tests that have the rooms of the code
OF_NO_ROOM = {
    "capability/bench": "the measurements in bench/",
    "unit/support": "what tests are run with",
}


def test_no_file_imports_another_in_a_circle() -> None:
    imported: dict[str, set[str]] = {module_of(source.path): set() for source in sources(PACKAGE)}
    for found in all_imports():
        imported[found.importer].add(found.module)
    try:
        TopologicalSorter(imported).prepare()
    except CycleError as error:
        pytest.fail(f"These files import each other in a circle: {', '.join(error.args[1])}")


def test_rooms_with_folders_say_in_which_order_these_import_each_other() -> None:
    configuration = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))
    ordered = {
        container.removeprefix("heliograph.")
        for contract in configuration["tool"]["importlinter"]["contracts"]
        for container in contract["containers"]
    }
    divided = {
        source.path.split("/")[0] for source in sources(PACKAGE) if source.path.count("/") > 1
    }
    assert divided - ordered == set(WITHOUT_ORDER), "add a contract to pyproject.toml"


def test_a_contract_of_imports_names_every_file_and_folder_of_its_room() -> None:
    """Else a new one has no place in the order, and may import what it likes."""
    configuration = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))
    contracts = configuration["tool"]["importlinter"]["contracts"]
    assert not [each["name"] for each in contracts if not each.get("exhaustive")]


def test_no_folder_has_more_files_than_a_reader_can_overlook() -> None:
    files = Counter(
        source.path.rpartition("/")[0]
        for source in sources(PACKAGE)
        if not source.path.startswith(NO_ROOM)
    )
    too_full = [
        f"{folder}: {number}" for folder, number in files.items() if number > FILES_IN_A_FOLDER_MAX
    ]
    assert not too_full, f"These folders have more than {FILES_IN_A_FOLDER_MAX} files: {too_full}"


def test_no_folder_of_tests_has_more_files_than_a_reader_can_overlook() -> None:
    files = Counter(
        source.path.rpartition("/")[0]
        for source in sources(TESTS)
        if source.path.rpartition("/")[2].startswith("test_")
    )
    too_full = [
        f"tests/{folder}: {number}"
        for folder, number in files.items()
        if number > FILES_IN_A_FOLDER_MAX
    ]
    assert not too_full, f"give them folders of at most {FILES_IN_A_FOLDER_MAX} tests: {too_full}"


def test_folders_of_tests_are_called_as_the_rooms_of_the_code() -> None:
    folders = {
        source.path.rpartition("/")[0]
        for source in sources(TESTS)
        if source.path.startswith(tuple(f"{kind}/" for kind in OF_ROOMS))
    }
    nowhere = {
        folder
        for folder in folders.difference(OF_ROOMS)
        if not (PACKAGE / folder.partition("/")[2]).is_dir()
    }
    assert nowhere == set(OF_NO_ROOM)


def test_each_room_with_tables_has_tests_of_its_use_cases() -> None:
    with_tables = {path.parent.name for path in PACKAGE.glob("*/tables.py")}
    without = {room for room in with_tables if not any(TESTS.glob(f"capability/{room}/**/test_*"))}
    assert not without, f"tests/capability has no test of {without}"


def test_no_room_holds_more_than_its_share_of_the_lines() -> None:
    lines: Counter[str] = Counter()
    for source in sources(PACKAGE):
        if not source.path.startswith(NO_ROOM):
            lines[_room_of(source.path)] += source.text.count("\n")
    too_large = [
        f"{room}: {number / lines.total():.1%}"
        for room, number in lines.items()
        if number > SHARE_OF_LINES_MAX * lines.total()
    ]
    assert not too_large, f"more than {SHARE_OF_LINES_MAX:.0%} of all lines: {too_large}"


def _room_of(path: str) -> str:
    room, *inside = path.split("/")
    if room == DIVIDED_INTO_ROOMS:
        return f"{room}/{inside[0]}" if len(inside) > 1 else f"{room}/*.py"
    return room
