"""Finds front doors: what each room hands out to the others."""

import ast
from functools import cache

from tests.support.imports import Import, names_of
from tests.support.sources import PACKAGE, code_of, sources


@cache
def handed_out() -> dict[str, frozenset[str]]:
    """Returns the names in the `__all__` of every package, by the package's name. Such a name is
    imported or defined by the front door, or is that of a module inside.
    """
    found = {}
    for source in sources(PACKAGE):
        folder, _, file = source.path.rpartition("/")
        if folder and file == "__init__.py":
            found["heliograph." + folder.replace("/", ".")] = _listed(source.tree)
    return found


def _listed(tree: ast.Module) -> frozenset[str]:
    for node in tree.body:
        if isinstance(node, ast.Assign) and code_of(node.targets[0]) == "__all__":
            return frozenset(ast.literal_eval(node.value))
    return frozenset()


def is_handed_out(found: Import) -> bool:
    """Returns whether the front doors on the way to what is imported hand it out: each names the
    module or folder that comes next, and the last one the name itself. Of a file that is handed
    out, every public name is. A function that is called as its file hands out itself alone, not the
    file.
    """
    way = found.module.split(".")
    for length in range(2, len(way)):
        package = ".".join(way[:length])
        if way[length] not in handed_out()[package] or way[length] in names_of(package):
            return False
    if found.name is None:
        return True
    names = handed_out().get(found.module)
    return not found.name.startswith("_") if names is None else found.name in names
