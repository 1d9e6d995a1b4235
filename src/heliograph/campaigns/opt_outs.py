"""Whoever opts out while campaigns are under way: still to come, he is taken out of their lists; what is queued for him fails.

All that is done for some notes (`contacts/opt_outs.py`), and their end, is one transaction. A note is looked at again while a carrier has something
for its phone, which may come back; and while an audience is being frozen, which may have been read before it.
"""

from collections import Counter
from collections.abc import Sequence
from typing import Any, Final

import sqlalchemy as sa
from sqlalchemy.engine import Connection

from heliograph.base.hot import HotTx, Statement
from heliograph.base.paging import first_id_of
from heliograph.campaigns.hold import SILENT_MS
from heliograph.contacts.tables import opt_outs
from heliograph.messages import Person, fail_blocked

AT_ONCE_MAX: Final = 500  # notes in one transaction, as of what else fails in one
AGAIN_MS: Final = 400  # what comes back throttled waits half a second, what is tried again two: it is found before it leaves

_DUE: Final = "SELECT account_id, sandbox, phone FROM opt_outs WHERE due_ms <= $1 ORDER BY due_ms, account_id, sandbox, phone LIMIT $2"
_FREEZING: Final = "SELECT DISTINCT account_id, sandbox FROM campaigns WHERE ended_at_ms IS NULL AND freezing >= $1"

_IN_LISTS: Final = """
    SELECT c.group_id, r.recipient
    FROM unnest($1::uuid[], $2::bool[], $3::bigint[]) AS p (account_id, sandbox, phone)
    JOIN campaigns c ON c.account_id = p.account_id AND c.sandbox = p.sandbox AND c.ended_at_ms IS NULL AND c.status IN ('sending', 'paused')
    JOIN campaign_recipients r ON r.group_id = c.group_id AND r.recipient = p.phone AND r.recipient > c.cursor AND NOT r.opted_out"""
_IN_LISTS_SQLITE: Final = """
    SELECT c.group_id, r.recipient
    FROM campaigns c JOIN campaign_recipients r ON r.group_id = c.group_id AND r.recipient = ?3 AND r.recipient > c.cursor AND NOT r.opted_out
    WHERE c.account_id = ?1 AND c.sandbox = ?2 AND c.ended_at_ms IS NULL AND c.status IN ('sending', 'paused')"""
_LOCK: Final = "SELECT id FROM campaigns WHERE group_id = ANY($1::int[]) ORDER BY id FOR UPDATE"
# What a chunk has taken before the lock was there is a message now.
_LEAVE_OUT: Final = """
    DELETE FROM campaign_recipients r USING unnest($1::int[], $2::bigint[]) AS o (group_id, recipient), campaigns c
    WHERE r.group_id = o.group_id AND r.recipient = o.recipient AND c.group_id = r.group_id AND r.recipient > c.cursor
    RETURNING r.group_id, r.recipient"""
_LEAVE_OUT_SQLITE: Final = """
    DELETE FROM campaign_recipients WHERE group_id = ?1 AND recipient = ?2 AND recipient > (SELECT cursor FROM campaigns WHERE group_id = ?1)
    RETURNING group_id, recipient"""
# When the one goes whose credits it waits for, what the next one costs is not known. With nobody left it has become all that it will.
_NEXT: Final = """
    (SELECT min(r.recipient) FROM campaign_recipients r
     WHERE r.group_id = campaigns.group_id AND r.recipient > campaigns.cursor AND NOT r.opted_out)"""
_COUNT: Final = f"""
    UPDATE campaigns SET opted_out = opted_out + $2, expanded = {_NEXT} IS NULL, waits_for = CASE WHEN $3 < {_NEXT} THEN NULL ELSE waits_for END
    WHERE group_id = $1"""  # noqa: S608  a text of ours

_PERSON: Final = "account_id = ?1 AND sandbox = ?2 AND phone = ?3"
_END: Final = Statement(
    """DELETE FROM opt_outs o USING unnest($1::uuid[], $2::bool[], $3::bigint[]) AS p (account_id, sandbox, phone)
       WHERE o.account_id = p.account_id AND o.sandbox = p.sandbox AND o.phone = p.phone""",
    f"DELETE FROM opt_outs WHERE {_PERSON}")  # noqa: S608  names of ours
_AGAIN: Final = Statement(
    """UPDATE opt_outs o SET due_ms = p.due_ms
       FROM unnest($1::uuid[], $2::bool[], $3::bigint[], $4::bigint[]) AS p (account_id, sandbox, phone, due_ms)
       WHERE o.account_id = p.account_id AND o.sandbox = p.sandbox AND o.phone = p.phone""",
    f"UPDATE opt_outs SET due_ms = ?4 WHERE {_PERSON}")  # noqa: S608  names of ours


def any_due(tx: Connection, now_ms: int) -> bool:
    """Whether there is anything to heed: asked at each look, by index."""
    return tx.execute(sa.select(opt_outs.c.phone).where(opt_outs.c.due_ms <= now_ms).limit(1)).first() is not None


async def heed(tx: HotTx, now_ms: int) -> int:
    """The next notes that are due, at most AT_ONCE_MAX; how many."""
    rows = await tx.fetch(_DUE + (" FOR UPDATE SKIP LOCKED" if tx.postgresql else ""), now_ms, AT_ONCE_MAX)
    if not rows:
        return 0
    people = [Person(account_id, bool(sandbox), phone) for account_id, sandbox, phone in rows]
    # Before the lists are looked at: what is frozen until then is one of them, and what begins to be frozen after it reads the contacts as they are.
    freezing = {(account_id, bool(sandbox)) for account_id, sandbox in await tx.fetch(_FREEZING, first_id_of(now_ms - SILENT_MS))}
    await _leave_out(tx, people)
    again = await fail_blocked(tx, people, now_ms) | {person for person in people if (person.account_id, person.sandbox) in freezing}
    await _AGAIN.rows(tx, [(*person, now_ms + AGAIN_MS) for person in people if person in again])
    await _END.rows(tx, [person for person in people if person not in again])
    return len(people)


async def _leave_out(tx: HotTx, people: Sequence[Person]) -> None:
    """Takes them out of the lists in which they are still to come."""
    found = await Statement(_IN_LISTS, _IN_LISTS_SQLITE).rows(tx, list(people))
    if not found:
        return
    if tx.postgresql:
        await tx.fetch(_LOCK, sorted({row[0] for row in found}))
    gone: list[Any] = await Statement(_LEAVE_OUT, _LEAVE_OUT_SQLITE).rows(tx, [tuple(row) for row in found])
    lowest: dict[int, int] = {}
    for group_id, recipient in gone:
        lowest[group_id] = min(recipient, lowest.get(group_id, recipient))
    for group_id, count in sorted(Counter(row[0] for row in gone).items()):
        await tx.fetch(_COUNT, group_id, count, lowest[group_id])
