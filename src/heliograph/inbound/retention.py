"""Erases texts from handsets, and their numbers, after the operator's days."""

from heliograph.database.hot import HotTx
from heliograph.database.pruning import ROWS_AT_ONCE
from heliograph.inbound.receive.store_sql import ERASE_TEXTS, BeforeId


async def erase_some_inbound(tx: HotTx, until: str) -> tuple[int, bool]:
    """Erases the oldest texts and numbers below the id `until` (raw), ROWS_AT_ONCE of them. Returns
    how many, and whether there are more to look at.
    """
    rows = len(await ERASE_TEXTS.rows(tx, BeforeId(until, ROWS_AT_ONCE)))
    return rows, rows == ROWS_AT_ONCE
