"""A table is written by the room whose `tables.py` declares it, and by no other. Others join it,
and write it by calling a function of its room.

The test reads the sources: the texts of statements, what is built with SQLAlchemy, and the calls
that hand a table to something that writes it.
"""

import ast
import importlib
import re
from collections.abc import Iterable, Iterator, Mapping
from functools import cache
from types import ModuleType
from typing import Final, NamedTuple

import pytest
import sqlalchemy as sa

from tests.support.imports import module_of
from tests.support.parsed import texts_of
from tests.support.sources import PACKAGE, Source, code_of, nodes_of, sources

# Files that write tables of other rooms, the tables, and why they do.
WRITTEN_FROM_OUTSIDE: Final[Mapping[str, tuple[set[str], str]]] = {
    "messages/accept/store_sql.py": (
        {"wallets"},
        "a batch of sends is stored in one statement on PostgreSQL, whatever the number of tables",
    ),
    "jobs/erase_number.py": (
        {
            "campaign_recipients",
            "campaigns",
            "carrier_refs",
            "contact_imports",
            "contacts",
            "customers",
            "idempotency_keys",
            "messages",
            "notices",
            "operator_decisions",
            "opt_out_changes",
            "opt_outs",
            "otp_ranges",
            "otps",
            "sends",
            "site_events",
            "site_logs",
            "unmatched_receipts",
            "webhook_attempts",
            "webhook_deliveries",
            "webhook_events",
        },
        "a number is erased from every room at somebody's request, and it is read in one place"
        " where a number may stand and what goes last",
    ),
    "jobs/erase_inbound.py": (
        {"inbound", "inbound_parts", "keyword_replies"},
        "a part of the same",
    ),
    "otp/erase.py": (
        {"sends"},
        "which sealed texts of sends will still be read, only this room knows; they are sealed"
        " anew by database/sealed_columns.py",
    ),
}
# What writes a table that it is given, and where. A call of it writes that table.
WRITE_WHAT_THEY_ARE_GIVEN: Final = {
    "PruningRule": "database/pruning.py",
    "SealedColumn": "database/sealed_columns.py",
    "Insert": "database/statements/statement.py",
    "make_month": "database/partitions.py",
    "RowChange": "jobs/erase_number.py",
    "redact": "jobs/erase_number.py",  # what it yields is written there; so with `delete_rows`
    "delete_rows": "jobs/erase_number.py",
    "upsert": "alerts/upsert.py",
    "make_room": "users/newest_rows.py",
    "_some_of": "webhooks/forget_endpoint.py",
}
TABLES_OF_DATABASE: Final = {"config", "installation", "secret_canary", "workers"}
NOT_OF_THE_SCHEMA: Final = {"phones"}  # in a file of SQLite's own, which lives for one import
WORDS: Final = ("insert", "update", "delete")
WRITING: Final = re.compile(
    r"\b(?:(?:INSERT|REPLACE)(?:\s+OR\s+\w+)?\s+INTO|DELETE\s+FROM|TRUNCATE(?:\s+TABLE)?"
    r"|UPDATE(?=\s+(?:ONLY\s+)?\S+(?:\s+(?:AS\s+)?(?!SET\b)\w+)?\s+SET\s))"
    r"\s+(?:ONLY\s+)?\"?(\w+|\{\w*\})",
    re.IGNORECASE,
)


class Write(NamedTuple):
    """Says that a file writes a table; `table` None says that the source does not tell which."""

    path: str
    line: int
    table: str | None


def test_no_room_writes_the_tables_of_another_with_statements_of_its_own() -> None:
    found = {(write.path, write.table) for write in _from_outside(_of_package())}
    allowed = {
        (path, table) for path, (tables, _) in WRITTEN_FROM_OUTSIDE.items() for table in tables
    }
    assert found - allowed == set(), (
        "call a function of the table's room, or give a reason in WRITTEN_FROM_OUTSIDE"
    )
    assert allowed - found == set(), "these exceptions are needed no more"


def test_who_writes_a_table_that_is_given_is_known_by_name() -> None:
    """Else a call of it with another room's table would be seen by nobody."""
    found = {write.path for write in _of_package() if write.table is None}
    assert found == set(WRITE_WHAT_THEY_ARE_GIVEN.values())


HEAD: Final = """
import sqlalchemy
import sqlalchemy as sa
from sqlalchemy import update
from sqlalchemy import update as change
from heliograph.campaigns.tables import campaigns
from heliograph.wallet import tables
from heliograph.wallet.tables import wallets
from heliograph.wallet.tables import wallets as purses
BOTH = (campaigns, wallets)
REMOVE = sa.delete
"""


@pytest.mark.parametrize(
    "line",
    [
        "tx.execute(sa.update(wallets).values(closed=True))",
        "tx.execute(wallets.insert().values(closed=True))",
        "tx.execute(purses.delete())",
        "tx.execute(sa.delete(tables.wallets))",
        "update(wallets).values(closed=True)",
        "query = sa.update(wallets)",
        "them = wallets\ntx.execute(them.delete())",
        "them = wallets.alias()\nsa.update(them).values(closed=True)",
        "for table in (campaigns, wallets):\n    tx.execute(table.delete())",
        "for table, column in ((wallets, wallets.c.account_id),):\n    tx.execute(table.delete())",
        "for table in [campaigns, wallets]:\n    tx.execute(table.update().values(closed=True))",
        "both = (campaigns, wallets)\nfor table in both:\n    tx.execute(sa.delete(table))",
        "by_name = {'x': wallets}\nfor table in by_name.values():\n    tx.execute(table.delete())",
        "for table in BOTH:\n    tx.execute(table.delete())",
        "sa.update(wallets).ordered_values((wallets.c.closed, True))",
        "sqlalchemy.update(wallets).values(closed=True)",
        "sqlalchemy.dialects.postgresql.insert(wallets)",
        "make = sa.update\nmake(wallets).values(closed=True)",
        "make = sqlalchemy.sql.update\nmake(wallets)",
        "change(wallets).values(closed=True)",
        "REMOVE(wallets)",
        "S = 'UPDATE wallets SET closed = true'",
        "S = 'UPDATE ONLY wallets w SET closed = true'",
        "S = f'WITH a AS (DELETE FROM wallets WHERE {x} RETURNING 1) SELECT 1'",
        "S = f'INSERT INTO wallets ({x}) VALUES (1)'",
        "S = Insert('wallets', Row)",
        "S = Insert(wallets.name, Row)",
        "KEPT = PruningRule(wallets.name, 'id', 1)",
        "yield from delete_rows(tx, wallets, mine)",
        "SEALED = tuple(SealedColumn(n, c, k) for n, c in (('x', wallets.c.currency),))",
    ],
)
def test_a_write_of_another_rooms_table_is_found(line: str) -> None:
    found = _from_outside(_all([_source(line)]))
    assert [write.table for write in found] == ["wallets"]


@pytest.mark.parametrize(
    "line",
    [
        "sa.update(campaigns).where(sa.exists().where(wallets.c.account_id == 1))",
        "sa.select(wallets).with_for_update()",
        "S = 'SELECT closed FROM wallets FOR UPDATE'",
        "known.update(wallets)",
        "wallets_by_id.update({1: 2})",
        "for wallet in tx.execute(sa.select(wallets)):\n    known.update(wallet)",
        "change = wallets.c.closed\nchange(1)",
        "delete(wallets)",
    ],
)
def test_a_write_of_ones_own_table_and_a_read_are_not(line: str) -> None:
    assert not list(_from_outside(_all([_source(line)])))


def test_each_table_is_declared_by_one_room() -> None:
    assert len(_rooms()) > 90
    assert _rooms()["wallets"] == "wallet"


def _source(line: str) -> Source:
    text = f"{HEAD}def write(tx):\n" + "\n".join(f"    {each}" for each in line.split("\n"))
    return Source("campaigns/invented.py", text, ast.parse(text))


@cache
def _of_package() -> tuple[Write, ...]:
    return tuple(_all(sources(PACKAGE)))


def _from_outside(writes: Iterable[Write]) -> Iterator[Write]:
    for write in writes:
        if write.table is not None and _rooms()[write.table] != write.path.split("/")[0]:
            yield write


def _all(some: Iterable[Source]) -> Iterator[Write]:
    """Yields all writes of tables. A migration is written once, and writes what it likes."""
    for source in some:
        if not source.path.startswith("migrations/"):
            yield from _in_texts(source)
            yield from _in_calls(source)


def _in_texts(source: Source) -> Iterator[Write]:
    for node, text in texts_of(source.tree):
        for name in WRITING.findall(text):
            if name in _rooms():
                yield Write(source.path, node.lineno, name)
            elif name not in NOT_OF_THE_SCHEMA:
                yield Write(source.path, node.lineno, None)


def _in_calls(source: Source) -> Iterator[Write]:
    known = _Known(source)
    for part in _parts(source.tree):
        tables = _Tables(known, part)
        for call in nodes_of(part):
            if isinstance(call, ast.Call):
                yield from _in_call(source, call, tables)


def _parts(tree: ast.Module) -> Iterator[ast.stmt]:
    """Yields functions, methods and other statements: a name means the same in all of one."""
    for part in tree.body:
        yield from part.body if isinstance(part, ast.ClassDef) else [part]


def _in_call(source: Source, call: ast.Call, tables: "_Tables") -> Iterator[Write]:
    name = _called(call)
    if name in WRITE_WHAT_THEY_ARE_GIVEN:
        given = next(filter(None, map(tables.named_by, call.args)), [])
        yield from (Write(source.path, call.lineno, table) for table in given)
    elif tables.is_built(call) and (target := tables.target_of(call)) is not None:
        unknown: list[str | None] = [None]
        for table in tables.named_by(target) or unknown:
            yield Write(source.path, call.lineno, table)


def _assigned_in(nodes: Iterable[ast.AST]) -> dict[str, list[ast.expr]]:
    """Returns what each name stands for that these assign, or that they loop with."""
    assigned: dict[str, list[ast.expr]] = {}
    for node in nodes:
        if isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name):
            assigned.setdefault(node.targets[0].id, []).append(node.value)
        elif isinstance(node, ast.For | ast.comprehension):
            for name in nodes_of(node.target):
                if isinstance(name, ast.Name):
                    assigned.setdefault(name.id, []).append(node.iter)
    return assigned


def _first_and_last(node: ast.expr) -> tuple[str, str]:
    """Returns the first and the last name of such as `sqlalchemy.sql.update`; else nothing."""
    names = code_of(node).split(".")
    return (names[0], names[-1]) if all(map(str.isidentifier, names)) else ("", "")


def _called(call: ast.Call) -> str:
    """Returns the last name of what is called."""
    function = call.func
    if isinstance(function, ast.Attribute):
        return function.attr
    return function.id if isinstance(function, ast.Name) else ""


class _Known:
    """Knows what the names of a file stand for that it imports or defines."""

    def __init__(self, source: Source) -> None:
        self.values: dict[str, object] = {}
        self.of_sqlalchemy: set[str] = set()  # names of its modules, and of what makes statements
        self.makers = set(WORDS)
        if source in sources(PACKAGE):
            self.values |= vars(importlib.import_module(module_of(source.path)))
        for node in nodes_of(source.tree):  # some are imported in a function
            if isinstance(node, ast.ImportFrom) and node.module:
                self._learn(node.module, node.names)
            elif isinstance(node, ast.Import):
                names = [each for each in node.names if each.name.startswith("sqlalchemy")]
                self.of_sqlalchemy |= {each.asname or "sqlalchemy" for each in names}
        for node in nodes_of(source.tree):
            if isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name):
                first, last = _first_and_last(node.value)
                if first in self.of_sqlalchemy and last in self.makers:
                    self.of_sqlalchemy.add(node.targets[0].id)
                    self.makers.add(node.targets[0].id)
        self.of_module = _assigned_in(source.tree.body)

    def _learn(self, module: str, names: list[ast.alias]) -> None:
        for alias in names:
            if module.startswith("sqlalchemy"):
                self.of_sqlalchemy.add(alias.asname or alias.name)
                if alias.name in WORDS:
                    self.makers.add(alias.asname or alias.name)
            elif module.startswith("heliograph"):
                found = getattr(importlib.import_module(module), alias.name, None)
                self.values[alias.asname or alias.name] = found


class _Tables:
    """Knows the tables by the names that one part of a file has for them."""

    def __init__(self, known: _Known, part: ast.stmt) -> None:
        self._known = known.values
        self._of_sqlalchemy = known.of_sqlalchemy
        self._makers = known.makers
        self._assigned = known.of_module | _assigned_in(nodes_of(part))

    def is_built(self, call: ast.Call) -> bool:
        """Returns whether the name of what is called is one that makes a statement that writes."""
        return _called(call) in self._makers

    def target_of(self, call: ast.Call) -> ast.expr | None:
        """Returns what an insert, update or delete is made of: `sa.delete(table)` or
        `table.delete()`. A dictionary's `update`, and a function of ours, write no table.
        """
        function = call.func
        if isinstance(function, ast.Attribute) and not call.args:
            return function.value
        first, _ = _first_and_last(function)
        return call.args[0] if first in self._of_sqlalchemy and call.args else None

    def named_by(self, node: ast.expr) -> list[str]:
        """Returns the tables that an expression stands for; none if it is a condition."""
        if isinstance(node, ast.Constant):
            return [node.value] if node.value in _rooms() else []
        if not isinstance(node, ast.Name | ast.Attribute | ast.Call):
            return []
        return list(dict.fromkeys(self._in(node, 3)))

    def _in(self, node: ast.AST, deep: int) -> Iterator[str]:
        """Yields the tables that stand there, by names that stand for others at most so deep."""
        for part in nodes_of(node):
            found: object = None
            if isinstance(part, ast.Name):
                found = self._known.get(part.id)
            elif isinstance(part, ast.Attribute) and isinstance(part.value, ast.Name):
                module = self._known.get(part.value.id)
                found = getattr(module, part.attr, None) if isinstance(module, ModuleType) else None
            if isinstance(found, sa.Alias):
                found = found.element
            if isinstance(found, sa.Table):
                yield found.name
            elif isinstance(part, ast.Name) and deep:
                for value in self._assigned.get(part.id, ()):
                    yield from self._in(value, deep - 1)


@cache
def _rooms() -> dict[str, str]:
    """Returns the room that declares each table, by the table's name."""
    rooms = dict.fromkeys(TABLES_OF_DATABASE, "database")
    for source in sources(PACKAGE):
        if source.path.endswith("/tables.py"):
            for table in vars(importlib.import_module(module_of(source.path))).values():
                if isinstance(table, sa.Table) and f'"{table.name}"' in source.text:
                    rooms[table.name] = source.path.split("/")[0]
    return rooms
