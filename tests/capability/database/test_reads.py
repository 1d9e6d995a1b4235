"""Records are filled from rows by the names of the columns, wherever these stand."""

from collections.abc import Callable
from typing import Any, NamedTuple

import pytest
import sqlalchemy as sa
from sqlalchemy.engine import Connection

from heliograph.database.database import Database
from heliograph.database.reads import records_of, report_rows, stream_records
from heliograph.database.statements import Int, Row, Text


class Named(NamedTuple):
    code: str
    credits: int
    note: str = "none"


class Declared(Row, frozen=True):
    code: Text
    credits: Int
    note: Text = "none"


CODE = sa.literal("GH").label("code")
CREDITS = sa.literal(7).label("credits")
NOTE = sa.literal("dear").label("note")

Read = Callable[[Connection, Any, type[Any]], list[Any]]


def _at_once(tx: Connection, query: Any, kind: type[Any]) -> list[Any]:
    return records_of(kind, tx.execute(query))


def _streamed(tx: Connection, query: Any, kind: type[Any]) -> list[Any]:
    return list(stream_records(tx, query, kind))


@pytest.mark.parametrize("read", [_at_once, _streamed])
@pytest.mark.parametrize("kind", [Named, Declared])
def test_a_field_takes_the_column_of_its_name(db: Database, read: Read, kind: type[Any]) -> None:
    with db.read() as tx:
        assert read(tx, sa.select(CODE, CREDITS, NOTE), kind) == [kind("GH", 7, "dear")]
        assert read(tx, sa.select(NOTE, CREDITS, CODE), kind) == [kind("GH", 7, "dear")]
        assert read(tx, sa.select(CODE, CREDITS), kind) == [kind("GH", 7)]
        assert read(tx, sa.select(CREDITS, CODE), kind) == [kind("GH", 7)]


@pytest.mark.parametrize("kind", [Named, Declared])
@pytest.mark.parametrize(
    "columns",
    [
        (CODE, NOTE),
        (CODE, CREDITS, sa.literal("dear").label("remark")),
        (CODE, sa.literal(7).label("amount"), NOTE),
    ],
)
def test_a_column_that_is_no_field_is_refused(
    db: Database, kind: type[Any], columns: tuple[Any, ...]
) -> None:
    with db.read() as tx, pytest.raises(TypeError):
        records_of(kind, tx.execute(sa.select(*columns)))


def test_streamed_records_are_told_as_rows_are(db: Database) -> None:
    told: list[int] = []
    query = sa.union_all(sa.select(CODE, CREDITS), sa.select(CODE, CREDITS)).subquery()
    with db.read() as tx, report_rows(tx, told.append):
        assert list(stream_records(tx, sa.select(query), Named)) == [Named("GH", 7)] * 2
    assert told == [2]
