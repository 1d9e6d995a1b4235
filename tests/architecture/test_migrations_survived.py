"""Every migration is one that the version before survives: it expands. What contracts says so, and
comes a version later.
"""

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.sources import PACKAGE, code_of, nodes_of

FREE = "0010"  # the last one that was run with all processes stopped
# the newest schema of the version before this one: set it anew with each release
VERSION_BEFORE = "0010"
VERSIONS = PACKAGE / "migrations" / "versions"
MIGRATIONS = [path for path in sorted(VERSIONS.glob("[0-9]*.py")) if path.name[:4] > FREE]


def objections(code: str) -> list[str]:
    """Returns what the version before would not survive, or would have to wait for, in a
    migration's code.
    """
    tree = ast.parse(code)
    said = {
        target.id: node.value.value
        for node in tree.body
        if isinstance(node, ast.Assign) and isinstance(node.value, ast.Constant)
        for target in node.targets
        if isinstance(target, ast.Name)
    }
    if "contracts" in said:
        return (
            []
            if str(said.get("readable_by", "9999")) <= VERSION_BEFORE
            else [
                f"it contracts: readable_by must say {VERSION_BEFORE} or less, the newest schema"
                " whose version needs nothing of what goes"
            ]
        )
    if "readable_by" in said:
        return ["readable_by without contracts: an expansion changes nothing for any version"]
    calls = [
        node
        for node in nodes_of(tree)
        if isinstance(node, ast.Call)
        and isinstance(node.func, ast.Attribute)
        and isinstance(node.func.value, ast.Name)
        and node.func.value.id == "op"
    ]
    made = {
        str(_value(call.args[0]))
        for call in calls
        if call.func.attr == "create_table"  # type: ignore[attr-defined]
    }
    made |= {name for name, table in _named_tables(tree) if table in made}
    return [
        f"line {call.lineno}: {what}"
        for call in calls
        for what in _objections(call, made, said.get("transactional") is False)
    ]


def _named_tables(tree: ast.AST) -> Iterator[tuple[str, object]]:
    """Yields the variables that stand for a table, `name = sa.table("table", …)`, each
    with its table.
    """
    for node in nodes_of(tree):
        if (
            isinstance(node, ast.Assign)
            and isinstance(node.value, ast.Call)
            and code_of(node.value.func) == "sa.table"
        ):
            yield from (
                (target.id, _value(node.value.args[0]))
                for target in node.targets
                if isinstance(target, ast.Name)
            )


def _objections(call: ast.Call, made: set[str], alone: bool) -> Iterator[str]:
    name = call.func.attr  # type: ignore[attr-defined]
    keywords = {keyword.arg: keyword.value for keyword in call.keywords}
    if name in ("create_table", "get_bind"):
        return
    if name == "add_column":
        column = {
            keyword.arg: keyword.value
            for node in call.args[1:]
            if isinstance(node, ast.Call)
            for keyword in node.keywords
        }
        if not (
            "server_default" in column
            or ("nullable" in column and _value(column["nullable"]) is True)
        ):
            yield "a column that is added is nullable or has a server_default"
    elif name == "create_index":
        beside = alone and all(
            keyword in keywords for keyword in ("postgresql_concurrently", "if_not_exists")
        )
        if not beside and _value(call.args[1]) not in made:
            yield (
                "an index of a table that is there is made CONCURRENTLY, with if_not_exists, in a"
                " migration that is not transactional"
            )
    elif name == "execute":
        words = str(_value(call.args[0])).split()
        fills = words[:2] == ["INSERT", "INTO"] and words[2] in made
        # which fails if there is such a function already
        if not fills and words[:2] != ["CREATE", "FUNCTION"]:
            yield (
                "it writes to a table that is there, or does what cannot be seen: only what this"
                " migration made may be filled"
            )
    elif name != "bulk_insert" or code_of(call.args[0]) not in made:
        yield f"op.{name} is no expansion"


def _value(node: ast.expr) -> object:
    return node.value if isinstance(node, ast.Constant) else None


@pytest.mark.parametrize("path", MIGRATIONS, ids=lambda path: path.name)
def test_the_version_before_survives_a_migration(path: Path) -> None:
    assert objections(path.read_text()) == []


@pytest.mark.parametrize(
    ("code", "objection"),
    [
        ('op.add_column("messages", sa.Column("note", sa.Text, nullable=True))', None),
        (
            (
                'op.add_column("messages", sa.Column("note", sa.Text, nullable=False,'
                ' server_default=""))'
            ),
            None,
        ),
        ('op.add_column("messages", sa.Column("note", sa.Text, nullable=False))', "nullable"),
        (
            (
                'op.create_table("notes", sa.Column("id"))\nop.create_index("notes_by_id", "notes",'
                ' ["id"])\nop.execute("INSERT INTO notes VALUES (1)")'
            ),
            None,
        ),
        ('op.create_index("sends_by_note", "sends", ["note"])', "CONCURRENTLY"),
        (
            (
                'transactional = False\nop.create_index("a", "sends", ["note"], if_not_exists=True,'
                " postgresql_concurrently=True)"
            ),
            None,
        ),
        ('op.execute("UPDATE sends SET note = 1")', "writes to a table that is there"),
        ('op.execute(f"INSERT INTO {name}")', "cannot be seen"),
        ('op.execute("CREATE FUNCTION one() RETURNS integer")', None),
        ('op.execute("CREATE OR REPLACE FUNCTION one() RETURNS integer")', "cannot be seen"),
        ('op.drop_column("sends", "note")', "op.drop_column is no expansion"),
        ('op.alter_column("sends", "note", nullable=False)', "op.alter_column is no expansion"),
        (
            (
                'contracts = "nobody reads note since 0010"\nreadable_by ='
                ' "0010"\nop.drop_column("sends", "note")'
            ),
            None,
        ),
        (
            (
                'contracts = "nobody reads note any more"\nreadable_by ='
                ' "0013"\nop.drop_column("sends", "note")'
            ),
            "it contracts",
        ),
        (
            'contracts = "nobody reads note any more"\nop.drop_column("sends", "note")',
            "it contracts",
        ),
        ('readable_by = "0013"', "readable_by without contracts"),
    ],
)
def test_what_it_would_not_survive_is_told(code: str, objection: str | None) -> None:
    found = objections(code)
    assert (found == []) if objection is None else (len(found) == 1 and objection in found[0]), (
        found
    )
