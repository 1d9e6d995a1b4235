"""Proves the events of texts that came in: each text of an account has one event
`message.received` if an endpoint was to hear of it, and no event is without its text.
"""

from collections.abc import Iterator
from itertools import groupby
from operator import attrgetter
from typing import Final, NamedTuple

import sqlalchemy as sa
from sqlalchemy.engine import Connection

from heliograph.audit.listeners import EndpointsByAccount, must_have_heard
from heliograph.base import ids
from heliograph.base.clock import rfc3339
from heliograph.database.reads import raw_id, stream_records
from heliograph.inbound.tables import inbound
from heliograph.messages.read import INBOUND_PREFIX
from heliograph.wallet import Discrepancy
from heliograph.webhooks import EVENT_PREFIX, MESSAGE_RECEIVED
from heliograph.webhooks.tables import webhook_events

# Of a body: the text that it is about, and who wrote it.
_SHOWN_OF_TEXTS: Final = {
    "postgresql": (
        "(body::json -> 'data' ->> 'id') COLLATE \"C\"",
        "body::json -> 'data' ->> 'from'",
    ),
    "sqlite": ("json_extract(body, '$.data.id')", "json_extract(body, '$.data.from')"),
}


class _ReceivedEvent(NamedTuple):
    """Holds an event, with the text id of the text that it is about. Its own ids are raw."""

    about: str
    id: str
    account_id: str
    sandbox: bool
    at_ms: int
    sender: str | None


class _ReceivedText(NamedTuple):
    """Holds a text that is stored. Its ids are raw."""

    id: str
    account_id: str | None
    sandbox: bool
    sender: str | None

    @property
    def stored_at_ms(self) -> int:
        return ids.made_at_ms(int(self.id, 16))


def verify_received(
    tx: Connection, listeners: EndpointsByAccount, since_ms: int, first_event: str
) -> Iterator[Discrepancy]:
    """Yields discrepancies of texts that came in. `first_event` is the id (raw) from which on
    events are there; a text's event has the time of the text's own id.
    """
    groups = groupby(_text_events(tx), key=attrgetter("about"))
    nothing = ("", iter(()))
    about, group = next(groups, nothing)
    for text in _stored_texts(tx):
        text_id = ids.text_of_raw(INBOUND_PREFIX, text.id)
        while about and about < text_id:
            yield from _without_text(group)
            about, group = next(groups, nothing)
        events = list[_ReceivedEvent]()
        if about == text_id:
            events = list(group)
            about, group = next(groups, nothing)
        due = (
            text.account_id is not None
            and text.id >= first_event
            and any(
                must_have_heard(
                    listeners,
                    text.account_id,
                    text.sandbox,
                    MESSAGE_RECEIVED,
                    text.stored_at_ms,
                    since_ms,
                )
            )
        )
        owner = text.account_id or (events[0].account_id if events else "")
        for what in _of_text(text, text_id, events, due=due):
            yield Discrepancy(owner, what)
    while about:
        yield from _without_text(group)
        about, group = next(groups, nothing)


def _of_text(
    text: _ReceivedText, text_id: str, events: list[_ReceivedEvent], *, due: bool
) -> Iterator[str]:
    """Yields what is wrong between one text and the events that tell of it."""
    at_ms = text.stored_at_ms
    if due and not events:
        yield (
            f"there is no event {MESSAGE_RECEIVED} of {text_id}, which was stored at"
            f" {rfc3339(at_ms)}"
        )
    if len(events) > 1:
        named = ", ".join(_name_of(event) for event in events)
        yield f"there are {len(events)} events {MESSAGE_RECEIVED} of {text_id}: {named}"
    for event in events:
        if event.at_ms != at_ms:
            yield (
                f"{_name_of(event)} says that {MESSAGE_RECEIVED} of {text_id} happened at"
                f" {rfc3339(event.at_ms)}, but it happened at {rfc3339(at_ms)}"
            )
        elif (event.account_id, event.sandbox) != (text.account_id, text.sandbox):
            yield (
                f"{_name_of(event)}, {MESSAGE_RECEIVED} of {text_id}, belongs to another account,"
                " or to the other mode"
            )
        # a text forgets it after retention
        elif text.sender is not None and event.sender != text.sender:
            yield f"{_name_of(event)}, {MESSAGE_RECEIVED} of {text_id}, shows another sender"


def _without_text(events: Iterator[_ReceivedEvent]) -> Iterator[Discrepancy]:
    for event in events:
        yield Discrepancy(
            event.account_id, f"{_name_of(event)} is about {event.about}, which is not stored"
        )


def _stored_texts(tx: Connection) -> Iterator[_ReceivedText]:
    columns = inbound.c
    query = sa.select(
        raw_id(columns.id).label("id"),
        raw_id(columns.account_id).label("account_id"),
        columns.sandbox,
        columns.sender,
    ).order_by(columns.id)
    return stream_records(tx, query, _ReceivedText)


def _text_events(tx: Connection) -> Iterator[_ReceivedEvent]:
    """Yields the events about texts, in the order of the texts."""
    columns = webhook_events.c
    about, sender = (
        sa.literal_column(expression, sa.Text) for expression in _SHOWN_OF_TEXTS[tx.dialect.name]
    )
    query = sa.select(
        about.label("about"),
        raw_id(columns.id).label("id"),
        raw_id(columns.account_id).label("account_id"),
        columns.sandbox,
        columns.created_at_ms.label("at_ms"),
        sender.label("sender"),
    )
    of_texts = query.where(columns.kind == MESSAGE_RECEIVED).order_by("about")
    for event in stream_records(tx, of_texts, _ReceivedEvent):
        yield event if event.about else event._replace(about="nothing")


def _name_of(event: _ReceivedEvent) -> str:
    return f"the event {ids.text_of_raw(EVENT_PREFIX, event.id)}"
