"""The operator's days for texts, and for messages, take effect once a minute, in small batches,
each a transaction.

This runs beside the pruning, and not behind it: a million messages take minutes, and one-time
passwords are erased after ten.
"""

from collections.abc import Awaitable, Callable
from functools import partial
from typing import Final

from heliograph.base import clock, metrics
from heliograph.base.errors import Unavailable
from heliograph.base.log import Log
from heliograph.base.paging import first_id_of
from heliograph.base.periodic import repeat
from heliograph.campaigns import forget_some
from heliograph.database.database import Database
from heliograph.database.hot import HotTx
from heliograph.database.outage import run_again
from heliograph.database.pruning import in_batches, prune_ids
from heliograph.inbound import erase_some_inbound
from heliograph.inbound import tables as inbound_tables
from heliograph.jobs.pruning import FIRST_AFTER_S
from heliograph.messages import tables as message_tables
from heliograph.messages.retention import (
    MESSAGES,
    RetentionTimes,
    delete_some,
    detach,
    drop,
    erase_some,
    first_unfinished_id,
    old_months,
    store_first_kept,
    tables_of,
)

EVERY_S: Final = 60.0
DETACH_TRIES: Final = 10  # in a row; then in a minute again
DETACH_AGAIN_S: Final = 2.0

log = Log(__name__)


async def keep_retaining(db: Database, times: RetentionTimes, is_ours: Callable[[], bool]) -> None:
    """Runs until it is cancelled. `is_ours` returns whether it is for this process to do."""

    async def retain_due() -> None:
        if is_ours():
            await retain(db, times)

    await repeat(retain_due, wait=EVERY_S, first_after_s=FIRST_AFTER_S, fault="retention_failed")


async def retain(db: Database, times: RetentionTimes) -> None:
    """Does all that is due now."""
    if times.messages_ms is not None:  # first: what goes whole need not be erased
        await _delete(db, clock.now_ms() - times.messages_ms)
    if times.texts_ms is not None:
        await _erase(db, clock.now_ms() - times.texts_ms)


async def _erase(db: Database, until_ms: int) -> None:
    async with db.hot() as tx:
        until = await first_unfinished_id(tx, until_ms)
    messages = 0
    async for erased in in_batches(db, lambda tx: erase_some(tx, until)):
        messages += erased
        metrics.ERASED.inc(erased)
    if messages:
        log.info("erased", messages=messages)
    async for rows in in_batches(db, lambda tx: erase_some_inbound(tx, first_id_of(until_ms))):
        if rows:
            metrics.ERASED.inc(rows)
    await _delete_all(db, "campaign_recipients", lambda tx: forget_some(tx, until_ms))


async def _delete(db: Database, until_ms: int) -> None:
    async with db.hot() as tx:
        until = await first_unfinished_id(tx, until_ms)
        months = await old_months(tx, until) if db.postgresql else []
        if not db.postgresql:
            await store_first_kept(tx, MESSAGES, until)
    for month in months:
        if month.is_attached and not await _detached(db, month.name):
            log.info("month_not_detached", month=month.name, tries=DETACH_TRIES)
            break  # the next one would leave a gap
        async with db.hot() as tx:
            await drop(tx, month.name)
        log.info("month_dropped", month=month.name)
    for rule in tables_of(postgresql=db.postgresql):
        await _delete_all(db, rule.table, partial(delete_some, rule=rule))
    last = first_id_of(until_ms)
    for rule in (*inbound_tables.KEPT_AS_MESSAGES, *message_tables.KEPT_AS_MESSAGES):
        await _delete_all(db, rule.table, partial(prune_ids, rule=rule, until=last))


async def _detached(db: Database, month: str) -> bool:
    async def detach_once() -> None:
        async with db.hot() as tx:
            await detach(tx, month)

    try:
        await run_again(detach_once, tries=DETACH_TRIES, rest_s=DETACH_AGAIN_S)
    except Unavailable:
        return False
    return True


async def _delete_all(db: Database, table: str, work: Callable[[HotTx], Awaitable[int]]) -> None:
    """Deletes all, and says how many rows."""

    async def some(tx: HotTx) -> tuple[int, bool]:
        rows = await work(tx)
        return rows, rows > 0

    total = 0
    async for rows in in_batches(db, some):
        total += rows
        metrics.PRUNED.labels(table).inc(rows)
    if total:
        log.info("pruned", table=table, rows=total)
