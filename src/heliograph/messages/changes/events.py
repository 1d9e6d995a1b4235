"""A message has one event for each state that it reaches, with the message as its record shows
it.
"""

from collections.abc import Iterator
from typing import Final

from heliograph.base import ids
from heliograph.messages.changes.collect import Changes, MessageRow
from heliograph.messages.changes.message_lock import LockedMessage
from heliograph.messages.read.message import Message, as_record
from heliograph.messages.states import DELIVERED, FAILED, SENT
from heliograph.webhooks import Event, Listeners, parse_listeners

KIND_OF: Final = {SENT: "message.sent", DELIVERED: "message.delivered", FAILED: "message.failed"}
# In the event's id, by which it is known again when a change is made twice: after a restore, or
# when nobody heard of its commit.
_PLACE_OF: Final = {SENT: 1, DELIVERED: 2, FAILED: 3}


def listeners_of_changes(changes: Changes) -> Listeners:
    """Returns who hears of the accounts whose messages have moved on."""
    return parse_listeners(
        {
            row.locked.endpoints
            for row in changes.messages.values()
            if row.locked is not None and row.locked.endpoints is not None and any(_reached(row))
        }
    )


def events_of(changes: Changes, listeners: Listeners) -> list[Event]:
    """Returns the events that they want to hear."""
    found = list[Event]()
    for row in changes.messages.values():
        if row.locked is not None and row.locked.endpoints is not None:
            found += [
                _event(row, row.locked, status, at_ms)
                for status, at_ms in _reached(row)
                if listeners.listeners_of(row.account_id, sandbox=row.sandbox, kind=KIND_OF[status])
            ]
    return found


def event_ids(message: Message) -> list[str]:
    """Returns the raw ids of the events that a message has had so far, in order. An event is stored
    only if somebody hears of it.
    """
    return [
        ids.raw_of_number(ids.derived_number(int(message.id, 16), _PLACE_OF[status], at_ms))
        for status, at_ms in (
            (SENT, message.sent_at_ms),
            (DELIVERED, message.delivered_at_ms),
            (FAILED, message.failed_at_ms),
        )
        if at_ms is not None
    ]


def _reached(row: MessageRow) -> Iterator[tuple[str, int]]:
    """Yields the states that a message came to in this transaction, and when."""
    for status, at_ms in (
        (SENT, row.sent_at_ms),
        (DELIVERED, row.delivered_at_ms),
        (FAILED, row.failed_at_ms),
    ):
        if at_ms is not None:
            yield status, at_ms


def _event(row: MessageRow, locked: LockedMessage, status: str, at_ms: int) -> Event:
    """Returns the event. A message that was sent and went on within one transaction has been sent
    first: the event of `sent` shows it as it was then.
    """
    message = _message(row, locked)
    if status == SENT and message.status != SENT:
        message = message._replace(
            status=SENT,
            error_code=None,
            error_message=None,
            refunded=0,
            delivered_at_ms=None,
            failed_at_ms=None,
        )
    return Event(
        row.account_id,
        bool(row.sandbox),
        KIND_OF[status],
        at_ms,
        as_record(message),
        ids.derived_number(int(row.id, 16), _PLACE_OF[status], at_ms),
    )


def _message(row: MessageRow, locked: LockedMessage) -> Message:
    """Returns the message as it is stored in this transaction: the first time of each state
    stays.
    """
    return Message(
        id=row.id,
        send_id=row.send_id,
        type=locked.type or "",
        sender=locked.sender or "",
        recipient=row.recipient,
        country_code=locked.country_code,
        text=locked.text,
        encoding=locked.encoding or "",
        segments=row.segments,
        credits=row.credits,
        refunded=row.refunded,
        status=row.status,
        error_code=row.error_code,
        error_message=row.error_message,
        reference=locked.reference,
        sandbox=row.sandbox,
        created_at_ms=locked.created_at_ms or 0,
        sent_at_ms=locked.sent_at_ms or row.sent_at_ms,
        delivered_at_ms=locked.delivered_at_ms or row.delivered_at_ms,
        failed_at_ms=locked.failed_at_ms or row.failed_at_ms,
        campaign_id=locked.campaign_id,
    )
