"""Finds what each file of the package imports of the package's other files."""

import ast
from collections.abc import Iterator
from functools import cache
from importlib.util import resolve_name
from typing import NamedTuple

from tests.support.sources import PACKAGE, Source, nodes_of, sources


class Import(NamedTuple):
    path: str  # of the file that imports: `messages/api.py`
    importer: str  # the same file as a module: `heliograph.messages.api`
    module: str
    name: str | None  # None: the module itself is imported


@cache
def all_imports() -> tuple[Import, ...]:
    """Returns the imports of all files of the package, also those inside functions and those for
    types only.
    """
    return tuple(found for source in sources(PACKAGE) for found in imports_of(source))


def imports_of(source: Source) -> Iterator[Import]:
    """Yields what the file imports of the package. `from heliograph.wallet import ledger` is an
    import of the module `heliograph.wallet.ledger`.
    """
    importer = module_of(source.path)
    package = importer if source.path.endswith("__init__.py") else importer.rpartition(".")[0]
    for node in nodes_of(source.tree):
        found: list[tuple[str, str | None]]
        if isinstance(node, ast.Import):
            found = [(alias.name, None) for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            module = resolve_name("." * node.level + (node.module or ""), package)
            found = [
                (f"{module}.{alias.name}", None)
                if alias.name not in names_of(module) and is_module(f"{module}.{alias.name}")
                else (module, alias.name)
                for alias in node.names
            ]
        else:
            continue
        for module, name in found:
            if module.split(".")[0] == "heliograph":
                yield Import(source.path, importer, module, name)


@cache
def names_of(package: str) -> frozenset[str]:
    """Returns the names that a package's front door imports: they stand before modules that are
    called the same.
    """
    path = PACKAGE.parent.joinpath(*package.split("."), "__init__.py")
    return frozenset(
        alias.asname or alias.name
        for node in (ast.parse(path.read_text("utf-8")).body if path.is_file() else [])
        if isinstance(node, ast.ImportFrom)
        for alias in node.names
    )


def module_of(path: str) -> str:
    """Returns the name of the module in the file at this path, from the package's folder."""
    parts = path.removesuffix(".py").split("/")
    return ".".join(("heliograph", *(part for part in parts if part != "__init__")))


def is_module(name: str) -> bool:
    path = PACKAGE.parent.joinpath(*name.split("."))
    return path.is_dir() or path.with_suffix(".py").is_file()
