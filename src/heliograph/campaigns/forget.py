"""Whom a campaign was for is forgotten some time after it has ended: what became of it stands in its tallies.

So is whom a draft was written down for, when nobody has launched it for so long. One to a file's numbers is canceled with that, for nobody is left;
another writes its contacts down anew when it is launched. And of one that has been paused, and has made no message, for so long: it is canceled too.
"""

from typing import Any, Final

from heliograph.base import clock
from heliograph.base.hot import HotTx
from heliograph.base.paging import first_id_of
from heliograph.base.pruning import ROWS_AT_ONCE
from heliograph.campaigns.campaign import audience_of
from heliograph.campaigns.hold import SILENT_MS
from heliograph.campaigns.states import CANCELED, RECIPIENTS_ERASED

_HAS_SOME: Final = "EXISTS (SELECT 1 FROM campaign_recipients r WHERE r.group_id = c.group_id)"
_ENDED: Final = f"""
    SELECT c.group_id FROM campaigns c
    WHERE (c.ended_at_ms <= $1 OR c.status_reason = '{RECIPIENTS_ERASED}') AND {_HAS_SOME} ORDER BY c.group_id LIMIT 1"""  # noqa: S608  texts of ours
_OLD_DRAFT: Final = f"""
    SELECT c.group_id, c.audience FROM campaigns c
    WHERE c.ended_at_ms IS NULL AND c.status = 'draft' AND c.created_at_ms <= $1 AND (c.freezing IS NULL OR c.freezing < $2) AND {_HAS_SOME}
    ORDER BY c.group_id LIMIT 1"""  # noqa: S608  texts of ours
_OLD_PAUSE: Final = f"""
    SELECT c.group_id FROM campaigns c
    WHERE c.ended_at_ms IS NULL AND c.status = 'paused' AND c.started_at_ms <= $1 AND {_HAS_SOME}
      AND NOT EXISTS (SELECT 1 FROM sends s WHERE s.group_id = c.group_id AND s.id >= $2)
    ORDER BY c.group_id LIMIT 1"""  # noqa: S608  texts of ours
_CANCEL_PAUSED: Final = f"""
    UPDATE campaigns SET status = '{CANCELED}', status_reason = '{RECIPIENTS_ERASED}' WHERE group_id = $1"""  # noqa: S608  texts of ours
_CANCEL_GROUP: Final = "UPDATE groups SET canceled_at_ms = $2 WHERE id = $1"  # `hold.fail_canceled` fails what may still be queued, and it ends
_CANCEL: Final = f"""
    UPDATE campaigns SET status = '{CANCELED}', status_reason = '{RECIPIENTS_ERASED}', freezing = NULL, ended_at_ms = $2
    WHERE group_id = $1"""  # noqa: S608  texts of ours
_NOBODY: Final = "UPDATE campaigns SET cursor = 0 WHERE group_id = $1"  # it was the last recipient's number
_FORGET: Final = """
    DELETE FROM campaign_recipients WHERE {row} IN (
        SELECT {row} FROM campaign_recipients WHERE group_id = $1 ORDER BY recipient LIMIT $2) RETURNING 1"""
_FORGET_POSTGRESQL: Final = _FORGET.format(row="ctid").replace("IN (", "= ANY(ARRAY(").replace(") RETURNING", ")) RETURNING")
_FORGET_SQLITE: Final = _FORGET.format(row="rowid")


async def forget_some(tx: HotTx, until_ms: int) -> int:
    """Recipients of one campaign that had ended by then, or has been a draft or paused since then, at most ROWS_AT_ONCE; how many. 0: there are
    none."""
    found = await tx.fetch(_ENDED, until_ms) or await _old_draft(tx, until_ms) or await _old_pause(tx, until_ms)
    if not found:
        return 0
    group_id = found[0][0]
    await tx.fetch(_NOBODY, group_id)
    return len(await tx.fetch(_FORGET_POSTGRESQL if tx.postgresql else _FORGET_SQLITE, group_id, ROWS_AT_ONCE))


async def _old_draft(tx: HotTx, until_ms: int) -> list[Any]:
    """One that nobody is just freezing, nor can until this transaction ends."""
    now_ms = clock.now_ms()
    found = await tx.fetch(_OLD_DRAFT + (" FOR UPDATE OF c SKIP LOCKED" if tx.postgresql else ""), until_ms, first_id_of(now_ms - SILENT_MS))
    if found and audience_of(found[0][1]).kind == "numbers":
        await tx.fetch(_CANCEL, found[0][0], now_ms)
    return found


async def _old_pause(tx: HotTx, until_ms: int) -> list[Any]:
    """One that nobody is just resuming, nor can until this transaction ends."""
    found = await tx.fetch(_OLD_PAUSE + (" FOR UPDATE OF c SKIP LOCKED" if tx.postgresql else ""), until_ms, first_id_of(until_ms))
    if found:
        await tx.fetch(_CANCEL_PAUSED, found[0][0])
        await tx.fetch(_CANCEL_GROUP, found[0][0], clock.now_ms())
    return found
