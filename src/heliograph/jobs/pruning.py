"""What has served its time is deleted once a minute, in small batches.

The texts of one-time passwords go after ten minutes, and all else of them after a day.
Idempotency-Keys, carriers' ids and receipts that matched nothing go after 72 h, webhook events
after 30 days, what sites reported after 90 days, and counts of past days after two. Endpoints that
were removed go too, and so do the sign-in links and sessions of users that have ended.
"""

from collections.abc import Callable
from functools import partial
from typing import Final

from heliograph import accounts, alerts, otp, plugin, pricing, requests, users, webhooks
from heliograph.base import clock, metrics
from heliograph.base.log import Log
from heliograph.base.paging import first_id_of
from heliograph.base.periodic import repeat
from heliograph.contacts import stored_import
from heliograph.database.database import Database
from heliograph.database.hot import HotTx
from heliograph.database.pruning import ROWS_AT_ONCE, PruningRule, in_batches, prune
from heliograph.inbound.tables import REPLIES_KEPT
from heliograph.messages import tables as message_tables
from heliograph.messages.retention import EVENTS, store_first_kept
from heliograph.monitoring import tables as monitoring_tables
from heliograph.senders import documents
from heliograph.webhooks import forget_endpoint
from heliograph.webhooks.tables import EVENTS_KEPT_MS

EVERY_S: Final = 60.0
FIRST_AFTER_S: Final = 5.0  # of a start: what waited for it goes first
# batches of rows of endpoints that have gone, each minute: what else has served its time waits for
# them
FORGETS_MAX: Final = 100
KEPT: Final = (
    *requests.KEPT,
    *message_tables.KEPT,
    *webhooks.KEPT,
    *otp.KEPT,
    *plugin.KEPT,
    *accounts.KEPT,
    *stored_import.KEPT,
    *users.KEPT,
    *alerts.KEPT,
    *pricing.KEPT,
    *monitoring_tables.KEPT,
    *documents.KEPT,
    *REPLIES_KEPT,
)

log = Log(__name__)


def tables(texts_ms: int | None) -> tuple[PruningRule, ...]:
    """Returns all that is pruned. What holds texts and numbers of messages is kept no longer than
    those (`texts_ms`, where None means for ever).
    """
    return tuple(
        rule if texts_ms is None or rule.is_counts else rule._replace(ms=min(rule.ms, texts_ms))
        for rule in KEPT
    )


async def keep_pruning(
    db: Database, is_ours: Callable[[], bool], texts_ms: int | None = None
) -> None:
    """Runs until it is cancelled. `is_ours` returns whether it is for this process to do."""
    eraser = otp.Eraser(db)

    async def prune_due() -> None:
        if is_ours():
            await eraser.erase()
            await prune_all(db, texts_ms)

    await repeat(prune_due, wait=EVERY_S, first_after_s=FIRST_AFTER_S, fault="pruning_failed")


async def prune_all(db: Database, texts_ms: int | None = None) -> None:
    """Deletes all that is past its time now."""
    # the proof of the events knows of the usual time only
    if texts_ms is not None and texts_ms < EVENTS_KEPT_MS:
        async with db.hot() as tx:
            await store_first_kept(tx, EVENTS, first_id_of(clock.now_ms() - texts_ms))
    for rule in tables(texts_ms):
        rows = await _prune_table(db, rule)
        if rows:
            log.info("pruned", table=rule.table, rows=rows)
    await _forget_removed_endpoints(db)


async def _forget_removed_endpoints(db: Database) -> None:
    """Forgets endpoints that were removed, and those of a `heliograph listen` that was killed."""
    async with db.hot() as tx:
        endpoint_ids = await forget_endpoint.find_gone(tx, clock.now_ms())
    left = FORGETS_MAX
    for endpoint_id in endpoint_ids:
        async for _ in in_batches(db, partial(_forget_some, endpoint_id)):
            left -= 1
            if not left:
                return


async def _forget_some(endpoint_id: str, tx: HotTx) -> tuple[int, bool]:
    rows = await forget_endpoint.forget_some(tx, endpoint_id)
    return rows, rows > 0


async def _prune_table(db: Database, rule: PruningRule) -> int:
    async def prune_some(tx: HotTx) -> tuple[int, bool]:
        rows = await prune(tx, rule, clock.now_ms())
        return rows, rows == ROWS_AT_ONCE

    total = 0
    async for rows in in_batches(db, prune_some):
        if rows:
            metrics.PRUNED.labels(rule.table).inc(rows)
        total += rows
    return total
