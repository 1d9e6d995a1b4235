"""Events are written in the transaction of the change that they tell of, once each, and only if an endpoint wants them.

Two steps, because most changes are heard by nobody: `listeners` of the accounts concerned, then `emit` of what they want to hear.
"""

from collections.abc import Iterable, Mapping, Sequence
from functools import lru_cache
from typing import Any, Final, NamedTuple

import sqlalchemy as sa
from sqlalchemy.engine import Connection

from heliograph.accounts import text_of_id
from heliograph.accounts.tables import accounts
from heliograph.base import ids
from heliograph.base.clock import rfc3339
from heliograph.base.hot import HotTx
from heliograph.base.json import encode
from heliograph.webhooks import events_sql
from heliograph.webhooks.tables import MISSED, webhook_deliveries, webhook_endpoints, webhook_events, webhook_queue

EVENT_PREFIX: Final = "evt"
NEWS: Final = "webhooks"  # something waits for an endpoint


class Event(NamedTuple):
    """A change as it is told: `data` is the record, as the API shows it. `account_id` is raw.

    `number`: of the event's id, where the change decides it (`ids.derived_number`); None: the id is a new one."""

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
    """The endpoints that hear of some accounts."""

    def __init__(self, rows: Iterable[Sequence[Any]]) -> None:
        self._by_account: dict[tuple[str, bool], list[Listener]] = {}
        self._shown: dict[str, str] = {}
        for account_id, is_customer, endpoint_id, sandbox, kinds, enabled in rows:
            self._shown[account_id] = text_of_id(account_id, is_customer=bool(is_customer))
            self._by_account.setdefault((account_id, bool(sandbox)), []).append(Listener(endpoint_id, frozenset(kinds.split(",")), bool(enabled)))

    def __bool__(self) -> bool:
        return bool(self._by_account)

    def of(self, account_id: str, *, sandbox: bool, kind: str) -> list[Listener]:
        return [listener for listener in self._by_account.get((account_id, sandbox), ()) if kind in listener.kinds]

    def knows(self, account_id: str) -> bool:
        return account_id in self._shown

    def shown(self, account_id: str) -> str:
        """The account's id in text form."""
        return self._shown[account_id]


class Rows(NamedTuple):
    """What is stored of some events, sorted as it is locked."""

    events: list[tuple[Any, ...]]
    waiting: list[tuple[str, int, str]]
    missed: list[tuple[str, int, str]]


@lru_cache(4_096)
def _endpoints(ears: str) -> tuple[tuple[Any, ...], ...]:
    """Of the text that `events_sql.EARS` makes: for each endpoint all of a row of LISTENERS but the account."""
    found = []
    for ear in ears.split(";"):
        endpoint_id, sandbox, enabled, is_customer, kinds = ear.split(" ")
        found.append((is_customer == "1", endpoint_id.replace("-", ""), sandbox == "1", kinds, enabled == "1"))
    return tuple(found)


def listeners_of(ears: Mapping[str, str]) -> Listeners:
    """Who hears of these accounts, by what `events_sql.EARS` said of each."""
    return Listeners((account_id, *endpoint) for account_id, text in ears.items() for endpoint in _endpoints(text))


async def listeners(tx: HotTx, account_ids: Iterable[str]) -> Listeners:
    """Who hears of these accounts (raw ids)."""
    return Listeners(await events_sql.LISTENERS.over(tx, sorted(set(account_ids))))


async def emit(tx: HotTx, heard_by: Listeners, events: Sequence[Event]) -> None:
    """Stores those that somebody wants to hear, and for whom."""
    await emit_rows(tx, rows_of(heard_by, events))


async def emit_rows(tx: HotTx, rows: Rows) -> None:
    """The second half of `emit`."""
    await events_sql.store(tx, rows.events, rows.waiting, rows.missed)
    if rows.waiting:
        tx.news.add(NEWS)


def listeners_now(tx: Connection, account_id: str) -> Listeners:
    """Who hears of one account, in an ordinary transaction."""
    endpoint = webhook_endpoints.c
    hears = (endpoint.account_id == accounts.c.id) | (endpoint.include_customers & (endpoint.account_id == accounts.c.parent_id))
    return Listeners(tx.execute(
        sa.select(accounts.c.id, accounts.c.parent_id.is_not(None), endpoint.id, endpoint.sandbox, endpoint.kinds, endpoint.disabled_at_ms.is_(None))
        .join_from(accounts, webhook_endpoints, hears).where(accounts.c.id == account_id)))


def emit_now(tx: Connection, heard_by: Listeners, events: Sequence[Event]) -> None:
    """`emit`, in an ordinary transaction."""
    rows = rows_of(heard_by, events)
    for id_, account_id, sandbox, kind, body, at_ms in rows.events:
        tx.execute(webhook_events.insert().values(id=id_, account_id=account_id, sandbox=sandbox, kind=kind, body=body, created_at_ms=at_ms))
    for endpoint_id, at_ms, event_id in rows.waiting:
        tx.execute(webhook_queue.insert().values(endpoint_id=endpoint_id, due_at_ms=at_ms, event_id=event_id, tries=0))
    for endpoint_id, at_ms, event_id in rows.missed:
        tx.execute(webhook_deliveries.insert().values(endpoint_id=endpoint_id, event_id=event_id, outcome=MISSED, tries=0, at_ms=at_ms))


def rows_of(heard_by: Listeners, events: Sequence[Event]) -> Rows:
    """The first half of `emit`: what is to be stored, the bodies encoded."""
    rows = Rows([], [], [])
    next_of: dict[int, int] = {}  # a run for each moment: one by one, ids cost as much as all the rest of a row
    for event in events:
        told = heard_by.of(event.account_id, sandbox=event.sandbox, kind=event.kind)
        if not told:
            continue
        number = event.number
        if number is None:
            number = next_of[event.at_ms] if event.at_ms in next_of else ids.new_number(event.at_ms)
            next_of[event.at_ms] = number + 1
        raw = ids.raw_of_number(number)
        rows.events.append((raw, event.account_id, event.sandbox, event.kind, body_of(ids.text_of_number(EVENT_PREFIX, number), event,
                                                                                      heard_by.shown(event.account_id)), event.at_ms))
        for listener in told:
            (rows.waiting if listener.enabled else rows.missed).append((listener.endpoint_id, event.at_ms, raw))
    return rows


def body_of(event_id: str, event: Event, account_id: str) -> str:
    """What is sent (contract section 7), both ids in text form: at most 20 kB, for a text has at most ten segments."""
    return encode({"id": event_id, "event": event.kind, "timestamp": rfc3339(event.at_ms), "account_id": account_id, "sandbox": event.sandbox,
                   "data": event.data}).decode()
