"""Shows the operator where each segment of a message is."""

from typing import Any, NamedTuple

import sqlalchemy as sa
from sqlalchemy.engine import Connection

from heliograph.base.paging import CLOCK_SLACK_MS
from heliograph.messages.doubt.trace import TracedMessage, decisions
from heliograph.messages.read.message import Message
from heliograph.messages.states import QUEUED
from heliograph.messages.tables import carrier_refs, queue


class Segment(NamedTuple):
    """Says where a segment is. `since_ms` and `attempt` are those of its submission, or of its
    place in the queue. `ref` is the carrier's id.
    """

    number: int
    state: str
    carrier_id: int | None = None
    since_ms: int | None = None
    attempt: int | None = None
    resent: bool = False
    ref: str | None = None
    receipt: str | None = None
    receipt_error: str | None = None


def segments(tx: Connection, traced: TracedMessage) -> list[Segment]:
    """Returns each segment of a message, in order."""
    waiting = _waiting(tx, traced.message) if traced.message.status == QUEUED else None
    refs = _refs(tx, traced)
    traced_segments = []
    for number in range(1, traced.message.segments + 1):
        bit = 1 << (number - 1)
        segment = Segment(number, "not accepted", resent=bool(traced.parts_resent & bit))
        submission = next((each for each in traced.in_flight if each.parts & bit), None)
        ref = next((each for each in refs if each.parts & bit), None)
        if traced.parts_accepted & bit:
            segment = segment._replace(
                state="delivered" if traced.parts_delivered & bit else "accepted"
            )
        elif submission is not None:
            segment = segment._replace(
                state=submission.state,
                carrier_id=submission.carrier_id,
                since_ms=submission.since_ms,
                attempt=submission.attempt,
            )
        elif waiting is not None:
            segment = segment._replace(
                state="queued", carrier_id=waiting.carrier_id, attempt=waiting.attempt
            )
        if ref is not None:
            segment = segment._replace(
                carrier_id=ref.carrier_id,
                since_ms=ref.created_at_ms,
                ref=ref.ref,
                receipt=ref.receipt_state,
                receipt_error=ref.receipt_error,
            )
        traced_segments.append(segment)
    return traced_segments


class _NextAttempt(NamedTuple):
    """Says which carrier a message waits for, and which attempt comes next."""

    carrier_id: int
    attempt: int


def _waiting(tx: Connection, message: Message) -> _NextAttempt | None:
    """Returns which attempt comes next by the run of the queue that the message stands in, or None
    if it stands in none.
    """
    query = sa.select(
        queue.c.first_id, queue.c["count"].label("messages"), queue.c.carrier_id, queue.c.attempt
    ).where(queue.c.send_id == message.send_id, queue.c.first_id <= message.id)
    number = int(message.id, 16)
    return next(
        (
            _NextAttempt(row.carrier_id, row.attempt)
            for row in tx.execute(query)
            if number < int(row.first_id, 16) + row.messages
        ),
        None,
    )


def _refs(tx: Connection, traced: TracedMessage) -> list[Any]:
    """Returns rows of `carrier_refs`, newest first. They are looked up by their age, because there
    is no index by message: from when the message was made until it was sent, or the operator last
    decided about it.
    """
    columns = carrier_refs.c
    message = traced.message
    query = sa.select(
        columns.carrier_id,
        columns.parts,
        columns.ref,
        columns.created_at_ms,
        columns.receipt_state,
        columns.receipt_error,
    ).where(
        columns.message_id == message.id,
        columns.created_at_ms >= message.created_at_ms - CLOCK_SLACK_MS,
    )
    if message.sent_at_ms is not None:
        last_ms = max(
            message.sent_at_ms, *(decision.decided_at_ms for decision in decisions(tx, traced)), 0
        )
        query = query.where(columns.created_at_ms <= last_ms + CLOCK_SLACK_MS)
    return list(tx.execute(query.order_by(columns.created_at_ms.desc())))
