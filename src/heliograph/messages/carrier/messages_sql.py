"""Declares the statements of messages in a carrier's turn, in both dialects: they read messages to
be submitted, and store changed ones.
"""

from collections.abc import Sequence
from typing import Final

from heliograph.database.hot import HotTx
from heliograph.database.statements import (
    BatchStatement,
    BigInt,
    Id,
    Int,
    Nothing,
    Row,
    SharingStatement,
    SmallInt,
    Statement,
    Text,
)
from heliograph.messages.changes.message_lock import MessageIds
from heliograph.messages.states import MESSAGE, QUEUED


class SettledMessage(Row, frozen=True):
    """Holds what a turn changes of a message. A time that is stored already stays."""

    id: Id
    status: Text
    parts_accepted: SmallInt
    parts_delivered: SmallInt
    error_code: Text | None
    error_message: Text | None
    refunded: Int
    sent_at_ms: BigInt | None
    delivered_at_ms: BigInt | None
    failed_at_ms: BigInt | None


class _Bounds(Row, frozen=True):
    first: Id
    last: Id


_STORE_MESSAGES: Final = SharingStatement(
    SettledMessage,
    _Bounds,
    Nothing,
    postgresql=f"""
        UPDATE messages m SET status = g.status, parts_accepted = g.parts_accepted,
            parts_delivered = g.parts_delivered,
            error_code = g.error_code, error_message = g.error_message, refunded = g.refunded,
            sent_at_ms = coalesce(m.sent_at_ms, g.sent_at_ms),
                delivered_at_ms = coalesce(m.delivered_at_ms, g.delivered_at_ms),
            failed_at_ms = coalesce(m.failed_at_ms, g.failed_at_ms)
        FROM :given AS g WHERE m.id = g.id AND m.id >= :first AND m.id <= :last
            AND {MESSAGE.may_store("g.status", of="m.")}""",
    sqlite=f"""
        UPDATE messages SET status = :status, parts_accepted = :parts_accepted,
            parts_delivered = :parts_delivered,
            error_code = :error_code, error_message = :error_message, refunded = :refunded,
            sent_at_ms = coalesce(sent_at_ms, :sent_at_ms),
                delivered_at_ms = coalesce(delivered_at_ms, :delivered_at_ms),
            failed_at_ms = coalesce(failed_at_ms, :failed_at_ms)
        WHERE id = :id AND {MESSAGE.may_store(":status")}""",
)


async def store_messages(tx: HotTx, settled: Sequence[SettledMessage]) -> None:
    """Stores what was changed of messages, which are given in the order of their ids."""
    if settled:
        await _STORE_MESSAGES.rows_with(tx, settled, _Bounds(settled[0].id, settled[-1].id))


class ResentParts(Row, frozen=True):
    """Names segments of a message, as bits, that are sent once more after a doubt."""

    message_id: Id
    parts: SmallInt


# Once in the life of a segment, whatever its other tries meet: so the mark is the message's own,
# and not one of its place in queue or window.
RESENT: Final = BatchStatement(
    ResentParts,
    Nothing,
    postgresql="""
        UPDATE messages m SET parts_resent = m.parts_resent | g.parts FROM :given AS g
            WHERE m.id = g.message_id""",
    sqlite="UPDATE messages SET parts_resent = parts_resent | :parts WHERE id = :message_id",
)


class OutgoingMessage(Row, frozen=True):
    """Holds what a submit_sm needs of a message and its send."""

    id: Id
    recipient: BigInt
    parts_accepted: SmallInt
    sender: Text
    text: Text
    encoding: Text
    segments: SmallInt
    type: Text


_OUTGOING: Final = f"""
    SELECT m.id, m.recipient, m.parts_accepted, s.sender, s.text, s.encoding, s.segments, s.type
    FROM messages m JOIN sends s ON s.id = m.send_id
    WHERE {MESSAGE.is_in(QUEUED, of="m.")}"""
_OUTGOING_POSTGRESQL: Final = (
    f"{_OUTGOING} AND m.id = ANY(:ids) AND m.id >= :first AND m.id <= :last"
)
_OUTGOING_SQLITE: Final = f"{_OUTGOING} AND m.id IN (SELECT value FROM json_each(:ids))"
_OUTGOING_MESSAGES: Final = Statement(
    MessageIds, OutgoingMessage, postgresql=_OUTGOING_POSTGRESQL, sqlite=_OUTGOING_SQLITE
)
_OUTGOING_LOCKED: Final = Statement(
    MessageIds,
    OutgoingMessage,
    postgresql=f"{_OUTGOING_POSTGRESQL} ORDER BY m.id FOR SHARE OF m SKIP LOCKED",
    sqlite=_OUTGOING_SQLITE,
)


async def outgoing(tx: HotTx, message_ids: list[str]) -> list[OutgoingMessage]:
    """Returns what a submit_sm needs, of those messages that are still queued."""
    return (
        await _OUTGOING_MESSAGES.rows(
            tx, MessageIds(message_ids, min(message_ids), max(message_ids))
        )
        if message_ids
        else []
    )


async def lock_outgoing(tx: HotTx, message_ids: list[str]) -> list[OutgoingMessage]:
    """Does what `outgoing` does, and locks these messages until the transaction ends; on PostgreSQL
    it leaves out those that somebody else has locked. `message_ids` stand in their order.
    """
    return await _OUTGOING_LOCKED.rows(tx, MessageIds(message_ids, message_ids[0], message_ids[-1]))
