"""Events are written in the transaction of the change that they tell of, once each, and only if an
endpoint wants them.

There are two steps, because nobody listens to most changes: `load_listeners` reads the endpoints of
the accounts concerned, and `emit` stores what these want to hear.
"""

from collections.abc import Callable, Iterable, Sequence
from functools import lru_cache
from itertools import chain
from typing import Any, Final, NamedTuple

import msgspec
from sqlalchemy.engine import Connection

from heliograph.accounts import text_of_id
from heliograph.base import ids
from heliograph.base.clock import rfc3339
from heliograph.base.json import encode
from heliograph.database.hot import HotTx, run_in
from heliograph.webhooks import events_sql
from heliograph.webhooks.events_sql import EventAccount, ForEndpoint, NearEndpoint, StoredEvent

EVENT_PREFIX: Final = "evt"
DELIVERIES_WAIT: Final = "webhooks"  # something waits for an endpoint


class Event(NamedTuple):
    """Holds a change as it is told: `data` is the record, as the API shows it. `account_id` is raw.

    `number` is that of the event's id, where the change decides it (`ids.derived_number`). If it is
    None, the id is a new one.
    """

    account_id: str
    sandbox: bool
    kind: str
    at_ms: int
    data: dict[str, Any]
    number: int | None = None


class Listener(NamedTuple):
    endpoint_id: str
    kinds: frozenset[str]
    enabled: bool


class Listeners:
    """Holds those of some endpoints that hear of the account beside which each stands."""

    def __init__(self, endpoints: Iterable[NearEndpoint]) -> None:
        self._by_account: dict[tuple[str, bool], list[Listener]] = {}
        self._text_ids: dict[str, str] = {}
        for one in endpoints:
            if one.hears:
                self._text_ids[one.account_id] = text_of_id(
                    one.account_id, is_customer=one.parent_id is not None
                )
                self._by_account.setdefault((one.account_id, one.sandbox), []).append(
                    Listener(
                        one.endpoint_id,
                        frozenset(one.kinds.split(",")),
                        enabled=one.disabled_at_ms is None,
                    )
                )

    def __bool__(self) -> bool:
        return bool(self._by_account)

    def listeners_of(self, account_id: str, *, sandbox: bool, kind: str) -> list[Listener]:
        return [
            listener
            for listener in self._by_account.get((account_id, sandbox), ())
            if kind in listener.kinds
        ]

    def knows(self, account_id: str) -> bool:
        return account_id in self._text_ids

    def text_id_of(self, account_id: str) -> str:
        """Returns the account's id in text form."""
        return self._text_ids[account_id]


class EventRows(NamedTuple):
    """Holds the rows to store for some events, sorted in the order in which they are locked."""

    events: list[StoredEvent]
    waiting: list[ForEndpoint]
    missed: list[ForEndpoint]


# not strict, for in JSON that SQLite writes a boolean is 0 or 1
_DECODER: Final = msgspec.json.Decoder(tuple[NearEndpoint, ...], strict=False)


@lru_cache(4_096)
def _parse(endpoints: str) -> tuple[NearEndpoint, ...]:
    return tuple(
        msgspec.structs.replace(
            one,
            account_id=_raw(one.account_id),
            parent_id=one.parent_id and _raw(one.parent_id),
            endpoint_id=_raw(one.endpoint_id),
            owner_id=_raw(one.owner_id),
        )
        for one in _DECODER.decode(endpoints)
    )


def _raw(id_: str) -> str:
    """Returns a raw id. In JSON that PostgreSQL writes, it has hyphens."""
    return id_.replace("-", "")


def parse_listeners(endpoints: Iterable[str]) -> Listeners:
    """Returns who hears of some accounts. Each text is a JSON array of the endpoints beside one of
    them, with the names of `NearEndpoint`, as a statement reads them beside other rows of the
    account. Raises msgspec.ValidationError for a text that is anything else.
    """
    return Listeners(chain.from_iterable(map(_parse, endpoints)))


async def load_listeners(tx: HotTx, account_ids: Iterable[str]) -> Listeners:
    """Returns who hears of these accounts (raw ids)."""
    return Listeners(
        await events_sql.ENDPOINTS.rows(
            tx, [EventAccount(account_id) for account_id in sorted(set(account_ids))]
        )
    )


async def emit(tx: HotTx, listeners: Listeners, events: Sequence[Event]) -> None:
    """Stores the events that some endpoint wants to hear, and for which endpoints they are."""
    await emit_rows(tx, rows_of(listeners, events))


async def emit_rows(tx: HotTx, rows: EventRows) -> None:
    """Stores what `rows_of` has made. This is the second half of `emit`."""
    await events_sql.store(tx, rows.events, rows.waiting, rows.missed)
    if rows.waiting:
        tx.signals.add(DELIVERIES_WAIT)


def emit_to_listeners(
    tx: Connection, account_id: str, events: Callable[[Listeners], Sequence[Event]]
) -> None:
    """Stores what `events` returns, in an ordinary transaction, if anybody hears of the account.
    All of the events are of this account.
    """
    listeners = run_in(tx, lambda hot: load_listeners(hot, [account_id]))
    if listeners:
        run_in(tx, lambda hot: emit(hot, listeners, events(listeners)))


def rows_of(listeners: Listeners, events: Sequence[Event]) -> EventRows:
    """Returns what is to be stored, with the bodies encoded. This is the first half of `emit`."""
    rows = EventRows([], [], [])
    # a run for each moment: one by one, ids cost as much as all the rest of a row
    next_of: dict[int, int] = {}
    for event in events:
        matching = listeners.listeners_of(event.account_id, sandbox=event.sandbox, kind=event.kind)
        if not matching:
            continue
        number = event.number
        if number is None:
            number = next_of[event.at_ms] if event.at_ms in next_of else ids.new_number(event.at_ms)
            next_of[event.at_ms] = number + 1
        raw = ids.raw_of_number(number)
        body = body_of(
            ids.text_of_number(EVENT_PREFIX, number), event, listeners.text_id_of(event.account_id)
        )
        rows.events.append(
            StoredEvent(raw, event.account_id, event.sandbox, event.kind, body, event.at_ms)
        )
        for listener in matching:
            (rows.waiting if listener.enabled else rows.missed).append(
                ForEndpoint(listener.endpoint_id, event.at_ms, raw)
            )
    return rows


def body_of(event_id: str, event: Event, account_id: str) -> str:
    """Returns what is sent (docs/api.md, "Events and webhooks"), with both ids in text form. It
    is at most 20 kB: a text that we send has at most ten segments, and one that came in and is
    longer is left out of its event.
    """
    return encode(
        {
            "id": event_id,
            "event": event.kind,
            "timestamp": rfc3339(event.at_ms),
            "account_id": account_id,
            "sandbox": event.sandbox,
            "data": event.data,
        }
    ).decode()
