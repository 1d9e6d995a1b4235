"""What a hot transaction stores is seen by what it reads next, whole and in order, also where
statements wait for each other (`database/hot_sqlite.py`); and nothing stays of what is refused.
"""

import asyncio
from collections.abc import Iterator
from typing import Final

import pytest
import sqlalchemy as sa
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from heliograph.database.database import Database
from heliograph.database.hot_sqlite import WAITING_MAX
from heliograph.database.statements import (
    BatchStatement,
    BigInt,
    Insert,
    Nothing,
    Row,
    portable,
)


class _Bead(Row, frozen=True):
    number: BigInt


class _Moved(Row, frozen=True):
    number: BigInt
    by: BigInt


_STORE: Final = Insert("beads", _Bead)
_MOVE: Final = BatchStatement(
    _Moved,
    Nothing,
    postgresql="UPDATE beads SET number = beads.number + g.by FROM :given AS g"
    " WHERE beads.number = g.number",
    sqlite="UPDATE beads SET number = number + :by WHERE number = :number",
)
_ALL: Final = portable(Nothing, _Bead, "SELECT number FROM beads ORDER BY number")
_FAR: Final = 1_000_000  # a bead is moved so far, once

# how many beads are stored by each statement; 0 stands for a look at all of them
_STEPS: Final = st.lists(st.sampled_from([0, 1, 2, WAITING_MAX - 1, WAITING_MAX + 1]), max_size=9)
_MANY: Final = settings(
    max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)


@pytest.fixture
def beads(db: Database) -> Iterator[Database]:
    with db.write() as tx:
        tx.execute(sa.text("CREATE TABLE beads (number BIGINT PRIMARY KEY)"))
    yield db
    with db.write() as tx:
        tx.execute(sa.text("DROP TABLE beads"))


def _stored(db: Database) -> list[int]:
    with db.read() as tx:
        return list(tx.execute(sa.text("SELECT number FROM beads ORDER BY number")).scalars())


def _empty(db: Database) -> None:
    with db.write() as tx:
        tx.execute(sa.text("DELETE FROM beads"))


@_MANY
@given(steps=_STEPS)
def test_a_look_sees_all_that_was_stored_and_moved_before_it(
    beads: Database, steps: list[int]
) -> None:
    _empty(beads)
    expected: list[int] = []

    async def carry_out() -> None:
        async with beads.hot() as tx:
            for count in steps:
                new = range(len(expected), len(expected) + count)
                await _STORE.rows(tx, [_Bead(number) for number in new])
                await _MOVE.rows(tx, [_Moved(number, _FAR) for number in new])
                expected.extend(number + _FAR for number in new)
                if not count:
                    assert [bead.number for bead in await _ALL.rows(tx, Nothing())] == expected
        await beads.close_hot()

    asyncio.run(carry_out())
    assert _stored(beads) == expected


@_MANY
@given(before=st.integers(0, 3), after=st.integers(0, 3), looks=st.booleans())
def test_nothing_stays_of_a_transaction_of_which_a_statement_is_refused(
    beads: Database, before: int, after: int, looks: bool
) -> None:
    _empty(beads)
    stored_twice = before + after

    async def carry_out() -> None:
        async with beads.hot() as tx:
            for number in range(before):
                await _STORE.rows(tx, [_Bead(number)])
            await _STORE.rows(tx, [_Bead(stored_twice), _Bead(stored_twice)])
            for number in range(before, before + after):
                await _STORE.rows(tx, [_Bead(number)])
            if looks:
                await _ALL.rows(tx, Nothing())

    async def carry_out_twice() -> None:
        with pytest.raises(Exception, match=r"(?i)unique"):
            await carry_out()
        async with beads.hot() as tx:  # the next one is not harmed
            await _STORE.rows(tx, [_Bead(7)])
        await beads.close_hot()

    asyncio.run(carry_out_twice())
    assert _stored(beads) == [7]
