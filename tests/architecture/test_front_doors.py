"""Into another capability only through its front door, its `__init__.py` (docs/architecture.md,
"The rooms").

That imports run downward only is the layers contract in pyproject.toml, checked by import-linter
(`make lint`).
"""

import ast
from collections.abc import Iterator
from importlib.util import resolve_name

from tests.support.sources import PACKAGE, Source, sources

ALL_DOORS_OPEN = {
    "base": "every file of it is there for everybody",
    "database": "likewise: it is what all others store with",
    "text": "pure functions, which own nothing that could be touched past a front door",
}
OPEN_FILES = {
    "states": "statements that join those tables compare their states",
    "tables": "statements join, and keys refer to, the tables of capabilities below",
}
GUESTS_WITH_KEYS = {
    "api": "puts the house together: its job is to know every room's routes",
    "audit": "proves what the other rooms have stored, so it looks into them",
    "cli": "loads of each room what one command needs, and no more",
    "jobs": "likewise every room's jobs",
    "processes": "starts what the others are",
}


def test_a_capability_is_entered_through_its_front_door_only() -> None:
    trespasses = [
        f"{source.path} imports {module}: take it from heliograph.{module.split('.')[1]}, or open"
        " OPEN_FILES in this test, with a reason"
        for source in sources(PACKAGE)
        if (home := source.path.split("/")[0]) not in GUESTS_WITH_KEYS
        for module in _imported_modules(source)
        if _passes_a_front_door(home, module)
    ]
    assert not trespasses, "\n".join(trespasses)


def _passes_a_front_door(home: str, module: str) -> bool:
    room, *inside = module.split(".")[1:] or [""]
    return (
        bool(inside) and room != home and room not in ALL_DOORS_OPEN and inside[0] not in OPEN_FILES
    )


def _imported_modules(source: Source) -> Iterator[str]:
    """Modules of ours that this file imports, with `from heliograph.wallet import ledger`
    read as the module that it is.
    """
    package = ".".join(("heliograph", *source.path.split("/")[:-1]))
    for node in ast.walk(source.tree):
        if isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            module = resolve_name("." * node.level + (node.module or ""), package)
            names = [
                f"{module}.{alias.name}" if _is_module(f"{module}.{alias.name}") else module
                for alias in node.names
            ]
        else:
            continue
        yield from (name for name in names if name.split(".")[0] == "heliograph")


def _is_module(name: str) -> bool:
    path = PACKAGE.parent.joinpath(*name.split("."))
    return path.is_dir() or path.with_suffix(".py").is_file()
