"""A chunk of a campaign: its messages, their charge and the campaign's place in its list are one transaction.

So whatever kills the process, each recipient has become a message once, or not yet.
"""

from typing import Any, Final, NamedTuple

from heliograph.base.hot import HotTx
from heliograph.campaigns.states import ACCOUNT_SUSPENDED, PAUSED, SENDING
from heliograph.campaigns.text import parse
from heliograph.messages import Chunk, Chunker, Places, Recipient, Wanted
from heliograph.text import count_segments

_LOCK: Final = """
    SELECT c.id, c.group_id, c.account_id, c.sandbox, c.sender, c.text, c.validity_s, c.cursor,
           a.status = 'active' AND (p.status IS NULL OR p.status = 'active')
    FROM campaigns c JOIN accounts a ON a.id = c.account_id LEFT JOIN accounts p ON p.id = a.parent_id
    WHERE c.id = $1 AND c.status = 'sending' AND NOT c.expanded"""
# Who has opted out since the audience was frozen is told by an index of those alone.
_NEXT: Final = """
    SELECT r.recipient, r.country_code, r.text, r.encoding, r.segments,
           EXISTS (SELECT 1 FROM contacts o WHERE o.account_id = $4 AND o.sandbox = $5 AND o.phone = r.recipient AND o.opted_out)
    FROM campaign_recipients r WHERE r.group_id = $1 AND r.recipient > $2 AND NOT r.opted_out ORDER BY r.recipient LIMIT $3"""
_MOVE_ON: Final = """
    UPDATE campaigns SET cursor = $2, expanded = $3, opted_out = opted_out + $4, refused = refused + $5, status = $6, status_reason = $7,
           waits_for = $8
    WHERE id = $1"""


class Expanded(NamedTuple):
    """What one chunk has come to. `paused`: why the campaign does not go on by itself."""

    messages: int
    carrier_ids: frozenset[int]
    paused: str | None = None
    is_whole: bool = False


async def expand(tx: HotTx, places: Places, chunker: Chunker, campaign_id: str, most: int) -> Expanded | None:
    """The next recipients of a campaign, at most `most`; None: it is not sending any more."""
    locked = await tx.fetch(_LOCK + (" FOR UPDATE OF c" if tx.postgresql else ""), campaign_id)
    if not locked:
        return None
    _, group_id, account_id, sandbox, sender, text, validity_s, cursor, is_active = locked[0]
    if not is_active:
        await tx.fetch(_MOVE_ON, campaign_id, cursor, False, 0, 0, PAUSED, ACCOUNT_SUSPENDED, None)
        return Expanded(0, frozenset(), ACCOUNT_SUSPENDED)
    rows = await tx.fetch(_NEXT, group_id, cursor, most, account_id, sandbox)
    recipients = _recipients(rows, text)
    chunk = Chunk(0, 0, None, frozenset())
    if recipients:
        chunk = await chunker.store(tx, places, Wanted(group_id, campaign_id, account_id, bool(sandbox), sender, validity_s), recipients)
    if chunk.taken < len(recipients):
        cursor = recipients[chunk.taken].number - 1
    elif rows:
        cursor = rows[-1][0]
    opted_out = sum(bool(row[5]) for row in rows if row[0] <= cursor)
    is_whole = chunk.stopped is None and len(rows) < most
    status = SENDING if chunk.stopped is None else PAUSED
    await tx.fetch(_MOVE_ON, campaign_id, cursor, is_whole, opted_out, chunk.refused, status, chunk.stopped, chunk.wanted)
    return Expanded(chunk.messages, chunk.carrier_ids, chunk.stopped, is_whole)


def _recipients(rows: list[Any], template: str) -> list[Recipient]:
    """Those of a chunk that have not opted out. A text without placeholders is the same for all, and kept once."""
    text = parse(template).plain or ""
    shared = (text, *count_segments(text)) if text else ("", "", 0)
    return [Recipient(row[0], row[1], *(shared if row[2] is None else row[2:5])) for row in rows if not row[5]]
