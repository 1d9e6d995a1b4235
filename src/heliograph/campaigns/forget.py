"""Whom a campaign was for is forgotten some time after it has ended: what became of it stands in its tallies."""

from typing import Final

from heliograph.base.hot import HotTx
from heliograph.base.pruning import ROWS_AT_ONCE

_ENDED: Final = """
    SELECT c.group_id FROM campaigns c
    WHERE c.ended_at_ms <= $1 AND EXISTS (SELECT 1 FROM campaign_recipients r WHERE r.group_id = c.group_id) ORDER BY c.group_id LIMIT 1"""
_NOBODY: Final = "UPDATE campaigns SET cursor = 0 WHERE group_id = $1"  # it was the last recipient's number
_FORGET: Final = """
    DELETE FROM campaign_recipients WHERE {row} IN (
        SELECT {row} FROM campaign_recipients WHERE group_id = $1 ORDER BY recipient LIMIT $2) RETURNING 1"""
_FORGET_POSTGRESQL: Final = _FORGET.format(row="ctid").replace("IN (", "= ANY(ARRAY(").replace(") RETURNING", ")) RETURNING")
_FORGET_SQLITE: Final = _FORGET.format(row="rowid")


async def forget_some(tx: HotTx, ended_by_ms: int) -> int:
    """Recipients of one campaign that had ended by then, at most ROWS_AT_ONCE; how many. 0: there are none."""
    ended = await tx.fetch(_ENDED, ended_by_ms)
    if not ended:
        return 0
    await tx.fetch(_NOBODY, ended[0][0])
    return len(await tx.fetch(_FORGET_POSTGRESQL if tx.postgresql else _FORGET_SQLITE, ended[0][0], ROWS_AT_ONCE))
