"""Every statement of the hot paths says of its parameters and columns what the databases
say of them.
"""

import sqlite3
from typing import Any, Final

import asyncpg
import pytest

from heliograph.database.sessions import sqlite_path
from heliograph.database.statements import (
    BatchStatement,
    Id,
    Int,
    Nothing,
    Row,
    Statement,
)
from heliograph.database.statements.row import Parameter, fields_of
from tests.support.capability.declared_statements import STATEMENTS
from tests.support.factories import awaited

# Others are called as they are declared. What is text here may be an id there: both are strings to
# us.
POSTGRESQL_NAMES: Final = {
    "smallint": ("int2",),
    "int": ("int4",),
    "bigint": ("int8",),
    "text": ("text", "varchar", "uuid"),
}
SOME: Final[dict[str, Any]] = {
    "uuid": "0" * 32,
    "text": "x",
    "bool": 0,
    "smallint": 1,
    "int": 1,
    "bigint": 1,
    "bytea": b"x",
}


def known_as(column: Parameter) -> tuple[str, ...]:
    return POSTGRESQL_NAMES.get(column.type, (column.type,))


def test_there_are_statements() -> None:
    assert len(STATEMENTS) > 30


@awaited
async def test_postgresql_takes_each_and_answers_the_columns_that_it_declares(
    postgresql_url: str,
) -> None:
    connection = await asyncpg.connect(postgresql_url)
    wrong = []
    for name, statement in STATEMENTS.items():
        if not statement.postgresql.sql:
            continue  # for SQLite only: each table of a TablesStatement by itself
        try:
            prepared = await connection.prepare(statement.postgresql.sql)
        except asyncpg.PostgresError as error:
            wrong.append(f"{name}: {error}")
            continue
        answered = [(column.name, column.type.name) for column in prepared.get_attributes()]
        if len(answered) != len(statement.row) or any(
            given != column.name or type_ not in known_as(column)
            for (given, type_), column in zip(answered, statement.row, strict=True)
        ):
            wrong.append(f"{name} answers {answered}")
    await connection.close()
    assert not wrong, "\n".join(wrong)


def test_sqlite_takes_each_and_answers_the_columns_that_it_declares(sqlite_url: str) -> None:
    connection = sqlite3.connect(sqlite_path(sqlite_url))
    connection.execute("PRAGMA foreign_keys = OFF")
    connection.execute("PRAGMA ignore_check_constraints = ON")
    wrong = []
    for name, statement in STATEMENTS.items():
        text = statement.sqlite
        if not text.sql:
            continue  # for PostgreSQL only
        takes_arrays = isinstance(statement, Statement)
        values = [
            "[]"
            if takes_arrays and statement.given[place].is_array
            else SOME[statement.given[place].type]
            for place in text.positions
        ]
        if isinstance(statement, BatchStatement) and statement.is_asked_once:
            values = ["[]"]
        try:
            cursor = connection.execute(text.sql, values)
        except sqlite3.Error as error:
            wrong.append(f"{name}: {error}")
            continue
        answered = [column[0] for column in cursor.description or ()]
        if answered != [column.name for column in statement.row]:
            wrong.append(f"{name} answers {answered}")
        connection.rollback()
    assert not wrong, "\n".join(wrong)


class Pair(Row, frozen=True):
    left: Id
    right: Int | None


class Nested(Row, frozen=True):
    pair: Pair
    last: Int


class Untyped(Row, frozen=True):
    name: str


def test_a_field_that_is_a_row_itself_stands_for_its_columns() -> None:
    assert [column.name for column in fields_of(Nested)] == ["left", "right", "last"]


@pytest.mark.parametrize(
    ("given", "text", "why"),
    [
        (Pair, "SELECT :middle", ":middle is no parameter; there are: left, right"),
        (Untyped, "SELECT :name", "Untyped.name is <class 'str'>, and no type of a column"),
    ],
)
def test_a_wrong_declaration_is_told_where_it_stands(given: type[Row], text: str, why: str) -> None:
    with pytest.raises(TypeError, match=why):
        Statement(given, Nothing, postgresql=text, sqlite=text)


@pytest.mark.parametrize(
    ("text", "numbered", "places"),
    [
        ("SELECT :right, :left, :right", "SELECT ?1, ?2, ?1", (1, 0)),
        ("SELECT 1::bigint, ':' || :right", "SELECT 1::bigint, ':' || ?1", (1,)),
        ("SELECT 1", "SELECT 1", ()),
    ],
)
def test_names_are_numbered_as_they_come(text: str, numbered: str, places: tuple[int, ...]) -> None:
    assert Statement(Pair, Nothing, postgresql=text, sqlite=text).sqlite == (numbered, places)
