"""People opt out while campaigns are under way. Whoever is still to come is taken out of their
lists; what is queued for them fails.

All that is done for some notes (`opt_outs/notes.py`), and their end, is one transaction. A note
is looked at again while a carrier has something for its phone, which may come back, and while an
audience is being frozen, which may have been read before it.
"""

from collections import Counter
from collections.abc import Sequence
from typing import Final

from heliograph.base.paging import first_id_of
from heliograph.campaigns.audience.audience_lock import SILENT_MS
from heliograph.campaigns.states import CAMPAIGN, PAUSED, SENDING
from heliograph.database.hot import HotTx
from heliograph.database.statements import (
    BatchStatement,
    BigInt,
    Bool,
    Id,
    Int,
    Nothing,
    Row,
    Statement,
    portable,
)
from heliograph.messages.sweeps import fail_blocked
from heliograph.opt_outs import due_notes
from heliograph.opt_outs.due_notes import OptedOutPhone

AT_ONCE_MAX: Final = 500  # notes in one transaction, as of what else fails in one
# a throttled message that comes back waits half a second, and one that is tried again two seconds:
# both are found before they leave
AGAIN_MS: Final = 400


class _FrozenSince(Row, frozen=True):
    """Holds the lowest mark of the processes that are freezing an audience and have recently shown
    that they are alive.
    """

    freezing: Id


class _AccountMode(Row, frozen=True):
    """Identifies an account in one mode."""

    account_id: Id
    sandbox: Bool


class _ToCome(Row, frozen=True):
    """Identifies a recipient whom a campaign has not reached yet."""

    group_id: Int
    recipient: BigInt


class _Groups(Row, frozen=True):
    group_ids: list[Int]


class _LockedCampaign(Row, frozen=True):
    id: Id


class _TakenOut(Row, frozen=True):
    """Says how many of a campaign's recipients were taken out, and which of them is the first in
    its order.
    """

    group_id: Int
    count: Int
    lowest: BigInt


_FREEZING: Final = portable(
    _FrozenSince,
    _AccountMode,
    """
        SELECT DISTINCT account_id, sandbox FROM campaigns WHERE ended_at_ms IS NULL
            AND freezing >= :freezing""",
)

_IN_LISTS: Final = BatchStatement(
    OptedOutPhone,
    _ToCome,
    postgresql=f"""
        SELECT c.group_id, r.recipient
        FROM :given AS g
        JOIN campaigns c ON c.account_id = g.account_id AND c.sandbox = g.sandbox
            AND c.ended_at_ms IS NULL AND {CAMPAIGN.is_in(SENDING, PAUSED, of="c.")}
        JOIN campaign_recipients r ON r.group_id = c.group_id AND r.recipient = g.phone
            AND r.recipient > c.cursor AND NOT r.opted_out""",
    sqlite=f"""
        SELECT c.group_id, r.recipient
        FROM campaigns c
        JOIN campaign_recipients r ON r.group_id = c.group_id AND r.recipient = :phone
            AND r.recipient > c.cursor AND NOT r.opted_out
        WHERE c.account_id = :account_id AND c.sandbox = :sandbox AND c.ended_at_ms IS NULL
            AND {CAMPAIGN.is_in(SENDING, PAUSED, of="c.")}""",
)
_LOCK: Final = Statement(
    _Groups,
    _LockedCampaign,
    postgresql="SELECT id FROM campaigns WHERE group_id = ANY(:group_ids) ORDER BY id FOR UPDATE",
)
# What a chunk has taken before the lock was there is a message now.
_LEAVE_OUT: Final = BatchStatement(
    _ToCome,
    _ToCome,
    postgresql="""
        DELETE FROM campaign_recipients r USING :given AS g, campaigns c
        WHERE r.group_id = g.group_id AND r.recipient = g.recipient AND c.group_id = r.group_id
            AND r.recipient > c.cursor
        RETURNING r.group_id, r.recipient""",
    sqlite="""
        DELETE FROM campaign_recipients
        WHERE group_id = :group_id AND recipient = :recipient
            AND recipient > (SELECT cursor FROM campaigns WHERE group_id = :group_id)
        RETURNING group_id, recipient""",
)
# When the one goes whose credits it waits for, what the next one costs is not known. With nobody
# left it has become all that it will.
_NEXT: Final = """
    (SELECT min(r.recipient) FROM campaign_recipients r
     WHERE r.group_id = campaigns.group_id AND r.recipient > campaigns.cursor
         AND NOT r.opted_out)"""
_COUNT: Final = portable(
    _TakenOut,
    Nothing,
    f"""
    UPDATE campaigns SET opted_out = opted_out + :count, expanded = {_NEXT} IS NULL,
        waits_for = CASE WHEN :lowest < {_NEXT} THEN NULL ELSE waits_for END
    WHERE group_id = :group_id""",
)


async def mark_seen(tx: HotTx) -> set[str]:
    """Marks new notes as seen, at most AT_ONCE_MAX, and returns their accounts (raw ids). Before
    these notes are applied, the caller waits for those who may be accepting something for their
    phones: then `apply_due_notes` finds it queued.
    """
    return {person.account_id for person in await due_notes.mark_new_seen(tx, AT_ONCE_MAX)}


async def apply_due_notes(tx: HotTx, now_ms: int) -> int:
    """Applies the next notes that are due and were seen, at most AT_ONCE_MAX, and returns how
    many.
    """
    notes = await due_notes.lock_due(tx, now_ms, AT_ONCE_MAX)
    if not notes:
        return 0
    people = [note.person for note in notes]
    of_senders = {note.person for note in notes if not note.whole}
    out = [person for person in people if person not in of_senders]
    # Before the lists are looked at: what is frozen until then is one of them, and what begins to
    # be frozen after it reads the contacts as they are.
    freezing = set(await _FREEZING.rows(tx, _FrozenSince(first_id_of(now_ms - SILENT_MS))))
    await _leave_out(tx, out)
    postponed = await fail_blocked(tx, people, now_ms, of_senders) | {
        person for person in out if _AccountMode(person.account_id, person.sandbox) in freezing
    }
    await due_notes.postpone(
        tx, [person for person in people if person in postponed], now_ms + AGAIN_MS
    )
    await due_notes.delete(tx, [person for person in people if person not in postponed])
    return len(people)


async def _leave_out(tx: HotTx, people: Sequence[OptedOutPhone]) -> None:
    """Removes these people from the lists of campaigns that have not reached them yet."""
    found = await _IN_LISTS.rows(tx, people)
    if not found:
        return
    if tx.postgresql:
        await _LOCK.rows(tx, _Groups(sorted({one.group_id for one in found})))
    gone = await _LEAVE_OUT.rows(tx, found)
    lowest: dict[int, int] = {}
    for one in gone:
        lowest[one.group_id] = min(one.recipient, lowest.get(one.group_id, one.recipient))
    for group_id, count in sorted(Counter(one.group_id for one in gone).items()):
        await _COUNT.rows(tx, _TakenOut(group_id, count, lowest[group_id]))
