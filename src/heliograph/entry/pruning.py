"""What has served its time is deleted: the texts of one-time passwords after ten minutes and all else of them after a day, Idempotency-Keys,
carriers' ids and receipts that matched nothing after 72 h, webhook events after 30 days, what sites told after 90. Once a minute, in small
batches."""

import asyncio
from collections.abc import Callable
from typing import Final

import structlog

from heliograph import messages, otp, plugin, requests, webhooks
from heliograph.base import clock, metrics
from heliograph.base.db import Database
from heliograph.base.faults import told
from heliograph.base.pruning import ROWS_AT_ONCE, Kept, prune
from heliograph.webhooks import endpoints

EVERY_S: Final = 60.0
PAUSE_S: Final = 0.1  # after each batch: at most a tenth of a writer's time, and still 10,000 rows a second
KEPT: Final = (*requests.KEPT, *messages.KEPT, *webhooks.KEPT, *otp.KEPT, *plugin.KEPT)

log = structlog.get_logger(__name__)


async def keep_pruning(db: Database, is_ours: Callable[[], bool]) -> None:
    """Runs until cancelled. `is_ours`: whether it is for this process to do."""
    eraser = otp.Eraser(db)
    while True:
        try:
            if is_ours():
                await eraser.erase()
                await prune_all(db)
        except Exception as error:  # noqa: BLE001  whatever it was, it is tried again in a minute
            log.error("pruning_failed", **told(error))
        await asyncio.sleep(EVERY_S)


async def prune_all(db: Database) -> None:
    """Deletes all that is past its time now."""
    await asyncio.to_thread(_forget_the_deaf, db)
    for kept in KEPT:
        rows = await _prune_table(db, kept)
        if rows:
            log.info("pruned", table=kept.table, rows=rows)


def _forget_the_deaf(db: Database) -> None:
    """Endpoints of a `heliograph listen` that was killed."""
    with db.read() as tx:
        found = endpoints.deaf(tx, clock.now_ms())
    if found:
        with db.write() as tx:
            endpoints.forget(tx, found)


async def _prune_table(db: Database, kept: Kept) -> int:
    rows = batch = 0
    while rows == 0 or batch == ROWS_AT_ONCE:
        async with db.hot() as tx:
            batch = await prune(tx, kept, clock.now_ms())
        if batch == 0:
            break
        rows += batch
        metrics.PRUNED.labels(kept.table).inc(batch)
        await asyncio.sleep(PAUSE_S)
    return rows
