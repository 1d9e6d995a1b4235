"""Says which endpoints were to hear of what happened, and when."""

from collections.abc import Iterator
from typing import Final, NamedTuple

import sqlalchemy as sa
from sqlalchemy.engine import Connection

from heliograph.accounts.tables import accounts
from heliograph.database.reads import raw_id
from heliograph.webhooks.tables import webhook_endpoints

# an endpoint is committed some time after it was made, and the clocks of processes differ
LISTENS_AFTER_MS: Final = 60_000

_NOBODY: Final[list["EndpointSince"]] = []

EndpointsByAccount = dict[tuple[str, bool], list["EndpointSince"]]  # by account and mode


class EndpointSince(NamedTuple):
    """Describes an endpoint that was to hear of these kinds of events, if they happened since
    then.
    """

    endpoint_id: str
    kinds: frozenset[str]
    since_ms: int


def endpoints_by_account(tx: Connection) -> EndpointsByAccount:
    """Returns the endpoints. Those of `heliograph listen` come and go: nothing is expected of
    them.
    """
    endpoint = webhook_endpoints.c
    hears = (endpoint.account_id == accounts.c.id) | (
        endpoint.include_customers & (endpoint.account_id == accounts.c.parent_id)
    )
    query = sa.select(
        raw_id(accounts.c.id).label("account_id"),
        endpoint.sandbox,
        raw_id(endpoint.id).label("endpoint_id"),
        endpoint.kinds,
        endpoint.created_at_ms,
    )
    found: EndpointsByAccount = {}
    for row in tx.execute(
        query.join_from(accounts, webhook_endpoints, hears).where(
            endpoint.listens_until_ms.is_(None)
        )
    ):
        found.setdefault((row.account_id, row.sandbox), []).append(
            EndpointSince(
                row.endpoint_id,
                frozenset(row.kinds.split(",")),
                row.created_at_ms + LISTENS_AFTER_MS,
            )
        )
    return found


def must_have_heard(
    listeners: EndpointsByAccount,
    account_id: str,
    sandbox: bool,
    kind: str,
    at_ms: int,
    since_ms: int,
) -> Iterator[EndpointSince]:
    """Yields the endpoints that must have heard of what happened at `at_ms`. What happened up to
    `since_ms` is not judged, because what became of it may not be kept any more.
    """
    if at_ms > since_ms:
        yield from (
            listener
            for listener in listeners.get((account_id, sandbox), _NOBODY)
            if kind in listener.kinds and at_ms >= listener.since_ms
        )
