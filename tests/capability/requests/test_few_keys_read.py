"""Whoever asks about some Idempotency-Keys reads these keys alone, also where PostgreSQL takes the
table for empty: it was so when it was counted last, or when the plan was made.
"""

from collections.abc import Awaitable, Callable, Iterator
from typing import Final

import pytest

from heliograph.base import clock
from heliograph.database.hot import HotTx
from heliograph.database.statements import BigInt, Nothing, Row, Statement
from heliograph.messages.accept import read_sql
from heliograph.requests import ScopedKey, find_keys
from heliograph.requests.tables import idempotency_keys
from tests.support.capability.sending import House
from tests.support.factories import awaited

PATH: Final = "POST /sms/send"
STORED: Final = 2_000  # while the table is taken for empty
ASKED: Final = 40
# a driver prepares a statement, and PostgreSQL keeps its plan, within so many times
OFTEN: Final = 15
Ask = Callable[[HotTx, str], Awaitable[int]]


class _ReadRows(Row, frozen=True):
    count: BigInt


_READ: Final = Statement(
    Nothing,
    _ReadRows,
    postgresql="""SELECT coalesce(seq_tup_read, 0) + coalesce(idx_tup_fetch, 0) AS count
        FROM pg_stat_xact_user_tables WHERE relname = 'idempotency_keys'""",
)


def _scoped_keys(account_id: str, name: str) -> list[ScopedKey]:
    return [ScopedKey(account_id, False, PATH, f"{name}-{number}") for number in range(ASKED)]


async def _accepting(tx: HotTx, account_id: str) -> int:
    """Asks about keys that nobody has used, as nearly each send does."""
    scoped_keys = _scoped_keys(account_id, "new")
    return int((await read_sql.lock_and_look_up(tx, [account_id], scoped_keys, [])).is_any_known)


async def _repeated(tx: HotTx, account_id: str) -> int:
    return len(await find_keys(tx, _scoped_keys(account_id, "used"), clock.now_ms()))


@pytest.fixture
def counted(postgresql_house: House) -> Iterator[House]:
    """Yields a house whose keys were counted when there were none, and never again."""
    with postgresql_house.db.write() as tx:
        tx.exec_driver_sql("ALTER TABLE idempotency_keys SET (autovacuum_enabled = off)")
        tx.exec_driver_sql("ANALYZE idempotency_keys")
    yield postgresql_house
    with postgresql_house.db.write() as tx:  # the next test may have the same database
        tx.exec_driver_sql("ALTER TABLE idempotency_keys RESET (autovacuum_enabled)")


@pytest.mark.parametrize(("ask", "found"), [(_accepting, 0), (_repeated, ASKED)])
@awaited
async def test_only_the_keys_that_are_asked_about_are_read(
    counted: House, ask: Ask, found: int
) -> None:
    for _ in range(OFTEN):
        assert await _asked(counted, ask) == (0, 0)
    with counted.db.write() as tx:
        rows = [
            {
                "account_id": counted.amina_id,
                "sandbox": False,
                "path": PATH,
                "key": f"used-{number}",
                "body_sha256": bytes(32),
                "created_at_ms": clock.now_ms(),
            }
            for number in range(STORED)
        ]
        tx.execute(idempotency_keys.insert(), rows)
    known, rows_read = await _asked(counted, ask)
    assert known == found
    assert rows_read < 5 * ASKED


async def _asked(house: House, ask: Ask) -> tuple[int, int]:
    """Returns how many of the keys are known, and how many rows were read for that."""
    async with house.db.hot() as tx:
        before = (await _READ.rows(tx, Nothing()))[0].count
        known = await ask(tx, house.amina_id)
        return known, (await _READ.rows(tx, Nothing()))[0].count - before
