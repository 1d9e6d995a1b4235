"""When old messages have been kept long enough, their texts and numbers are erased, and then the
messages themselves go, a few at a time.

How far that has come is stored with each batch (`kept_from`). So a process that is killed leaves
nothing half done, and the proofs of ledger, events and messages know where the part begins that
they can prove. What is queued or in flight is never touched, however old it is.
"""

from collections.abc import Iterable
from typing import Final, NamedTuple

from sqlalchemy.engine import Connection

from heliograph.base import ids
from heliograph.base.clock import DAY_MS
from heliograph.base.paging import first_id_of
from heliograph.database.hot import HotTx, run_in
from heliograph.database.pruning import ROWS_AT_ONCE, PruningRule, prune_ids
from heliograph.database.statements import (
    AffectedRow,
    BatchStatement,
    Id,
    Int,
    Nothing,
    Row,
    Text,
    portable,
)
from heliograph.messages.states import QUEUED
from heliograph.messages.tables import messages, operator_decisions, sends

TEXTS, MESSAGES, EVENTS = "texts", "messages", "events"  # what is kept from an id on
NOTHING: Final = "0" * 32  # an id below all others: nothing of it has gone
MESSAGES_DEFAULT: Final = "messages_default"  # the partition of what has no month
UNDER_WAY_MS: Final = 1_000  # a send's id is lower than those of its messages, by less than this


class _What(Row, frozen=True):
    what: Text


class _FirstId(Row, frozen=True):
    from_id: Id


class _KeptFrom(Row, frozen=True):
    what: Text
    from_id: Id


class _Before(Row, frozen=True):
    until: Id


class _UnderWay(Row, frozen=True):
    """Names the oldest message that is queued, and the oldest in flight."""

    queued_id: Id | None
    in_flight_id: Id | None


class _Batch(Row, frozen=True):
    start: Id
    until: Id
    most: Int


class _MessageId(Row, frozen=True):
    id: Id


class _ErasedSend(Row, frozen=True):
    id: Id


class _MessagesBetween(Row, frozen=True):
    """Selects the ids from `start` up to, but not including, `until`."""

    start: Id
    until: Id


_FROM: Final = portable(_What, _FirstId, "SELECT from_id FROM kept_from WHERE what = :what")
_KEEP_FROM: Final = portable(
    _KeptFrom,
    Nothing,
    """
    INSERT INTO kept_from (what, from_id) VALUES (:what, :from_id) ON CONFLICT (what) DO UPDATE
        SET from_id = excluded.from_id
    WHERE kept_from.from_id < excluded.from_id""",
)
_UNDER_WAY: Final = portable(
    _Before,
    _UnderWay,
    """
    SELECT (SELECT first_id FROM queue WHERE first_id < :until ORDER BY first_id
        LIMIT 1) AS queued_id,
           (SELECT message_id FROM inflight WHERE message_id < :until ORDER BY message_id
               LIMIT 1) AS in_flight_id""",
)
_END_OF_BATCH: Final = portable(
    _Batch,
    _MessageId,
    "SELECT id FROM messages WHERE id >= :start AND id < :until ORDER BY id LIMIT 1 OFFSET :most",
)
# A message that is queued, and stands in no queue, is for the audit to find.
_ERASE_NUMBERS: Final = portable(
    _MessagesBetween,
    AffectedRow,
    f"""
    UPDATE messages SET recipient = NULL WHERE id >= :start AND id < :until
        AND recipient IS NOT NULL AND status <> '{QUEUED}' RETURNING 1 AS one""",
)
_ERASE_TEXTS: Final = portable(
    _MessagesBetween,
    Nothing,
    """
    UPDATE sends SET text = NULL, exceptions = NULL WHERE id >= :start AND id < :until
        AND (text IS NOT NULL OR exceptions IS NOT NULL)""",
)
_ERASE_TEXT: Final = BatchStatement(
    _ErasedSend,
    Nothing,
    postgresql="""
        UPDATE sends SET text = NULL FROM :given AS g WHERE sends.id = g.id
            AND sends.text IS NOT NULL""",
    sqlite="UPDATE sends SET text = NULL WHERE id = :id AND text IS NOT NULL",
)
_ERASE_REASONS: Final = portable(
    _MessagesBetween,
    Nothing,
    """
        UPDATE operator_decisions SET reason = '' WHERE message_id >= :start AND message_id < :until
            AND reason <> ''""",
)


class RetentionTimes(NamedTuple):
    """Says how long the operator keeps messages and their texts, in milliseconds; None means for
    ever.
    """

    texts_ms: int | None
    messages_ms: int | None


def read_retention(erase_after_days: int | None, delete_after_days: int | None) -> RetentionTimes:
    """Returns the times of retention, from settings in days; None means for ever."""
    return RetentionTimes(
        texts_ms=None if erase_after_days is None else erase_after_days * DAY_MS,
        messages_ms=None if delete_after_days is None else delete_after_days * DAY_MS,
    )


def first_kept(tx: Connection, what: str) -> str:
    """Returns the raw id from which on everything of `what` is there."""
    return run_in(tx, lambda hot: from_id(hot, what))


async def from_id(tx: HotTx, what: str) -> str:
    """Returns what `first_kept` does. Whoever retains asks within an awaited transaction."""
    rows = await _FROM.rows(tx, _What(what))
    return rows[0].from_id if rows else NOTHING


async def store_first_kept(tx: HotTx, what: str, raw_id: str) -> None:
    """Says that what is below this id may be gone from now on. It never goes back."""
    await _KEEP_FROM.rows(tx, _KeptFrom(what, raw_id))


async def first_unfinished_id(tx: HotTx, at_ms: int) -> str:
    """Returns the id (raw) below which nothing was sent after this moment, and nothing is queued or
    in flight any more.
    """
    until = first_id_of(at_ms)
    [oldest] = await _UNDER_WAY.rows(tx, _Before(until))
    under_way = filter(None, (oldest.queued_id, oldest.in_flight_id))
    return min(
        [
            until,
            *(
                first_id_of(ids.made_at_ms(int(message_id, 16)) - UNDER_WAY_MS)
                for message_id in under_way
            ),
        ]
    )


async def erase_some(tx: HotTx, until: str) -> tuple[int, bool]:
    """Erases texts and numbers of the oldest messages below the id `until` that may have any,
    ROWS_AT_ONCE of them. Returns how many numbers it erased, and whether there is more to look at.

    A text that failed (`error_message`) is our own words and a carrier's code; the client's
    `reference` stays.
    """
    start = await from_id(tx, TEXTS)
    if start >= until:
        return 0, False
    beyond = await _END_OF_BATCH.rows(tx, _Batch(start, until, ROWS_AT_ONCE))
    end = beyond[0].id if beyond else until
    batch = _MessagesBetween(start, end)
    numbers = await _ERASE_NUMBERS.rows(tx, batch)
    await _ERASE_TEXTS.rows(tx, batch)
    await _ERASE_REASONS.rows(tx, batch)
    await store_first_kept(tx, TEXTS, end)
    return len(numbers), bool(beyond)


async def erase_texts(tx: HotTx, send_ids: Iterable[str]) -> None:
    """Erases the texts of these sends (raw ids), and leaves all else of them."""
    await _ERASE_TEXT.rows(tx, [_ErasedSend(send_id) for send_id in send_ids])


def tables_of(*, postgresql: bool) -> tuple[PruningRule, ...]:
    """Returns what goes with old messages, and by which of its ids. On PostgreSQL months of
    messages go whole; this is what has found no month.
    """
    return (
        PruningRule(MESSAGES_DEFAULT if postgresql else messages.name, "id", 0),
        PruningRule(operator_decisions.name, "message_id", 0),
        PruningRule(sends.name, "id", 0),
    )


async def delete_some(tx: HotTx, rule: PruningRule) -> int:
    """Deletes the oldest rows that lie before what is kept of messages, at most ROWS_AT_ONCE, and
    returns how many.
    """
    start = await from_id(tx, MESSAGES)
    last = ids.raw_of_number(max(int(start, 16) - 1, 0))
    return await prune_ids(tx, rule, last)
