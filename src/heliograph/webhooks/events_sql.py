"""Declares the hot statements of events, in both dialects."""

from typing import Final

from heliograph.database.hot import HotTx
from heliograph.database.statements import (
    BatchStatement,
    BigInt,
    Bool,
    Id,
    LongText,
    Nothing,
    Row,
    TablesStatement,
    Text,
    columns_of,
    values_of,
)
from heliograph.webhooks.states import DELIVERY, MISSED


class EventAccount(Row, frozen=True):
    account_id: Id


class ListeningEndpoint(Row, frozen=True):
    """Describes an endpoint that hears of an account: the account's own, or its partner's. `kinds`
    is comma-separated.
    """

    account_id: Id
    is_customer: Bool
    endpoint_id: Id
    sandbox: Bool
    kinds: Text
    enabled: Bool


_BEGUN_MISSED: Final = DELIVERY.begun_as(MISSED)
_ENDPOINT: Final = "e.id AS endpoint_id, e.sandbox, e.kinds, e.disabled_at_ms IS NULL AS enabled"
# A partner's endpoint may want to hear of its customers too.
LISTENERS: Final = BatchStatement(
    EventAccount,
    ListeningEndpoint,
    postgresql=f"""
        SELECT a.id AS account_id, a.parent_id IS NOT NULL AS is_customer, {_ENDPOINT}
        FROM :given AS g JOIN accounts a ON a.id = g.account_id
            JOIN webhook_endpoints e ON e.account_id = a.id
        UNION ALL
        SELECT a.id AS account_id, true AS is_customer, {_ENDPOINT}
        FROM :given AS g JOIN accounts a ON a.id = g.account_id
            JOIN webhook_endpoints e ON e.account_id = a.parent_id
        WHERE e.include_customers""",
    sqlite=f"""
        SELECT a.id AS account_id, a.parent_id IS NOT NULL AS is_customer, {_ENDPOINT}
        FROM accounts a JOIN webhook_endpoints e ON e.account_id = a.id
            OR (e.account_id = a.parent_id AND e.include_customers)
        WHERE a.id = :account_id""",
)


class StoredEvent(Row, frozen=True):
    id: Id
    account_id: Id
    sandbox: Bool
    kind: Text
    body: LongText
    created_at_ms: BigInt


class ForEndpoint(Row, frozen=True):
    """Says for which endpoint an event is stored, either in the queue or as missed."""

    endpoint_id: Id
    at_ms: BigInt
    event_id: Id


class _EventsToStore(Row, frozen=True):
    events: list[StoredEvent]
    waiting: list[ForEndpoint]
    missed: list[ForEndpoint]


# One statement, for a carrier's turn waits for each.
_TELL: Final = TablesStatement(
    _EventsToStore,
    Nothing,
    postgresql=f"""
        WITH told AS (INSERT INTO webhook_events ({columns_of(StoredEvent)}) SELECT *
            FROM :events AS e),
        missed AS (
            INSERT INTO webhook_deliveries (endpoint_id, at_ms, event_id, outcome,
                tries) SELECT endpoint_id, at_ms, event_id, '{_BEGUN_MISSED}', 0 FROM :missed AS m)
        INSERT INTO webhook_queue (endpoint_id, due_at_ms, event_id, tries)
            SELECT endpoint_id, at_ms, event_id, 0 FROM :waiting AS w""",
)
_EVENTS: Final = BatchStatement(
    StoredEvent,
    Nothing,
    sqlite=f"""
        INSERT INTO webhook_events ({columns_of(StoredEvent)}) VALUES ({values_of(StoredEvent)})""",
)
_WAITING: Final = BatchStatement(
    ForEndpoint,
    Nothing,
    sqlite="""
        INSERT INTO webhook_queue (endpoint_id, due_at_ms, event_id, tries)
            VALUES (:endpoint_id, :at_ms, :event_id, 0)""",
)
_MISSED: Final = BatchStatement(
    ForEndpoint,
    Nothing,
    sqlite=f"""
        INSERT INTO webhook_deliveries (endpoint_id, at_ms, event_id, outcome, tries)
            VALUES (:endpoint_id, :at_ms, :event_id, '{_BEGUN_MISSED}', 0)""",
)


async def store(
    tx: HotTx, events: list[StoredEvent], waiting: list[ForEndpoint], missed: list[ForEndpoint]
) -> None:
    """Stores events, and for which endpoints they are."""
    if not events:
        return
    if tx.postgresql:
        await _TELL.rows(tx, _EventsToStore(events, waiting, missed))
        return
    await _EVENTS.rows(tx, events)
    await _WAITING.rows(tx, waiting)
    await _MISSED.rows(tx, missed)
