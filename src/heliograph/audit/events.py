"""Proves the events. Each state that a message reached has one event if an endpoint was to hear of
it; no event is without its change; and each event waits for, or was finished with, each endpoint
that was to hear of it. Of texts that came in, `received.py` proves the same,
and `opted_out.py` that no opt-out lacks its event.

Messages, events and what became of those are each read once, in the order of ids; where that is not
a table's own, the database sorts.
"""

from collections.abc import Iterator
from itertools import chain, groupby, islice
from operator import attrgetter
from typing import Any, Final, NamedTuple

import sqlalchemy as sa
from sqlalchemy.engine import Connection

from heliograph.audit.listeners import EndpointsByAccount, endpoints_by_account, must_have_heard
from heliograph.audit.opted_out import verify_opt_outs
from heliograph.audit.received import verify_received
from heliograph.base import ids
from heliograph.base.clock import rfc3339, rfc3339_or_none
from heliograph.database.reads import raw_id, stream, stream_records
from heliograph.messages.changes.events import KIND_OF
from heliograph.messages.read import MESSAGE_PREFIX
from heliograph.messages.retention import EVENTS, MESSAGES, first_kept
from heliograph.messages.states import FAILED
from heliograph.messages.tables import messages
from heliograph.wallet import DISCREPANCIES_MAX, Discrepancy
from heliograph.webhooks import EVENT_PREFIX, endpoints
from heliograph.webhooks.tables import (
    KEPT_MS,
    webhook_deliveries,
    webhook_events,
    webhook_queue,
)

PRUNED_FROM_MS: Final = KEPT_MS - 3_600_000  # older events may have been pruned, or not yet

# Of a body: the message that it is about, and what it shows of it.
_SHOWN: Final = {
    "postgresql": (
        "(body::json -> 'data' ->> 'id') COLLATE \"C\"",
        "body::json -> 'data' ->> 'status'",
        "body::json -> 'data' ->> 'recipient'",
        "body::json -> 'data' -> 'error' ->> 'code'",
    ),
    "sqlite": tuple(
        f"json_extract(body, '$.data.{name}')"
        for name in ("id", "status", "recipient", "error.code")
    ),
}


class _AuditedEvent(NamedTuple):
    """Holds an event, with the text id of the message that it is about. Its own ids are raw."""

    about: str
    id: str
    account_id: str
    sandbox: bool
    kind: str
    at_ms: int
    status: str | None  # these three: as its body shows them
    recipient: str | None
    error_code: str | None


class _EventOfAnyKind(NamedTuple):
    """Holds an event of whatever kind. Its ids are raw."""

    id: str
    account_id: str
    sandbox: bool
    kind: str
    at_ms: int


class _AtEndpoint(NamedTuple):
    """Says that an event waits for an endpoint, or is done with there. Its ids are raw."""

    event_id: str
    endpoint_id: str


class _MessageTimes(NamedTuple):
    """Holds a message, and when it reached which state. Its ids are raw."""

    id: str
    account_id: str
    sandbox: bool
    recipient: int | None
    error_code: str | None
    sent_at_ms: int | None
    delivered_at_ms: int | None
    failed_at_ms: int | None


class _Change(NamedTuple):
    """Describes a state of a message. `at_ms` is None if the message never reached it."""

    account_id: str
    sandbox: bool
    recipient: int | None
    error_code: str | None
    status: str
    at_ms: int | None


def verify_events(tx: Connection, now_ms: int) -> list[Discrepancy]:
    """Returns what is wrong with events: nothing, if all agree, and at most DISCREPANCIES_MAX."""
    listeners = endpoints_by_account(tx)
    if not listeners and not events_size(tx):
        return []
    first_event = first_kept(tx, EVENTS)
    since_ms = max(now_ms - PRUNED_FROM_MS, ids.made_at_ms(int(first_event, 16)))
    return list(
        islice(
            chain(
                _of_messages(tx, listeners, since_ms, first_event),
                verify_received(tx, listeners, since_ms, first_event),
                verify_opt_outs(tx, listeners, since_ms),
                _of_endpoints(tx, listeners, since_ms),
            ),
            DISCREPANCIES_MAX,
        )
    )


def events_size(tx: Connection) -> int:
    """Returns how many events are kept."""
    return int(tx.execute(sa.select(sa.func.count()).select_from(webhook_events)).scalar_one())


# --- messages and their events


def _of_messages(
    tx: Connection, listeners: EndpointsByAccount, since_ms: int, first_event: str
) -> Iterator[Discrepancy]:
    """Yields discrepancies of messages. `first_event` is the id (raw) from which on events are
    there; those of a message have the message's own time.
    """
    first = first_kept(tx, MESSAGES)
    message_events = _MessageEvents(tx, ids.text_of_raw(MESSAGE_PREFIX, first))
    columns = messages.c
    query = sa.select(
        raw_id(columns.id).label("id"),
        raw_id(columns.account_id).label("account_id"),
        columns.sandbox,
        columns.recipient,
        columns.error_code,
        columns.sent_at_ms,
        columns.delivered_at_ms,
        columns.failed_at_ms,
    )
    query = query.where(columns.id >= first).order_by(columns.id)
    for message in stream_records(tx, query, _MessageTimes):
        text_id = ids.text_of_raw(MESSAGE_PREFIX, message.id)
        yield from message_events.before(text_id)
        events = message_events.of(text_id)
        for change in _changes(message):
            kind = KIND_OF[change.status]
            due = (
                change.at_ms is not None
                and message.id >= first_event
                and any(
                    must_have_heard(
                        listeners, message.account_id, message.sandbox, kind, change.at_ms, since_ms
                    )
                )
            )
            of_kind = [event for event in events if event.kind == kind]
            for what in _of_change(text_id, change, of_kind, due=due):
                yield Discrepancy(message.account_id, what)
    yield from message_events.left()


def _changes(message: _MessageTimes) -> Iterator[_Change]:
    """Yields all states that a message can have an event of, also those that it has not reached."""
    reached = (message.sent_at_ms, message.delivered_at_ms, message.failed_at_ms)
    for status, at_ms in zip(KIND_OF, reached, strict=True):
        yield _Change(
            message.account_id,
            message.sandbox,
            message.recipient,
            message.error_code if status == FAILED else None,
            status,
            at_ms,
        )


class _MessageEvents:
    """Reads the events about messages, message by message; it must be asked in the order of ids.
    Those about messages before `first` (text id) are left out.
    """

    def __init__(self, tx: Connection, first: str) -> None:
        events = (event for event in _message_events(tx) if event.about >= first)
        self._groups = groupby(events, key=attrgetter("about"))
        self._about: str | None = None
        self._events: Iterator[_AuditedEvent] = iter(())
        self._advance()

    def _advance(self) -> None:
        self._about, self._events = next(self._groups, (None, iter(())))

    def before(self, message: str) -> Iterator[Discrepancy]:
        """Yields a discrepancy for each event that stands before those of this message: its own
        message is not stored.
        """
        while self._about is not None and self._about < message:
            yield from self._about_none()

    def of(self, message: str) -> list[_AuditedEvent]:
        """Returns the events about a message, after those before it were taken."""
        if self._about != message:
            return []
        events = list(self._events)
        self._advance()
        return events

    def left(self) -> Iterator[Discrepancy]:
        """Yields a discrepancy for each event behind those of the last message: its own message is
        not stored.
        """
        while self._about is not None:
            yield from self._about_none()

    def _about_none(self) -> Iterator[Discrepancy]:
        for event in self._events:
            yield Discrepancy(
                event.account_id,
                f"{_event(event.id)} is about {self._about}, which is not stored",
            )
        self._advance()


def _of_change(
    message: str, change: _Change, events: list[_AuditedEvent], *, due: bool
) -> Iterator[str]:
    """Yields what is wrong between one state of one message and the events that tell of it."""
    event_kind, at_ms = KIND_OF[change.status], change.at_ms
    if due and not events:
        yield (
            f"there is no event {event_kind} of {message}, which happened at"
            f" {rfc3339_or_none(at_ms)}"
        )
    if len(events) > 1:
        yield (
            f"there are {len(events)} events {event_kind} of {message}:"
            f" {', '.join(_event(event.id) for event in events)}"
        )
    for event in events:
        if event.at_ms != at_ms:
            yield (
                f"{_event(event.id)} says that {event_kind} of {message} happened at"
                f" {rfc3339(event.at_ms)}, but it"
                f" {'never happened' if at_ms is None else f'happened at {rfc3339(at_ms)}'}"
            )
        elif (event.account_id, event.sandbox) != (change.account_id, change.sandbox):
            yield (
                f"{_event(event.id)}, {event_kind} of {message}, belongs to another account, or to"
                " the other mode"
            )
        elif (event.status, event.error_code) != (change.status, change.error_code):
            yield (
                f"{_event(event.id)}, {event_kind} of {message}, shows the message as"
                f" {event.status} (error {event.error_code})"
            )
        # a message forgets it after retention
        elif change.recipient is not None and event.recipient != str(change.recipient):
            yield f"{_event(event.id)}, {event_kind} of {message}, shows another recipient"


def _message_events(tx: Connection) -> Iterator[_AuditedEvent]:
    """Yields events about messages, in the order of the messages."""
    columns = webhook_events.c
    about, status, recipient, error_code = (
        sa.literal_column(expression, sa.Text) for expression in _SHOWN[tx.dialect.name]
    )
    query = sa.select(
        about.label("about"),
        raw_id(columns.id).label("id"),
        raw_id(columns.account_id).label("account_id"),
        columns.sandbox,
        columns.kind,
        columns.created_at_ms.label("at_ms"),
        status.label("status"),
        recipient.label("recipient"),
        error_code.label("error_code"),
    )
    query = query.where(columns.kind.in_(KIND_OF.values())).order_by("about")
    for event in stream_records(tx, query, _AuditedEvent):
        yield event if event.about else event._replace(about="nothing")


# --- events and who was to hear of them


def _of_endpoints(
    tx: Connection, listeners: EndpointsByAccount, since_ms: int
) -> Iterator[Discrepancy]:
    """Checks that each event is there once for each endpoint: in its queue, or among its finished
    deliveries.
    """
    placed = groupby(_placed(tx), key=attrgetter("event_id"))
    of_event, places = next(placed, (None, iter(())))
    columns = webhook_events.c
    query = sa.select(
        raw_id(columns.id).label("id"),
        raw_id(columns.account_id).label("account_id"),
        columns.sandbox,
        columns.kind,
        columns.created_at_ms.label("at_ms"),
    ).order_by(columns.id)
    for event in stream_records(tx, query, _EventOfAnyKind):
        while of_event is not None and of_event < event.id:  # of an event that was pruned first
            of_event, places = next(placed, (None, iter(())))
        found = list[str]()
        if of_event == event.id:
            found = [place.endpoint_id for place in places]
            of_event, places = next(placed, (None, iter(())))
        for listener in must_have_heard(
            listeners, event.account_id, event.sandbox, event.kind, event.at_ms, since_ms
        ):
            if listener.endpoint_id not in found:
                yield Discrepancy(
                    event.account_id,
                    f"{_event(event.id)} neither waits for {_endpoint(listener.endpoint_id)}"
                    " nor has an outcome there",
                )
        for endpoint_id in sorted(
            {endpoint_id for endpoint_id in found if found.count(endpoint_id) > 1}
        ):
            yield Discrepancy(
                event.account_id,
                f"{_event(event.id)} is stored for {_endpoint(endpoint_id)} more than once",
            )


def _placed(tx: Connection) -> Iterator[_AtEndpoint]:
    """Yields all that waits and all that is over, by event."""
    waits, over = webhook_queue.c, webhook_deliveries.c
    both = (
        sa.union_all(
            sa.select(waits.event_id, waits.endpoint_id), sa.select(over.event_id, over.endpoint_id)
        )
        .subquery()
        .c
    )
    query: Any = sa.select(raw_id(both.event_id), raw_id(both.endpoint_id)).order_by(both.event_id)
    return (_AtEndpoint(event_id, endpoint_id) for event_id, endpoint_id in stream(tx, query))


def _event(event_id: str) -> str:
    return f"the event {ids.text_of_raw(EVENT_PREFIX, event_id)}"


def _endpoint(endpoint_id: str) -> str:
    return f"the endpoint {endpoints.text_id(endpoint_id)}"
