"""Columns of values reach PostgreSQL as they are, whatever stands in them."""

import asyncio
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from heliograph.database.database import Database

TEXTS = st.lists(
    st.none()
    | st.text(st.characters(exclude_characters="\0", exclude_categories=["Cs"]), max_size=12)
    | st.sampled_from(["NULL", "", '"', "\\", '\\"', "{}", "a,b", "{1,2}", " x "]),
    max_size=12,
)
INTEGERS = st.lists(st.none() | st.integers(-(2**63), 2**63 - 1), max_size=12)
COLUMNS = st.one_of(
    st.tuples(st.just("text"), TEXTS),
    st.tuples(st.just("bigint"), INTEGERS),
    st.tuples(st.just("bool"), st.lists(st.none() | st.booleans(), max_size=12)),
    st.tuples(st.just("bytea"), st.lists(st.none() | st.binary(max_size=12), max_size=12)),
    st.tuples(
        st.just("uuid"),
        st.lists(st.none() | st.uuids().map(lambda number: number.hex), max_size=12),
    ),
)


@pytest.fixture
def echo(postgresql_url: str) -> Any:
    """Sends one column through a hot transaction and gives it back as PostgreSQL read it."""

    async def through(kind: str, column: list[Any]) -> list[Any]:
        db = Database(postgresql_url)
        try:
            async with db.hot() as tx:
                rows = await tx.fetch(
                    f"""
                        SELECT value FROM unnest($1::{kind}[]) WITH ORDINALITY AS u (value, place)
                            ORDER BY place""",
                    column,
                )
                return [row[0] for row in rows]
        finally:
            await db.close_hot()
            db.close()

    return lambda kind, column: asyncio.run(through(kind, column))


@given(COLUMNS)
@settings(
    max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
def test_a_column_comes_back_as_it_was_given(echo: Any, column: tuple[str, list[Any]]) -> None:
    kind, values = column
    assert echo(kind, values) == values
