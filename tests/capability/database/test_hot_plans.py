"""Whatever PostgreSQL believes of a table, it answers the statements of the hot paths by an index,
in the order of that index.
"""

import json
import re
from typing import Any, Final

import asyncpg
import pytest

from heliograph.database.postgresql.session_settings import hot_session_settings
from heliograph.messages.queue.sql import NEXT_RUNS
from tests.support.capability.declared_statements import STATEMENTS
from tests.support.factories import awaited

RUNS: Final = 20_000
MOST: Final = 100  # that a turn asks for
WORKER: Final = 1_000_000
_WORKER: Final = f"INSERT INTO workers (epoch, kind, started_at_ms) VALUES ({WORKER}, 'worker', 0)"
_NEXT: Final = f"EXECUTE next_runs (1, 1, {WORKER}, {MOST})"
_PLACEHOLDER: Final = re.compile(r"\$(\d+)")


@pytest.mark.parametrize(("planned_at", "counted"), [(2_000, False), (5, True)])
@awaited
async def test_the_next_runs_are_read_and_no_others(
    postgresql_url: str, planned_at: int, counted: bool
) -> None:
    """When the queue has become long, a session still has the plan that was made when it had
    `planned_at` runs, and had been `counted` or not. The planner believed in one run that is due.
    """
    connection = await asyncpg.connect(postgresql_url, server_settings=hot_session_settings("on"))
    async with Rehearsal(connection):
        await connection.execute("SET LOCAL session_replication_role = replica")  # no sends needed
        await connection.execute(_WORKER)
        await connection.execute(_queued(1, planned_at))
        if counted:
            await connection.execute("ANALYZE queue")
        await connection.execute(f"PREPARE next_runs AS {NEXT_RUNS.postgresql.sql}")
        await connection.execute(f"EXPLAIN {_NEXT}")
        await connection.execute(_queued(planned_at + 1, RUNS))
        explained = await connection.fetchval(f"EXPLAIN (ANALYZE, FORMAT JSON) {_NEXT}")
    await connection.close()
    plan = _nodes(json.loads(explained)[0]["Plan"])
    scans = [each for each in plan if each.get("Relation Name") == "queue"]
    read = [each["Actual Rows"] for each in scans if each["Node Type"] != "LockRows"]
    assert read == [MOST]


@awaited
async def test_no_statement_needs_a_bitmap(postgresql_url: str) -> None:
    """The sessions of the hot paths have none: they would read the whole table instead."""
    settings = hot_session_settings("on") | {"enable_bitmapscan": "on"}
    connection = await asyncpg.connect(postgresql_url, server_settings=settings)
    needing = []
    for number, (name, statement) in enumerate(STATEMENTS.items()):
        text = statement.postgresql.sql
        if not text:
            continue  # for SQLite only
        await connection.execute(f"PREPARE s{number} AS {text}")
        values = ", ".join(["NULL"] * max(map(int, _PLACEHOLDER.findall(text)), default=0))
        execution = f"EXECUTE s{number} ({values})" if values else f"EXECUTE s{number}"
        plan = await connection.fetch(f"EXPLAIN {execution}")
        if any("BitmapOr" in line[0] or "BitmapAnd" in line[0] for line in plan):
            needing.append(name)
    await connection.close()
    assert not needing


class Rehearsal:
    """Is a transaction of a connection, which is undone on leaving."""

    def __init__(self, connection: asyncpg.Connection) -> None:
        self._transaction = connection.transaction()

    async def __aenter__(self) -> None:
        await self._transaction.start()

    async def __aexit__(self, *_: object) -> None:
        await self._transaction.rollback()


def _queued(first: int, last: int) -> str:
    """Returns the statement that queues runs with these numbers, of a message each."""
    return f"""
        INSERT INTO queue (carrier_id, rank_us, first_id, count, send_id, segments, prefix, attempt,
            not_before_ms, expires_at_ms)
        SELECT 1, k, id, 1, id, 1, '233', 0, 0, 9000000000000
        FROM (SELECT k, lpad(to_hex(k), 32, '0')::uuid AS id
            FROM generate_series({first}, {last}) AS k) AS numbered"""


def _nodes(node: dict[str, Any]) -> list[dict[str, Any]]:
    """Returns a node of a plan with all that are below it."""
    return [node, *(each for below in node.get("Plans", []) for each in _nodes(below))]
