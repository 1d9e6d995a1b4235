"""A row is stored, and found again, by the names of its fields: it does not matter in which order
they stand.
"""

from typing import Any, Final

import pytest
import sqlalchemy as sa

from heliograph.database.database import Database
from heliograph.database.statements import (
    BatchStatement,
    Id,
    Insert,
    Int,
    Nothing,
    Row,
    SmallInt,
    Text,
    columns_of,
    values_of,
)
from heliograph.webhooks.tables import webhook_attempts
from tests.support.factories import awaited


class _Attempt(Row, frozen=True, rename={"number": "try"}):
    id: Id
    endpoint_id: Id
    event_id: Id
    number: SmallInt
    status: SmallInt | None
    reason: Text
    took_ms: Int
    answer: Text | None


class _Turned(Row, frozen=True, rename={"number": "try"}):
    """Has the same fields, from the last to the first."""

    answer: Text | None
    took_ms: Int
    reason: Text
    status: SmallInt | None
    number: SmallInt
    event_id: Id
    endpoint_id: Id
    id: Id


class _Key(Row, frozen=True):
    id: Id
    status: SmallInt


class _TurnedKey(Row, frozen=True):
    status: SmallInt
    id: Id


class _StoredResponse(Row, frozen=True):
    answer: Text | None


VALUES: Final[dict[str, Any]] = {
    "id": f"{1:032x}",
    "endpoint_id": f"{2:032x}",
    "event_id": f"{3:032x}",
    "status": 503,
    "reason": "timeout",
    "took_ms": 250,
    "answer": "later",
}


def _written_out(row: type[Row]) -> BatchStatement[Any, Nothing]:
    into = f"INSERT INTO webhook_attempts ({columns_of(row)})"
    return BatchStatement(
        row,
        Nothing,
        postgresql=f"{into} SELECT * FROM :given AS g WHERE g.took_ms > 0",
        sqlite=f"{into} VALUES ({values_of(row)})",
    )


def _find(key: type[Row]) -> BatchStatement[Any, _StoredResponse]:
    return BatchStatement(
        key,
        _StoredResponse,
        postgresql="""
            SELECT a.answer FROM :given AS g
            JOIN webhook_attempts a ON a.id = g.id AND a.status = g.status""",
        sqlite="""
            SELECT a.answer FROM json_each(:given) AS g
            JOIN webhook_attempts a ON a.id = g.id AND a.status = g.status""",
    )


@pytest.mark.parametrize("row", [_Attempt, _Turned])
@pytest.mark.parametrize("is_written_out", [True, False])
@awaited
async def test_a_row_is_stored_by_the_names_of_its_fields(
    db: Database, row: Any, is_written_out: bool
) -> None:
    insert = _written_out(row) if is_written_out else Insert("webhook_attempts", row)
    async with db.hot() as hot:
        await insert.rows(hot, [row(**VALUES, number=4)])
    await db.close_hot()
    with db.read() as tx:
        stored = tx.execute(sa.select(webhook_attempts)).one()._asdict()
    assert stored == {**VALUES, "try": 4, "retry_after": None}


@pytest.mark.parametrize("key", [_Key, _TurnedKey])
@awaited
async def test_a_row_is_found_by_the_names_of_its_keys_fields(db: Database, key: Any) -> None:
    async with db.hot() as hot:
        await Insert("webhook_attempts", _Attempt).rows(hot, [_Attempt(**VALUES, number=4)])
        found = await _find(key).rows(hot, [key(id=VALUES["id"], status=503)])
    await db.close_hot()
    assert found == [_StoredResponse("later")]
