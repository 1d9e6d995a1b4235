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


class NearEndpoint(Row, frozen=True):
    """Describes an endpoint beside an account: the account's own, or one of its partner
    (`parent_id`). `owner_id` says whose it is. `kinds` is comma-separated.
    """

    account_id: Id
    parent_id: Id | None
    endpoint_id: Id
    owner_id: Id
    sandbox: Bool
    kinds: Text
    include_customers: Bool
    disabled_at_ms: BigInt | None

    @property
    def hears(self) -> bool:
        """Says whether it hears of the account. A partner's endpoint may want to hear of its
        customers too.
        """
        return self.owner_id == self.account_id or self.include_customers


_BEGUN_MISSED: Final = DELIVERY.begun_as(MISSED)
# of the endpoint's account: PostgreSQL reads IN with columns as an OR (`hot_session_settings`)
_ENDPOINTS: Final = """
    SELECT a.id AS account_id, a.parent_id, e.id AS endpoint_id, e.account_id AS owner_id,
        e.sandbox, e.kinds, e.include_customers, e.disabled_at_ms
    FROM {accounts} JOIN webhook_endpoints e ON e.account_id {is_near}"""
ENDPOINTS: Final = BatchStatement(
    EventAccount,
    NearEndpoint,
    postgresql=_ENDPOINTS.format(
        accounts=":given AS g JOIN accounts a ON a.id = g.account_id",
        is_near="= ANY(ARRAY[a.id, a.parent_id])",
    ),
    sqlite=_ENDPOINTS.format(accounts="accounts a", is_near="IN (a.id, a.parent_id)")
    + " WHERE a.id = :account_id",
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
