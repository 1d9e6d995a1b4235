"""The events of messages: one for each state that a message reaches, with the message as its record shows it."""

from collections.abc import Iterator
from typing import Final

from heliograph.base.hot import HotTx
from heliograph.messages import turn_sql
from heliograph.messages.read import Message, as_record
from heliograph.messages.settle import Changes, MessageRow
from heliograph.messages.states import DELIVERED, FAILED, SENT
from heliograph.webhooks import Event, Listeners, emit, listeners

KIND_OF: Final = {SENT: "message.sent", DELIVERED: "message.delivered", FAILED: "message.failed"}


async def emit_changes(tx: HotTx, changes: Changes) -> None:
    """After they are stored, in the same transaction. What nobody hears costs no statement."""
    moved = [row for row in changes.messages.values() if row.may_be_heard and any(_reached(row))]
    if not moved:
        return
    heard_by = await listeners(tx, {row.account_id for row in moved})
    heard = {row.id: row for row in moved if any(_kinds_heard(heard_by, row))}
    if heard:
        stored = [Message(*row) for row in await turn_sql.records(tx, sorted(heard))]
        await emit(tx, heard_by, [_event(heard[message.id].account_id, message, status, at_ms)
                                  for message in stored for status, at_ms in _reached(heard[message.id])])


def _reached(row: MessageRow) -> Iterator[tuple[str, int]]:
    """The states that a message came to in this transaction, and when."""
    for status, at_ms in ((SENT, row.sent_at_ms), (DELIVERED, row.delivered_at_ms), (FAILED, row.failed_at_ms)):
        if at_ms is not None:
            yield status, at_ms


def _kinds_heard(heard_by: Listeners, row: MessageRow) -> Iterator[str]:
    for status, _ in _reached(row):
        if heard_by.of(row.account_id, sandbox=row.sandbox, kind=KIND_OF[status]):
            yield status


def _event(account_id: str, message: Message, status: str, at_ms: int) -> Event:
    """A message that was sent and went on within one transaction has been sent first: that event shows it as it was then."""
    if status == SENT and message.status != SENT:
        message = message._replace(status=SENT, error_code=None, error_message=None, refunded=0, delivered_at_ms=None, failed_at_ms=None)
    return Event(account_id, bool(message.sandbox), KIND_OF[status], at_ms, as_record(message))
