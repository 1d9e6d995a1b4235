"""Finds the statements of the hot paths, wherever they are declared."""

import importlib
import pkgutil
from typing import Any, Final

import heliograph
from heliograph.database.statements import BatchStatement, Statement, TablesStatement

Declared = Statement[Any, Any] | BatchStatement[Any, Any] | TablesStatement[Any, Any]


def _declared() -> dict[str, Declared]:
    """Returns the statements by their names, which begin with those of their modules."""
    found: dict[str, Declared] = {}
    for module in pkgutil.walk_packages(heliograph.__path__, "heliograph."):
        if "__main__" not in module.name and ".migrations." not in module.name:
            found |= _of(importlib.import_module(module.name))
    return found


def _of(module: Any) -> dict[str, Declared]:
    return {
        f"{module.__name__}.{name}": value
        for name, value in vars(module).items()
        if isinstance(value, Statement | BatchStatement | TablesStatement)
    }


STATEMENTS: Final = _declared()
