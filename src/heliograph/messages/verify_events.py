"""Proof of the events: each state that a message came to is one event where an endpoint was to hear of it, no event is without its change, and each
event waits for, or has come to an end with, each endpoint that was to hear of it.

Messages, events and what became of those are each read once, in the order of ids; where that is not a table's own, the database sorts.
"""

from collections.abc import Iterator
from itertools import chain, groupby, islice
from operator import itemgetter
from typing import Any, Final, NamedTuple

import sqlalchemy as sa
from sqlalchemy.engine import Connection

from heliograph.accounts.tables import accounts
from heliograph.base import ids
from heliograph.base.clock import rfc3339, rfc3339_or_none
from heliograph.messages.events import KIND_OF
from heliograph.messages.tables import messages
from heliograph.wallet import DISCREPANCIES_MAX, Discrepancy, raw_id, streamed
from heliograph.webhooks import EVENT_PREFIX
from heliograph.webhooks.tables import KEPT_MS, webhook_deliveries, webhook_endpoints, webhook_events, webhook_queue

HEARS_AFTER_MS: Final = 60_000  # an endpoint is committed some time after it was made, and the clocks of processes differ
PRUNED_FROM_MS: Final = KEPT_MS - 3_600_000  # what is older than this may be gone, or not yet

_ABOUT: Final = {"postgresql": "(body::json -> 'data' ->> 'id') COLLATE \"C\"", "sqlite": "json_extract(body, '$.data.id')"}
_WHICH: Final = itemgetter(0)
_NOBODY: Final[list["_Ear"]] = []

_Ears = dict[tuple[str, bool], list["_Ear"]]  # by account and mode


class _Ear(NamedTuple):
    """An endpoint that was to hear of these kinds, of what happened since then."""

    endpoint_id: str
    kinds: frozenset[str]
    since_ms: int


class _Told(NamedTuple):
    """An event, with the text id of the message that it is about. Its own ids are raw."""

    about: str
    id: str
    account_id: str
    sandbox: bool
    kind: str
    at_ms: int


def verify_events(tx: Connection, now_ms: int) -> list[Discrepancy]:
    """What is wrong with events; nothing, if all agree. At most DISCREPANCIES_MAX."""
    ears = _ears(tx)
    if not ears and not events_size(tx):
        return []
    return list(islice(chain(_of_messages(tx, ears, now_ms), _of_endpoints(tx, ears, now_ms)), DISCREPANCIES_MAX))


def events_size(tx: Connection) -> int:
    """How many events are kept."""
    return int(tx.execute(sa.select(sa.func.count()).select_from(webhook_events)).scalar_one())


def _ears(tx: Connection) -> _Ears:
    """Those of `heliograph listen` come and go: nothing is expected of them."""
    endpoint = webhook_endpoints.c
    hears = (endpoint.account_id == accounts.c.id) | (endpoint.include_customers & (endpoint.account_id == accounts.c.parent_id))
    query = sa.select(raw_id(accounts.c.id), endpoint.sandbox, raw_id(endpoint.id), endpoint.kinds, endpoint.created_at_ms)
    found: _Ears = {}
    for account_id, sandbox, endpoint_id, kinds, created_at_ms in tx.execute(
            query.join_from(accounts, webhook_endpoints, hears).where(endpoint.listens_until_ms.is_(None))):
        found.setdefault((account_id, sandbox), []).append(_Ear(endpoint_id, frozenset(kinds.split(",")), created_at_ms + HEARS_AFTER_MS))
    return found


def _hear(ears: _Ears, account_id: str, sandbox: bool, kind: str, at_ms: int, now_ms: int) -> Iterator[_Ear]:
    """Which of them must have heard of it, as far as that is still kept."""
    if at_ms > now_ms - PRUNED_FROM_MS:
        yield from (ear for ear in ears.get((account_id, sandbox), _NOBODY) if kind in ear.kinds and at_ms >= ear.since_ms)


# --- messages and their events


def _of_messages(tx: Connection, ears: _Ears, now_ms: int) -> Iterator[Discrepancy]:
    told = groupby(_told(tx), key=_WHICH)
    about, events = next(told, (None, iter(())))
    columns = messages.c
    query = sa.select(raw_id(columns.id), raw_id(columns.account_id), columns.sandbox,
                      columns.sent_at_ms, columns.delivered_at_ms, columns.failed_at_ms)
    for message_id, account_id, sandbox, *reached in streamed(tx, query.order_by(columns.id)):
        message = ids.text_of_raw("msg", message_id)
        while about is not None and about < message:
            yield from (Discrepancy(event.account_id, f"{_event(event.id)} is about {about}, which is not there") for event in events)
            about, events = next(told, (None, iter(())))
        of_message: list[_Told] = []
        if about == message:
            of_message = list(events)
            about, events = next(told, (None, iter(())))
        for kind, at_ms in zip(KIND_OF.values(), reached, strict=True):
            due = at_ms is not None and any(_hear(ears, account_id, sandbox, kind, at_ms, now_ms))
            for what in _of_change(message, (account_id, sandbox, kind, at_ms), [event for event in of_message if event.kind == kind], due=due):
                yield Discrepancy(account_id, what)
    while about is not None:
        yield from (Discrepancy(event.account_id, f"{_event(event.id)} is about {about}, which is not there") for event in events)
        about, events = next(told, (None, iter(())))


def _of_change(message: str, change: tuple[str, bool, str, int | None], events: list[_Told], *, due: bool) -> Iterator[str]:
    """One state of one message, and the events that tell of it."""
    account_id, sandbox, kind, at_ms = change
    if due and not events:
        yield f"{kind} of {message}, at {rfc3339_or_none(at_ms)}, is no event"
    if len(events) > 1:
        yield f"{kind} of {message} is {len(events)} events: {', '.join(_event(event.id) for event in events)}"
    for event in events:
        if event.at_ms != at_ms:
            yield f"{_event(event.id)} tells {kind} of {message} at {rfc3339(event.at_ms)}; it was {'never' if at_ms is None else rfc3339(at_ms)}"
        elif (event.account_id, event.sandbox) != (account_id, sandbox):
            yield f"{_event(event.id)} tells {kind} of {message} to another account, or in the other mode"


def _told(tx: Connection) -> Iterator[_Told]:
    """Events about messages, in the order of the messages."""
    columns = webhook_events.c
    about: sa.ColumnElement[str] = sa.literal_column(_ABOUT[tx.dialect.name], sa.Text).label("about")
    query = sa.select(about, raw_id(columns.id), raw_id(columns.account_id), columns.sandbox, columns.kind, columns.created_at_ms)
    for row in streamed(tx, query.where(columns.kind.in_(KIND_OF.values())).order_by("about")):
        yield _Told(row[0] or "nothing", *row[1:])


# --- events and who was to hear of them


def _of_endpoints(tx: Connection, ears: _Ears, now_ms: int) -> Iterator[Discrepancy]:
    """Each event is once with each endpoint: in its queue, or among what it is done with."""
    placed = groupby(_placed(tx), key=_WHICH)
    of_event, places = next(placed, (None, iter(())))
    columns = webhook_events.c
    query = sa.select(raw_id(columns.id), raw_id(columns.account_id), columns.sandbox, columns.kind, columns.created_at_ms).order_by(columns.id)
    for event_id, account_id, sandbox, kind, at_ms in streamed(tx, query):
        while of_event is not None and of_event < event_id:  # of an event that was pruned first
            of_event, places = next(placed, (None, iter(())))
        found = list[str]()
        if of_event == event_id:
            found = [endpoint_id for _, endpoint_id in places]
            of_event, places = next(placed, (None, iter(())))
        for ear in _hear(ears, account_id, sandbox, kind, at_ms, now_ms):
            if ear.endpoint_id not in found:
                yield Discrepancy(account_id, f"{_event(event_id)} neither waits for {_endpoint(ear.endpoint_id)} nor has come to an end with it")
        for endpoint_id in sorted({endpoint_id for endpoint_id in found if found.count(endpoint_id) > 1}):
            yield Discrepancy(account_id, f"{_event(event_id)} stands with {_endpoint(endpoint_id)} more than once")


def _placed(tx: Connection) -> Iterator[tuple[Any, Any]]:
    """(event, endpoint) of all that waits and all that is over, by event."""
    waits, over = webhook_queue.c, webhook_deliveries.c
    both = sa.union_all(sa.select(waits.event_id, waits.endpoint_id), sa.select(over.event_id, over.endpoint_id)).subquery().c
    query: Any = sa.select(raw_id(both.event_id), raw_id(both.endpoint_id)).order_by(both.event_id)
    return ((row[0], row[1]) for row in streamed(tx, query))


def _event(event_id: str) -> str:
    return f"the event {ids.text_of_raw(EVENT_PREFIX, event_id)}"


def _endpoint(endpoint_id: str) -> str:
    return f"the endpoint {ids.text_of_raw('whe', endpoint_id)}"
