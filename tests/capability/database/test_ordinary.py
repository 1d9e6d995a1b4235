"""Statements of the hot paths answer the same within an ordinary transaction."""

import asyncio
from typing import Final

import pytest

from heliograph.database.database import Database
from heliograph.database.hot import run_in
from heliograph.database.statements import (
    BatchStatement,
    BigInt,
    Bool,
    Bytes,
    Id,
    Row,
    Text,
    portable,
    values_of,
)
from tests.support.factories import awaited


class _Values(Row, frozen=True):
    id: Id
    text: Text | None
    is_set: Bool
    octets: Bytes
    number: BigInt


_ECHO: Final = BatchStatement(
    _Values,
    _Values,
    postgresql="SELECT g.* FROM :given AS g WHERE text IS NULL OR text NOT LIKE 'not %'",
    sqlite=f"SELECT {values_of(_Values)} WHERE :text IS NULL OR :text NOT LIKE 'not %'",
)
_SAME: Final = portable(_Values, _Values, f"SELECT {values_of(_Values)}")
VALUES: Final = [
    _Values(f"{1:032x}", 'a "quote", a \\ and 100 % of {é}', True, b"\x00\xff", 2**53),
    _Values(f"{2:032x}", None, False, b"", -1),
    _Values(f"{3:032x}", "$1 :text", False, b"%s", 0),
]


@awaited
async def test_statements_answer_in_ordinary_transactions_what_they_answer_in_hot_ones(
    db: Database,
) -> None:
    given = [*VALUES, _Values(f"{4:032x}", "not this", False, b"", 0)]
    async with db.hot() as hot:
        assert sorted(await _ECHO.rows(hot, given)) == VALUES
        assert await _SAME.rows(hot, VALUES[0]) == VALUES[:1]
    await db.close_hot()
    with db.read() as tx:
        assert sorted(run_in(tx, lambda hot: _ECHO.rows(hot, given))) == VALUES
        assert run_in(tx, lambda hot: _SAME.rows(hot, VALUES[0])) == VALUES[:1]
        assert run_in(tx, lambda hot: _ECHO.rows(hot, [])) == []


def test_nothing_else_can_be_waited_for_in_an_ordinary_transaction(db: Database) -> None:
    with db.read() as tx, pytest.raises(TypeError):
        run_in(tx, lambda _: asyncio.sleep(0))
