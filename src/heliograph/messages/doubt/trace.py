"""Shows messages as the operator sees them: those of all accounts, and which ones are in doubt."""

from collections import defaultdict
from collections.abc import Iterable, Sequence
from typing import Any, Final, NamedTuple

import sqlalchemy as sa
from sqlalchemy.engine import Connection

from heliograph.accounts.tables import accounts
from heliograph.base import ids
from heliograph.base.errors import NotFound
from heliograph.base.forms import quote_value
from heliograph.base.paging import ALWAYS, CLOCK_SLACK_MS, Span, first_id_of
from heliograph.carriers.smpp.statuses import meaning_of, status_in_words, status_written_in
from heliograph.database.reads import of_every, records_of
from heliograph.messages.read.message import MESSAGE_PREFIX, OTP, SEND_PREFIX, Message
from heliograph.messages.read.query import messages_with
from heliograph.messages.read.report_page import LOOKED_AT_MAX
from heliograph.messages.states import IN_DOUBT, QUEUED, RESEND_AFTER_MS
from heliograph.messages.tables import (
    inflight,
    messages,
    operator_decisions,
    sends,
)

# newest sends with one reference that a list looks at: more make a statement that SQLite refuses
SENDS_OF_REFERENCE_MAX: Final = 200


class MessageFilter(NamedTuple):
    """Selects messages. A field that is None selects all. Ids are raw. `in_doubt_since_ms` selects
    messages whose doubts are all at least that old, `since_id` those from this id on.
    """

    account_id: str | None = None
    carrier_id: int | None = None
    status: str | None = None
    in_doubt_since_ms: int | None = None
    before: str | None = None
    since_id: str | None = None
    among: Sequence[str] | None = None
    send_id: str | None = None
    recipient: int | None = None
    sender: str | None = None  # in whatever case
    reference: str | None = None
    error: str | int | None = None  # an error code, or the command_status that the carrier answered
    span: Span = ALWAYS

    @property
    def is_looked_up(self) -> bool:
        """Returns whether an index leads to these messages, and not a look through all."""
        return (self.recipient, self.reference, self.send_id) != (None, None, None)


class UnansweredSubmission(NamedTuple):
    """Describes a submission without an answer. `parts` has a bit for each of its segments."""

    parts: int
    carrier_id: int
    attempt: int
    state: str
    since_ms: int
    expires_at_ms: int


class TracedMessage(NamedTuple):
    """Holds a message with its account, the carrier that it was accepted for, and its submissions
    that have no answer.
    """

    message: Message
    account_id: str
    carrier_id: int
    parts_accepted: int
    parts_delivered: int
    parts_resent: int
    in_flight: list[UnansweredSubmission]

    @property
    def doubts(self) -> list[UnansweredSubmission]:
        return [submission for submission in self.in_flight if submission.state == IN_DOUBT]


class RecordedDecision(NamedTuple):
    """Holds what an operator has decided about a message."""

    decision: str
    parts: int
    carrier_id: int
    decided_by: str
    reason: str
    decided_at_ms: int


_TRACED: Final = messages_with(Message._fields).add_columns(
    messages.c.account_id,
    messages.c.carrier_id,
    messages.c.parts_accepted,
    messages.c.parts_delivered,
    messages.c.parts_resent,
)


def raw_of(message_id: str) -> str:
    """Returns the raw form of a message's id. Raises NotFound when it is malformed."""
    raw = ids.raw_of_text(MESSAGE_PREFIX, message_id)
    if raw is None:
        raise NotFound(f"There is no message {quote_value(message_id)}.")
    return raw


def find_states(tx: Connection, message_ids: Iterable[str]) -> dict[str, tuple[str, str | None]]:
    """Returns the status and the error code of each of these messages, by raw id. Raises NotFound
    for the first one that does not exist.
    """
    raws = {raw_of(message_id): message_id for message_id in message_ids}
    query = sa.select(messages.c.id, messages.c.status, messages.c.error_code).where(
        messages.c.id.in_(list(raws))
    )
    states: dict[str, tuple[str, str | None]] = {
        row.id: (row.status, row.error_code) for row in tx.execute(query)
    }
    for raw, message_id in raws.items():
        if raw not in states:
            raise NotFound(f"There is no message {quote_value(message_id)}.")
    return states


def numbers(parts: int) -> list[int]:
    """Returns the segments whose bits are set, counted from 1."""
    return [number for number in range(1, parts.bit_length() + 1) if parts >> (number - 1) & 1]


def messages_in_doubt(tx: Connection, wanted: MessageFilter, limit: int) -> list[TracedMessage]:
    """Returns messages of which something is in doubt, newest first."""
    query = (
        sa.select(inflight.c.message_id)
        .where(inflight.c.state == IN_DOUBT)
        .group_by(inflight.c.message_id)
    )
    query = _narrow(tx, query, wanted).order_by(inflight.c.message_id.desc()).limit(limit)
    return traced_by_ids(tx, list(tx.execute(query).scalars()))


def doubts_by_carrier(tx: Connection, wanted: MessageFilter) -> dict[int, list[tuple[str, int]]]:
    """Returns, for each carrier, the messages that are in doubt with it (raw ids), and how many
    submissions of each.
    """
    submissions = sa.func.count().label("submissions")
    query = sa.select(inflight.c.carrier_id, inflight.c.message_id, submissions).where(
        inflight.c.state == IN_DOUBT
    )
    query = _narrow(tx, query.group_by(inflight.c.carrier_id, inflight.c.message_id), wanted)
    by_carrier: dict[int, list[tuple[str, int]]] = defaultdict(list)
    for row in tx.execute(query):
        by_carrier[row.carrier_id].append((row.message_id, row.submissions))
    return dict(by_carrier)


def _narrow(tx: Connection, query: Any, wanted: MessageFilter) -> Any:
    if wanted.carrier_id is not None:
        query = query.where(inflight.c.carrier_id == wanted.carrier_id)
    if wanted.in_doubt_since_ms is not None:
        query = query.having(sa.func.max(inflight.c.since_ms) <= wanted.in_doubt_since_ms)
    if wanted.among is not None:
        query = query.where(inflight.c.message_id.in_(wanted.among))
    if conditions := [*_of_message(tx, wanted), *_bounds(wanted)]:
        query = query.join_from(inflight, messages, messages.c.id == inflight.c.message_id).join(
            sends, sends.c.id == messages.c.send_id
        )
        query = query.where(*conditions)
    return query


def _of_message(tx: Connection, filters: MessageFilter) -> list[sa.ColumnElement[bool]]:
    """Returns the conditions for messages and their sends."""
    conditions = [
        messages.c[name] == value
        for name in ("account_id", "status", "recipient")
        if (value := getattr(filters, name)) is not None
    ]
    if filters.account_id is None and filters.recipient is not None:
        conditions.append(of_every(tx, messages.c.account_id, sa.select(accounts.c.id)))
    if filters.send_id is not None:
        last = tx.execute(
            sa.select(sends.c.message_count).where(sends.c.id == filters.send_id)
        ).scalar()
        number = int(filters.send_id, 16) + (last or 0)
        conditions.append(messages.c.id.between(filters.send_id, ids.raw_of_number(number)))
    if filters.sender is not None:
        conditions.append(sa.func.lower(sends.c.sender) == filters.sender.lower())
    if filters.reference is not None:
        conditions.append(_of_sends(tx, filters))
    if isinstance(filters.error, int):
        conditions.append(messages.c.error_message.like(f"%{status_in_words(filters.error)}%"))
    elif filters.error is not None:
        conditions.append(messages.c.error_code == filters.error)
    if filters.span.since_ms is not None:
        conditions.append(sends.c.created_at_ms >= filters.span.since_ms)
    if filters.span.until_ms is not None:
        conditions.append(sends.c.created_at_ms < filters.span.until_ms)
    return conditions


def _of_sends(tx: Connection, wanted: MessageFilter) -> sa.ColumnElement[bool]:
    """Returns the condition for messages of the newest sends with the reference: theirs are the
    ids that follow the send's (tables.py).
    """
    whose = (
        of_every(tx, sends.c.account_id, sa.select(accounts.c.id))
        if wanted.account_id is None
        else sends.c.account_id == wanted.account_id
    )
    query = sa.select(sends.c.id, sends.c.message_count).where(
        whose, sends.c.reference == wanted.reference
    )
    if wanted.before is not None:
        query = query.where(sends.c.id < wanted.before)
    found = tx.execute(query.order_by(sends.c.id.desc()).limit(SENDS_OF_REFERENCE_MAX)).all()
    return sa.or_(
        sa.false(),
        *(
            messages.c.id.between(send.id, ids.raw_of_number(int(send.id, 16) + send.message_count))
            for send in found
        ),
    )


def _bounds(wanted: MessageFilter) -> list[sa.ColumnElement[bool]]:
    """Returns the condition for `before` and, roughly, for the span, as a range of the primary
    key.
    """
    bounds = [] if wanted.before is None else [messages.c.id < wanted.before]
    if wanted.since_id is not None:
        bounds.append(messages.c.id >= wanted.since_id)
    if wanted.span.since_ms is not None:
        bounds.append(messages.c.id >= first_id_of(wanted.span.since_ms - CLOCK_SLACK_MS))
    if wanted.span.until_ms is not None:
        bounds.append(messages.c.id < first_id_of(wanted.span.until_ms + CLOCK_SLACK_MS))
    return bounds


def newest(
    tx: Connection, wanted: MessageFilter, limit: int
) -> tuple[list[TracedMessage], str | None]:
    """Returns messages, newest first, of the LOOKED_AT_MAX below `wanted.before`, and where to
    go on (raw) when there may be some beyond those. Those of one recipient or reference are
    looked up, however far back they are.
    """
    window, oldest = _bounds(wanted), None
    if not wanted.is_looked_up:
        oldest = tx.execute(
            sa.select(messages.c.id)
            .where(*window)
            .order_by(messages.c.id.desc())
            .offset(LOOKED_AT_MAX - 1)
            .limit(1)
        ).scalar()
    if oldest is not None:
        window.append(messages.c.id >= oldest)
    if wanted.carrier_id is not None:
        window.append(messages.c.carrier_id == wanted.carrier_id)
    rows = _trace(
        tx,
        _TRACED.where(*window, *_of_message(tx, wanted))
        .order_by(messages.c.id.desc())
        .limit(limit),
    )
    return rows, oldest if len(rows) < limit else None


def trace_message(tx: Connection, message_id: str) -> TracedMessage:
    """Returns the message with this id in text form. Raises NotFound."""
    rows = _trace(tx, _TRACED.where(messages.c.id == raw_of(message_id)))
    if not rows:
        raise NotFound(f"There is no message {quote_value(message_id)}.")
    return rows[0]


def owner_of_send(tx: Connection, send_id: str) -> str:
    """Returns the account (raw id) of the send with this id in text form. Raises NotFound."""
    owner_id: str | None = tx.execute(
        sa.select(sends.c.account_id).where(sends.c.id == ids.raw_of_text(SEND_PREFIX, send_id))
    ).scalar()
    if owner_id is None:
        raise NotFound(f"There is no send {quote_value(send_id)}.")
    return owner_id


def traced_by_ids(tx: Connection, message_ids: Sequence[str]) -> list[TracedMessage]:
    """Returns which of these messages (raw ids) exist, newest first."""
    if not message_ids:
        return []
    return _trace(tx, _TRACED.where(messages.c.id.in_(message_ids)).order_by(messages.c.id.desc()))


def _trace(tx: Connection, query: "sa.Select[Any]") -> list[TracedMessage]:
    traced = {}
    for row in tx.execute(query):
        values = row._asdict()
        message = Message(**{name: values.pop(name) for name in Message._fields})
        traced[message.id] = TracedMessage(message, **values, in_flight=[])
    columns = [inflight.c[name] for name in UnansweredSubmission._fields]
    query = sa.select(inflight.c.message_id, *columns).where(
        inflight.c.message_id.in_(list(traced))
    )
    for row in tx.execute(query.order_by(inflight.c.message_id, inflight.c.part)):
        values = row._asdict()
        traced[values.pop("message_id")].in_flight.append(UnansweredSubmission(**values))
    return list(traced.values())


def expires_at_ms(tx: Connection, traced: TracedMessage) -> int:
    """Returns when the validity of a message ends."""
    query = sa.select(sends.c.expires_at_ms).where(sends.c.id == traced.message.send_id)
    at_ms: int = tx.execute(query).scalar_one()
    return at_ms


def failure(message: Message) -> str | None:
    """Returns why a message failed, in plain words: what the carrier's command_status means, else
    what stands in its error.
    """
    status = status_written_in(message.error_message)
    return message.error_message if status is None else f"{meaning_of(status)} (0x{status:08X})"


def resend_at_ms(traced: TracedMessage, *, carriers_that_resend: frozenset[int]) -> int | None:
    """Returns when the first of what is in doubt will be sent once more by itself, or None when
    it will not.
    """
    if traced.message.status != QUEUED or traced.message.type == OTP:
        return None
    due = [
        doubt.since_ms + RESEND_AFTER_MS
        for doubt in traced.doubts
        if doubt.carrier_id in carriers_that_resend and not doubt.parts & traced.parts_resent
    ]
    return min((at_ms for at_ms in due if at_ms < traced.doubts[0].expires_at_ms), default=None)


def decisions(tx: Connection, traced: TracedMessage) -> list[RecordedDecision]:
    """Returns the decisions about a message, oldest first."""
    columns = [operator_decisions.c[name] for name in RecordedDecision._fields]
    query = sa.select(*columns).where(operator_decisions.c.message_id == traced.message.id)
    return records_of(RecordedDecision, tx.execute(query.order_by(operator_decisions.c.id)))
