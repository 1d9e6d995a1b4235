"""Reads what a parsed source says: its texts, its functions, the names that it gives, the columns
that a call names.
"""

import ast
import re
from collections.abc import Collection, Iterable, Iterator, Mapping
from typing import Final

from tests.support.sources import code_of, nodes_of

ANY: Final = "*"  # a column whose name is not in the call


def texts_of(tree: ast.Module) -> Iterator[tuple[ast.Constant | ast.JoinedStr, str]]:
    """Yields every text, with `{}` for what is put into it. Docstrings are left out."""
    inside = {
        id(part)
        for node in nodes_of(tree)
        if isinstance(node, ast.JoinedStr)
        for part in nodes_of(node)
        if part is not node
    }
    documentation = {id(node.value) for node in nodes_of(tree) if isinstance(node, ast.Expr)}
    for node in nodes_of(tree):
        if id(node) in inside or id(node) in documentation:
            continue
        if isinstance(node, ast.JoinedStr):
            yield (
                node,
                "".join(
                    str(part.value) if isinstance(part, ast.Constant) else "{}"
                    for part in node.values
                ),
            )
        elif isinstance(node, ast.Constant) and isinstance(node.value, str):
            yield node, node.value


def functions_of(tree: ast.Module) -> Iterator[ast.FunctionDef | ast.AsyncFunctionDef]:
    for node in nodes_of(tree):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            yield node


def named_in(trees: Iterable[ast.AST]) -> dict[str, str]:
    """Returns what each name stands for that these assign, or import as another one."""
    named: dict[str, str] = {}
    for node in (part for tree in trees for part in nodes_of(tree)):
        if isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name):
            name = node.targets[0].id
            named[name] = f"{named.get(name, '')} {code_of(node.value)}".strip()
        elif isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name) and node.value:
            named[node.target.id] = code_of(node.value)
        elif isinstance(node, ast.ImportFrom):
            named.update({each.asname: each.name for each in node.names if each.asname})
    return named


def looped_in(tree: ast.AST, named: Mapping[str, str], wanted: Collection[str]) -> dict[str, str]:
    """Returns which of the wanted names those of loops stand for, one after the other."""
    looped: dict[str, str] = {}
    for node in nodes_of(tree):
        if isinstance(node, ast.For | ast.comprehension):
            words = re.findall(r"\w+", code_of(node.iter))
            words += [word for name in words for word in re.findall(r"\w+", named.get(name, ""))]
            found = " ".join(dict.fromkeys(word for word in words if word in wanted))
            names = [each.id for each in nodes_of(node.target) if isinstance(each, ast.Name)]
            looped.update(dict.fromkeys(names, found) if found else {})
    return looped


def spelled_out(node: ast.AST, named: Mapping[str, str]) -> str:
    """Returns the text of an expression with what its names stand for; three names deep."""
    text = code_of(node)
    for _ in range(3):
        text = re.sub(r"(?<![\w.])[A-Za-z_]\w*", lambda name: named.get(name[0], name[0]), text)
    return text


def columns_of(call: ast.Call) -> set[str]:
    """Returns the columns that are named in a call, and ANY if some are put together elsewhere."""
    columns = {keyword.arg or ANY for keyword in call.keywords}
    for argument in call.args:
        if isinstance(argument, ast.Dict):
            columns |= {
                str(key.value) if isinstance(key, ast.Constant) else ANY for key in argument.keys
            }
        else:
            columns.add(ANY)
    return columns
