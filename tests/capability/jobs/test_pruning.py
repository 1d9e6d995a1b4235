"""What is kept for 72 h is deleted then and not before, a few rows at a time, while sends go on."""

import asyncio
import hashlib
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final

import sqlalchemy as sa

from heliograph.base import clock, ids
from heliograph.carriers import ReceiptState
from heliograph.database.database import metadata
from heliograph.database.pruning import (
    ROWS_AT_ONCE,
    prune,
    prune_statement_by_id,
    prune_statement_by_time,
)
from heliograph.jobs import pruning
from heliograph.messages.tables import RECEIPTS_KEPT_MS, carrier_refs, unmatched_receipts
from heliograph.requests.stored_keys import KEPT_MS
from heliograph.requests.tables import idempotency_keys
from tests.support import plain_http
from tests.support.capability.sending import House
from tests.support.crash.processes import ServerProcess
from tests.support.factories import awaited, phones

OLD_ROWS: Final = 2 * ROWS_AT_ONCE + 500
TABLES: Final = (idempotency_keys, carrier_refs, unmatched_receipts)


def _insert(house: House, table: sa.Table, rows: Sequence[dict[str, Any]]) -> None:
    with house.db.write() as tx:
        tx.execute(table.insert(), rows)


def _fill(house: House, age_ms: int, first: int, count: int) -> None:
    """Stores so many rows of that age in each table."""
    at_ms = clock.now_ms() - age_ms
    numbers = range(first, first + count)
    _insert(
        house,
        idempotency_keys,
        [
            {
                "account_id": house.amina_id,
                "sandbox": False,
                "path": "POST /sms/send",
                "key": f"k{n}",
                "body_sha256": hashlib.sha256(b"").digest(),
                "created_at_ms": at_ms,
            }
            for n in numbers
        ],
    )
    _insert(
        house,
        carrier_refs,
        [{"carrier_id": house.carrier_id, "ref": f"r{n}", "created_at_ms": at_ms} for n in numbers],
    )
    _insert(
        house,
        unmatched_receipts,
        [
            {
                "id": ids.raw_of_number((at_ms << 80) + n),
                "carrier_id": house.carrier_id,
                "raw": b"",
                "received_at_ms": at_ms,
            }
            for n in numbers
        ],
    )


@awaited
async def test_what_is_older_than_72_h_goes_and_what_is_not_stays(house: House) -> None:
    assert KEPT_MS == RECEIPTS_KEPT_MS == 72 * 3_600_000
    _fill(house, KEPT_MS + 1_000, 0, OLD_ROWS)
    _fill(house, KEPT_MS - 60_000, OLD_ROWS, 3)
    await pruning.prune_all(house.db)
    assert [house.count(table) for table in TABLES] == [3, 3, 3]


@awaited
async def test_a_batch_is_small_and_takes_the_oldest_first(house: House) -> None:
    _fill(house, KEPT_MS + 1_000, ROWS_AT_ONCE, ROWS_AT_ONCE)
    _fill(house, KEPT_MS + 60_000, 0, ROWS_AT_ONCE)
    for kept in (kept for kept in pruning.KEPT if kept.ms == KEPT_MS):
        async with house.db.hot() as tx:
            assert await prune(tx, kept, clock.now_ms()) == ROWS_AT_ONCE
    assert house.count(carrier_refs, carrier_refs.c.ref == "r0") == 0
    assert [house.count(table) for table in TABLES] == [ROWS_AT_ONCE] * 3


@awaited
async def test_no_table_is_read_from_end_to_end(house: House) -> None:
    for kept in pruning.KEPT:
        statement = (
            prune_statement_by_id(kept) if kept.age == "id" else prune_statement_by_time(kept)
        )
        explained = (
            f"EXPLAIN {statement.postgresql.sql}"
            if house.db.postgresql
            else f"EXPLAIN QUERY PLAN {statement.sqlite.sql}"
        )
        async with house.db.hot() as tx:
            rows = await tx.fetch(explained, "0" * 32 if kept.age == "id" else 0, ROWS_AT_ONCE)
        plan = "\n".join(str(row[-1]) for row in rows)
        assert "Seq Scan" not in plan, plan
        assert "SCAN" not in plan, plan
        by_its_key = next(iter(metadata.tables[kept.table].primary_key.columns)).name == kept.age
        indexes = (
            f"{kept.table}_by_age",
            *((f"{kept.table}_pkey", "PRIMARY KEY") if by_its_key else ()),
        )
        assert kept.age == "id" or any(index in plan for index in indexes), plan


@awaited
async def test_an_id_that_a_carrier_uses_again_is_as_old_as_the_message_that_has_it_now(
    house: House,
) -> None:
    first = await house.submitted("233201234567")
    first.answer(*first.open.values(), ref="77ab")
    await first.turn.run_once()
    clock.move(by_ms=RECEIPTS_KEPT_MS - 1_000)
    second = await house.submitted("233201234568")
    second.answer(*second.open.values(), ref="77ab")
    await second.turn.run_once()
    clock.move(by_ms=2_000)
    await pruning.prune_all(house.db)
    second.receive("77ab", "233201234568", ReceiptState.DELIVRD)
    await second.turn.run_once()
    assert house.statuses() == ["sent", "delivered"]


@awaited
async def test_an_answer_that_comes_long_after_its_receipt_makes_the_id_young_again(
    house: House,
) -> None:
    link = await house.submitted("233201234567", "x" * 200)
    first, second = link.open.values()
    link.receive("88ab", "233201234567", ReceiptState.ENROUTE)
    await link.turn.run_once()
    clock.move(by_ms=RECEIPTS_KEPT_MS - 1_000)
    link.answer(first, ref="88ab")
    link.answer(second, ref="99ab")
    await link.turn.run_once()
    clock.move(by_ms=2_000)
    await pruning.prune_all(house.db)
    for ref in ("88ab", "99ab"):
        link.receive(ref, "233201234567", ReceiptState.DELIVRD)
    await link.turn.run_once()
    assert house.statuses() == ["delivered"]


def test_a_server_prunes(house: House, tmp_path: Path) -> None:
    _fill(house, KEPT_MS + 1_000, 0, 7)
    server = ServerProcess(house.db.url, tmp_path / "data")
    try:
        server.wait_until_ready()
        server.wait_for_event("pruned", 10, times=len(TABLES))
        assert (
            'heliograph_pruned_rows_total{table="carrier_refs"} 7.0'
            in plain_http.get(f"{server.address}/metrics").text
        )
    finally:
        assert server.end() == 0
    assert [house.count(table) for table in TABLES] == [0, 0, 0]
    house.db.close()


@awaited
async def test_sends_go_on_while_old_rows_are_deleted(house: House) -> None:
    _fill(house, KEPT_MS + 1_000, 0, OLD_ROWS)
    deleting = asyncio.create_task(pruning.prune_all(house.db))
    accepted = 0
    while not deleting.done():
        await house.send(phones(1, first=accepted), key=f"new{accepted}")
        accepted += 1
    await deleting
    # more than one between each two batches that had something to delete
    assert accepted > len(TABLES) * OLD_ROWS // ROWS_AT_ONCE
    assert house.count(idempotency_keys) == house.sends() == accepted
