"""Collects the changes that a transaction makes to messages under lock, until they are stored."""

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import NamedTuple

import msgspec

from heliograph.base import ids
from heliograph.messages.changes.message_lock import LockedMessage
from heliograph.messages.queue.rank import rank_ahead
from heliograph.messages.queue.sql import QueuedRun


class MessageRow(msgspec.Struct):
    """Holds a message under lock, as the turn moves it."""

    id: str
    send_id: str
    account_id: str
    sandbox: bool
    recipient: int | None
    status: str
    segments: int
    credits: int
    refunded: int
    parts_accepted: int
    parts_delivered: int
    error_code: str | None = None
    error_message: str | None = None
    group_id: int | None = None
    locked: LockedMessage | None = None  # as it was read: what its events show beside
    sent_at_ms: int | None = None  # these three: reached in this turn
    delivered_at_ms: int | None = None
    failed_at_ms: int | None = None
    changed: bool = False
    was: str = ""  # its status, and what was refunded, as they are stored
    refunded_before: int = 0


def row_of(locked: LockedMessage) -> MessageRow:
    """Returns the message that was locked, to be moved on."""
    return MessageRow(
        locked.id,
        locked.send_id,
        locked.account_id,
        sandbox=locked.sandbox,
        recipient=locked.recipient,
        status=locked.status,
        segments=locked.segments,
        credits=locked.credits,
        refunded=locked.refunded,
        parts_accepted=locked.parts_accepted,
        parts_delivered=locked.parts_delivered,
        error_code=locked.error_code,
        error_message=locked.error_message,
        group_id=locked.group_id,
        locked=locked,
        was=locked.status,
        refunded_before=locked.refunded,
    )


class Requeued(NamedTuple):
    """Says how a message goes back to the queue. Times are Unix milliseconds. All else that its
    row holds is the message's own.
    """

    prefix: str
    attempt: int
    not_before_ms: int
    expires_at_ms: int


def requeued_run(row: MessageRow, back: Requeued, carrier_id: int) -> QueuedRun:
    """Returns the row of the queue that the message is with this carrier, ahead of all that has not
    had its turn yet.
    """
    return QueuedRun(
        carrier_id,
        rank_ahead(ids.made_at_ms(int(row.id, 16))),
        row.id,
        messages=1,
        send_id=row.send_id,
        segments=row.segments,
        prefix=back.prefix,
        attempt=back.attempt,
        not_before_ms=back.not_before_ms,
        expires_at_ms=back.expires_at_ms,
    )


@dataclass(slots=True)
class Changes:
    """Collects all that a turn has to store."""

    now_ms: int
    messages: dict[str, MessageRow]
    # by message: its parts come back as one
    requeued: dict[str, Requeued] = field(default_factory=dict)

    @classmethod
    def of(cls, now_ms: int, locked: Iterable[LockedMessage]) -> "Changes":
        """Returns no changes yet of messages that were locked."""
        return cls(now_ms, {message.id: row_of(message) for message in locked})

    def requeue(self, message_id: str, back: Requeued) -> None:
        """Notes that a message goes back to the queue. If several of its parts do, the highest
        number of tries counts. A claim takes all missing parts with one number. With a lower one,
        the late answer to a part could be taken for the answer to its next try.
        """
        known = self.requeued.get(message_id)
        self.requeued[message_id] = (
            back
            if known is None
            else known._replace(
                attempt=max(known.attempt, back.attempt),
                not_before_ms=max(known.not_before_ms, back.not_before_ms),
            )
        )
