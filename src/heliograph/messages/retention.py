"""What has been kept long enough: texts and numbers of old messages are erased, then the messages themselves go, a few at a time.

How far that has come is stored with each batch (`kept_from`), so a process that is killed leaves nothing half done, and the proofs of ledger, events
and messages know where the part begins that they can prove. What is queued or in flight is never touched, however old it is.
"""

from typing import Final, NamedTuple

import sqlalchemy as sa
from sqlalchemy.engine import Connection

from heliograph.base import ids
from heliograph.base.clock import DAY_MS
from heliograph.base.hot import HotTx
from heliograph.base.paging import first_id_of
from heliograph.base.pruning import ROWS_AT_ONCE, Kept, statement
from heliograph.messages.tables import kept_from, messages, operator_decisions, sends

TEXTS, MESSAGES, EVENTS = "texts", "messages", "events"  # what is kept from an id on
NOTHING: Final = "0" * 32  # an id below all others: nothing of it has gone
MESSAGES_DEFAULT: Final = "messages_default"  # the partition of what has no month
UNDER_WAY_MS: Final = 1_000  # a send's id is lower than those of its messages, by less than this

_FROM: Final = "SELECT from_id FROM kept_from WHERE what = $1"
_KEEP_FROM: Final = """
    INSERT INTO kept_from (what, from_id) VALUES ($1, $2) ON CONFLICT (what) DO UPDATE SET from_id = excluded.from_id
    WHERE kept_from.from_id < excluded.from_id"""
_UNDER_WAY: Final = """
    SELECT (SELECT first_id FROM queue WHERE first_id < $1 ORDER BY first_id LIMIT 1),
           (SELECT message_id FROM inflight WHERE message_id < $1 ORDER BY message_id LIMIT 1)"""
_END_OF_BATCH: Final = "SELECT id FROM messages WHERE id >= $1 AND id < $2 ORDER BY id LIMIT 1 OFFSET $3"
_ERASE: Final = (  # a message that is queued, and stands in no queue, is for the audit to find
    """UPDATE messages SET recipient = NULL WHERE id >= $1 AND id < $2 AND recipient IS NOT NULL AND status <> 'queued' RETURNING 1""",
    """UPDATE sends SET text = NULL, exceptions = NULL WHERE id >= $1 AND id < $2 AND (text IS NOT NULL OR exceptions IS NOT NULL)""",
    """UPDATE operator_decisions SET reason = '' WHERE message_id >= $1 AND message_id < $2 AND reason <> ''""",
)


class KeptFor(NamedTuple):
    """What the operator has set, in milliseconds; None: for ever."""

    texts_ms: int | None
    messages_ms: int | None


def kept_for(erase_after_days: int | None, delete_after_days: int | None) -> KeptFor:
    return KeptFor(*(None if days is None else days * DAY_MS for days in (erase_after_days, delete_after_days)))


def first_kept(tx: Connection, what: str) -> str:
    """The raw id from which on all of it is there."""
    return tx.execute(sa.select(kept_from.c.from_id).where(kept_from.c.what == what)).scalar_one_or_none() or NOTHING


async def from_id(tx: HotTx, what: str) -> str:
    """The same, in a transaction of the hot paths."""
    rows = await tx.fetch(_FROM, what)
    return str(rows[0][0]) if rows else NOTHING


async def keep_from(tx: HotTx, what: str, raw_id: str) -> None:
    """What is below this id may be gone from now on. It never goes back."""
    await tx.fetch(_KEEP_FROM, what, raw_id)


async def over_before(tx: HotTx, at_ms: int) -> str:
    """The id (raw) below which nothing was sent after this moment, and nothing is queued or in flight any more."""
    until = first_id_of(at_ms)
    under_way = [row for row in (await tx.fetch(_UNDER_WAY, until))[0] if row is not None]
    return min([until, *(first_id_of(ids.made_at_ms(int(message_id, 16)) - UNDER_WAY_MS) for message_id in under_way)])


async def erase_some(tx: HotTx, until: str) -> tuple[int, bool]:
    """Texts and numbers of the oldest messages below the id `until` that may have any, ROWS_AT_ONCE of them. How many numbers, and whether there is
    more to look at.

    A text that failed (`error_message`) is our own words and a carrier's code; the client's `reference` stays."""
    start = await from_id(tx, TEXTS)
    if start >= until:
        return 0, False
    beyond = await tx.fetch(_END_OF_BATCH, start, until, ROWS_AT_ONCE)
    end = str(beyond[0][0]) if beyond else until
    erased = [await tx.fetch(erase, start, end) for erase in _ERASE]
    await keep_from(tx, TEXTS, end)
    return len(erased[0]), bool(beyond)


def tables_of(*, postgresql: bool) -> tuple[Kept, ...]:
    """What goes with old messages, and by which of its ids. On PostgreSQL months of messages go whole; this is what has found no month."""
    return Kept(MESSAGES_DEFAULT if postgresql else messages.name, "id", 0), Kept(operator_decisions.name, "message_id", 0), Kept(sends.name, "id", 0)


async def delete_some(tx: HotTx, kept: Kept) -> int:
    """The oldest rows that lie before what is kept of messages, at most ROWS_AT_ONCE; how many."""
    start = await from_id(tx, MESSAGES)
    last = ids.raw_of_number(max(int(start, 16) - 1, 0))
    return len(await tx.fetch(statement(kept, postgresql=tx.postgresql), last, ROWS_AT_ONCE))
