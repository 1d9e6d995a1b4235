"""The recipients of a campaign are forgotten some time after it has ended. What became of it stands
in its tallies.

The recipients of a draft are forgotten too, when nobody has launched it for so long. A draft to a
file's numbers is canceled with that, for nobody is left; another one writes its contacts down anew
when it is launched. A campaign that has been paused, and has made no message, for so long is
canceled too.
"""

from typing import Final

from heliograph.base import clock
from heliograph.base.paging import first_id_of
from heliograph.campaigns.audience.audience_lock import SILENT_MS
from heliograph.campaigns.campaign import audience_of
from heliograph.campaigns.states import CAMPAIGN, CANCELED, DRAFT, PAUSED, RECIPIENTS_ERASED
from heliograph.database.hot import HotTx
from heliograph.database.pruning import ROWS_AT_ONCE
from heliograph.database.statements import (
    AffectedRow,
    BigInt,
    Id,
    Int,
    Nothing,
    Row,
    Statement,
    Text,
    portable,
)
from heliograph.messages.groups import cancel_group


class _EndedBefore(Row, frozen=True):
    until_ms: BigInt


class _DraftBefore(Row, frozen=True):
    """Selects old drafts. `freezing` is the smallest mark of the processes that are freezing an
    audience and have recently shown that they are alive.
    """

    until_ms: BigInt
    freezing: Id


class _PausedBefore(Row, frozen=True):
    """Selects campaigns that have been paused for long. `until` is the lowest id that can have been
    sent since.
    """

    until_ms: BigInt
    until: Id


class _GroupOfCampaign(Row, frozen=True):
    group_id: Int


class _Draft(Row, frozen=True):
    group_id: Int
    audience: Text


class _CanceledAt(Row, frozen=True):
    group_id: Int
    now_ms: BigInt


class _SomeOfGroup(Row, frozen=True):
    group_id: Int
    most: Int


_HAS_SOME: Final = "EXISTS (SELECT 1 FROM campaign_recipients r WHERE r.group_id = c.group_id)"
_ENDED: Final = portable(
    _EndedBefore,
    _GroupOfCampaign,
    f"""
    SELECT c.group_id FROM campaigns c
    WHERE (c.ended_at_ms <= :until_ms OR c.status_reason = '{RECIPIENTS_ERASED}') AND {_HAS_SOME}
    ORDER BY c.group_id LIMIT 1""",
)
_OLD_DRAFT: Final = portable(
    _DraftBefore,
    _Draft,
    f"""
    SELECT c.group_id, c.audience FROM campaigns c
    WHERE c.ended_at_ms IS NULL AND {CAMPAIGN.is_in(DRAFT, of="c.")}
        AND c.created_at_ms <= :until_ms
        AND (c.freezing IS NULL OR c.freezing < :freezing)
        AND {_HAS_SOME}
    ORDER BY c.group_id LIMIT 1""",
    lock="FOR UPDATE OF c SKIP LOCKED",
)
_OLD_PAUSE: Final = portable(
    _PausedBefore,
    _GroupOfCampaign,
    f"""
    SELECT c.group_id FROM campaigns c
    WHERE c.ended_at_ms IS NULL AND {CAMPAIGN.is_in(PAUSED, of="c.")}
        AND c.started_at_ms <= :until_ms AND {_HAS_SOME}
        AND NOT EXISTS (SELECT 1 FROM sends s WHERE s.group_id = c.group_id AND s.id >= :until)
    ORDER BY c.group_id LIMIT 1""",
    lock="FOR UPDATE OF c SKIP LOCKED",
)
_CANCEL_PAUSED: Final = portable(
    _GroupOfCampaign,
    Nothing,
    f"""
    UPDATE campaigns SET status = '{CANCELED}', status_reason = '{RECIPIENTS_ERASED}'
        WHERE group_id = :group_id AND {CAMPAIGN.may_become(CANCELED)}""",
)
_CANCEL_DRAFT: Final = portable(
    _CanceledAt,
    Nothing,
    f"""
    UPDATE campaigns SET status = '{CANCELED}', status_reason = '{RECIPIENTS_ERASED}',
        freezing = NULL, ended_at_ms = :now_ms
    WHERE group_id = :group_id AND {CAMPAIGN.may_become(CANCELED)}""",
)
# it was the last recipient's number
_NOBODY: Final = portable(
    _GroupOfCampaign, Nothing, "UPDATE campaigns SET cursor = 0 WHERE group_id = :group_id"
)
_FORGET: Final = Statement(
    _SomeOfGroup,
    AffectedRow,
    postgresql="""
        DELETE FROM campaign_recipients WHERE ctid = ANY(ARRAY(
            SELECT ctid FROM campaign_recipients WHERE group_id = :group_id ORDER BY recipient
                LIMIT :most))
        RETURNING 1 AS one""",
    sqlite="""
        DELETE FROM campaign_recipients WHERE rowid IN (
            SELECT rowid FROM campaign_recipients WHERE group_id = :group_id ORDER BY recipient
                LIMIT :most)
        RETURNING 1 AS one""",
)


async def forget_some(tx: HotTx, until_ms: int) -> int:
    """Forgets recipients of one campaign that had ended by then, or has been a draft or paused
    since then, at most ROWS_AT_ONCE. Returns how many; 0 means that there are none.
    """
    ended = await _ENDED.rows(tx, _EndedBefore(until_ms))
    group_id = (
        ended[0].group_id
        if ended
        else await _old_draft(tx, until_ms) or await _old_pause(tx, until_ms)
    )
    if group_id is None:
        return 0
    await _NOBODY.rows(tx, _GroupOfCampaign(group_id))
    return len(await _FORGET.rows(tx, _SomeOfGroup(group_id, ROWS_AT_ONCE)))


async def _old_draft(tx: HotTx, until_ms: int) -> int | None:
    """Finds the group of an old draft that nobody is freezing now, nor can freeze until this
    transaction ends.
    """
    now_ms = clock.now_ms()
    found = await _OLD_DRAFT.rows(tx, _DraftBefore(until_ms, first_id_of(now_ms - SILENT_MS)))
    if not found:
        return None
    [draft] = found
    if audience_of(draft.audience).kind == "numbers":
        await _CANCEL_DRAFT.rows(tx, _CanceledAt(draft.group_id, now_ms))
    return draft.group_id


async def _old_pause(tx: HotTx, until_ms: int) -> int | None:
    """Finds the group of a campaign paused long ago that nobody is resuming now, nor can resume
    until this transaction ends.
    """
    found = await _OLD_PAUSE.rows(tx, _PausedBefore(until_ms, first_id_of(until_ms)))
    if not found:
        return None
    [paused] = found
    await _CANCEL_PAUSED.rows(tx, paused)
    await cancel_group(tx, paused.group_id, clock.now_ms())
    return paused.group_id
