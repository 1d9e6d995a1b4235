"""The documentation lists by name what the code has: settings, metrics, limits, dependencies,
files, and its own links.
"""

import ast
import re
import tomllib
from collections.abc import Iterator
from dataclasses import fields
from importlib import import_module
from itertools import chain, groupby
from pathlib import Path

import pytest
from prometheus_client.metrics import MetricWrapperBase

from heliograph.base import metrics, settings
from heliograph.database.database import metadata
from tests.support.sources import PACKAGE, ROOT, sources

PAGES = [
    ROOT / "README.md",
    ROOT / "CONTRIBUTING.md",
    ROOT / "CHANGELOG.md",
    *sorted((ROOT / "docs").rglob("*.md")),
]
# what a path in a page may begin below
FOLDERS_OF_PATHS = (PACKAGE, ROOT, ROOT / "tests", ROOT / "tests" / "architecture")
MAP_LINES_MAX = 250  # of docs/architecture.md: what a file is for stands in the file
PATH_AND_NAME = re.compile(r"`([\w.-]+/[\w./-]+\.py)(?:: ([\w.]+))?`")
LOGGED = re.compile(
    r"(?:\b(?:log\.(?:debug|info|warning|error)|survive_faults)\(\s*|\bfault=)\"(\w+)\""
)
LINK = re.compile(r"\]\((?!https?://)([^)#\s]*)(?:#([^)\s]+))?\)")


def _table(page: str, heading: str) -> list[list[str]]:
    """Returns the cells of the first table whose head begins so, row by row."""
    lines = (ROOT / page).read_text("utf-8").splitlines()
    start = next(number for number, line in enumerate(lines) if line.startswith(f"| {heading} |"))
    rows: list[list[str]] = []
    for line in lines[start + 2 :]:
        if not line.startswith("|"):
            break
        rows.append([cell.strip() for cell in re.split(r"(?<!\\)\|", line)[1:-1]])
    return rows


def test_the_settings_in_the_handbook_are_the_settings_there_are() -> None:
    told = {row[0].strip("`") for row in _table("docs/operations.md", "variable")}
    assert told == {settings._variable(field.name) for field in fields(settings.Settings)}


def test_the_metrics_in_the_handbook_are_the_metrics_there_are() -> None:
    told = {row[0].strip("`"): row[1] for row in _table("docs/operations.md", "metric")}
    there = {}
    for metric in vars(metrics).values():
        if isinstance(metric, MetricWrapperBase):
            described = next(iter(metric.describe()))
            there[described.name + "_total" * (described.type == "counter")] = ", ".join(
                metric._labelnames
            )
    assert told == there


def test_the_limits_in_the_handbook_are_the_limits_there_are() -> None:
    for limit, values, where in _table("docs/operations.md", "limit"):
        told = [int(number.replace(",", "")) for number in re.findall(r"\d[\d,]*", values)]
        assert told == list(_limits(where)), f"{limit}: {where}"


def _limits(where: str) -> Iterator[int]:
    """Yields the numbers behind names: `messages.request.VALIDITY_S`, `VALIDITY_DEFAULT_S` → 60,
    172800, 86400. What is in milliseconds is told in seconds.
    """
    module = ""
    for name in re.findall(r"`([\w.]+)`", where):
        module, _, constant = name.rpartition(".") if "." in name else (module, "", name)
        value = getattr(import_module(f"heliograph.{module}"), constant)
        for number in value if isinstance(value, tuple) else (value,):
            yield number // 1_000 if constant.endswith("_MS") else number


def test_the_events_in_the_handbook_are_the_events_that_are_logged() -> None:
    told = {
        name
        for row in _table("docs/operations.md", "event")
        for name in re.findall(r"`(\w+)`", row[0])
    }
    assert told == {event for source in sources(PACKAGE) for event in LOGGED.findall(source.text)}


def test_every_dependency_has_its_reason() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))
    declared = [
        *project["project"]["dependencies"],
        *(name for group in project["dependency-groups"].values() for name in group),
    ]
    told = {
        name
        for row in _table("docs/decisions/README.md", "dependency")
        for name in re.findall(r"`([\w-]+)`", row[0])
    }
    assert told == {re.split(r"[^A-Za-z0-9._-]", requirement)[0] for requirement in declared}


def test_every_file_says_what_it_is_for() -> None:
    silent = [source.path for source in sources(PACKAGE) if not ast.get_docstring(source.tree)]
    assert not silent, f"without a docstring of the module: {', '.join(silent)}"


def test_every_room_stands_on_the_map_in_the_order_of_imports() -> None:
    folders = {
        path.relative_to(PACKAGE).as_posix()
        for path in PACKAGE.rglob("*")
        if path.is_dir() and any(path.glob("*.py"))
    }
    told = _map()
    assert sorted(told) == sorted(folders)
    layers = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["tool"]["importlinter"][
        "contracts"
    ][0]["layers"]
    built = [[room for room in layer.split(" | ") if not room.startswith("(")] for layer in layers]
    assert [room for room in told if "/" not in room] == [*chain(*built), "migrations"]
    rows = groupby((room for room in told if "/" not in room), key=told.__getitem__)
    assert [list(row) for bar, row in rows if bar] == [layer for layer in built if len(layer) > 1]


def _map() -> dict[str, str]:
    """Returns the rooms and sub-rooms of the picture, each with the bar that it stands behind. One
    row of bars is one level.
    """
    picture = re.findall(r"^```text\n(.*?)^```$", _of("architecture.md"), re.M | re.S)[0]
    rooms: dict[str, str] = {}
    room = ""
    for line in picture.splitlines():
        found = re.fullmatch(r"([│┆] )?(  )?([a-z_]+)/ +\S.*", line)
        assert found, f"neither a room nor a sub-room: {line}"
        bar, inner, name = found.groups()
        if not inner:
            room = name
        rooms[f"{room}/{name}" if inner else name] = bar or ""
    return rooms


@pytest.mark.parametrize(
    "question",
    [
        "Where is a receipt matched?",
        "Where is a refund written?",
        "Where do I add a column to the queue?",
    ],
)
def test_the_map_answers_in_one_step(question: str) -> None:
    [answer] = [row[1] for row in _table("docs/architecture.md", "question") if row[0] == question]
    [(path, name)] = PATH_AND_NAME.findall(answer)
    assert name
    assert _is_there(path, name)


def test_the_map_stays_short() -> None:
    assert len(_of("architecture.md").splitlines()) <= MAP_LINES_MAX


def _of(page: str) -> str:
    return (ROOT / "docs" / page).read_text("utf-8")


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_what_a_page_refers_to_is_there(page: Path) -> None:
    text = page.read_text("utf-8")
    missing = [
        f"{path}: {name}" for path, name in PATH_AND_NAME.findall(text) if not _is_there(path, name)
    ]
    missing += [
        f"{target}#{anchor}"
        for target, anchor in LINK.findall(_prose(text))
        if not _leads_somewhere(page, target, anchor)
    ]
    assert not missing, f"{page.name} refers to what is not there: {', '.join(missing)}"


def _is_there(path: str, name: str) -> bool:
    """Returns whether the file exists, and defines the name (`once`, or `Turn.run_once`)."""
    found = next((folder / path for folder in FOLDERS_OF_PATHS if (folder / path).is_file()), None)
    return found is not None and (
        not name or name in _defined(ast.parse(found.read_text("utf-8")).body)
    )


def _defined(statements: list[ast.stmt], prefix: str = "") -> Iterator[str]:
    for statement in statements:
        if isinstance(statement, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            yield prefix + statement.name
        if isinstance(statement, ast.ClassDef):
            yield from _defined(statement.body, f"{statement.name}.")
        elif isinstance(statement, ast.Assign | ast.AnnAssign):
            targets = statement.targets if isinstance(statement, ast.Assign) else [statement.target]
            yield from (prefix + target.id for target in targets if isinstance(target, ast.Name))


def _leads_somewhere(page: Path, target: str, anchor: str) -> bool:
    found = (page.parent / target) if target else page
    return found.exists() and (not anchor or anchor in _anchors(found.read_text("utf-8")))


def _anchors(text: str) -> set[str]:
    """Returns what GitHub makes of headings."""
    headings = re.findall(r"^#+ (.+)$", _prose(text), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


def _prose(text: str) -> str:
    """Returns a page without its blocks of code."""
    return re.sub(r"^```.*?^```$", "", text, flags=re.MULTILINE | re.DOTALL)


def test_the_handbook_says_of_every_table_how_long_it_is_kept() -> None:
    for table in sorted((PACKAGE).glob("*/tables.py")):
        import_module(f"heliograph.{table.parent.name}.tables")
    import_module("heliograph.database.secret_key_canary")
    import_module("heliograph.database.leases")
    told = {
        name
        for row in _table("docs/retention.md", "table")
        for name in re.findall(r"`(\w+)`", row[0])
    }
    assert told == set(metadata.tables)
