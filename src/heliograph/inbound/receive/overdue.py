"""Stores what there is of long texts whose other parts have not come for half an hour, and forgets
the parts of texts that were stored long ago.
"""

from typing import Final

from heliograph.base import metrics
from heliograph.base.log import Log
from heliograph.database.database import Database
from heliograph.database.hot import HotTx
from heliograph.database.pruning import ROWS_AT_ONCE, in_batches
from heliograph.inbound.receive.parts import WAITED_MS
from heliograph.inbound.receive.receiver import count
from heliograph.inbound.receive.record import store_overdue
from heliograph.inbound.receive.store_sql import FORGET_PARTS, OVERDUE, Overdue
from heliograph.inbound.tables import inbound_parts

TEXTS_AT_ONCE: Final = 1_000  # that are looked for; each is a transaction

log = Log(__name__)


async def store_all_overdue(db: Database, names: dict[int, str], now_ms: int) -> None:
    """Stores all that is overdue. `names` are those of the carriers, by their ids."""
    while True:
        async with db.hot() as tx:
            found = await OVERDUE.rows(tx, Overdue(now_ms - WAITED_MS, TEXTS_AT_ONCE))
        for each in found:
            async with db.hot() as tx:
                recorded = await store_overdue(tx, each, now_ms)
            name = names.get(each.carrier_id, str(each.carrier_id))
            count(name, recorded)
            metrics.INBOUND_INCOMPLETE.labels(name).inc(recorded.texts)
        if found:
            log.info("inbound_incomplete", texts=len(found))
        if len(found) < TEXTS_AT_ONCE:
            return


async def forget_parts(db: Database, now_ms: int) -> None:
    """Forgets parts of stored texts. A part that the carrier sends again after this is taken for
    one of a new text.
    """
    due = Overdue(now_ms - 2 * WAITED_MS, ROWS_AT_ONCE)

    async def forget_some(tx: HotTx) -> tuple[int, bool]:
        rows = len(await FORGET_PARTS.rows(tx, due))
        return rows, rows == ROWS_AT_ONCE

    async for rows in in_batches(db, forget_some):
        metrics.PRUNED.labels(inbound_parts.name).inc(rows)
