"""Proves the events of opt-outs: each opt-out that stands has its event `contact.opted_out` if an
endpoint was to hear of it.

An opt-out and its event have the same moment. Both are read in the order of their moments.
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
from heliograph.base.paging import first_id_of
from heliograph.database.reads import raw_id, stream
from heliograph.opt_outs import OPT_OUT_PREFIX
from heliograph.opt_outs.tables import suppressions
from heliograph.wallet import Discrepancy
from heliograph.webhooks import CONTACT_OPTED_OUT
from heliograph.webhooks.tables import webhook_events

# Of a body: whose opt-out it is about, and of which sender.
_SHOWN_OF_OPT_OUTS: Final = {
    "postgresql": ("body::json -> 'data' ->> 'phone'", "body::json -> 'data' ->> 'sender'"),
    "sqlite": ("json_extract(body, '$.data.phone')", "json_extract(body, '$.data.sender')"),
}


class _OptOutKey(NamedTuple):
    """Says which opt-out is meant. `phone` is None where it was erased from the event."""

    account_id: str
    sandbox: bool
    phone: str | None
    sender: str


class _OptOutAt(NamedTuple):
    """Holds an opt-out, or an event of one, with its moment. `id` is raw."""

    at_ms: int
    key: _OptOutKey
    id: str


def verify_opt_outs(
    tx: Connection, listeners: EndpointsByAccount, since_ms: int
) -> Iterator[Discrepancy]:
    """Yields which opt-outs lack their event, of those that were made since then."""
    event_groups = groupby(_opt_out_events(tx, since_ms), key=attrgetter("at_ms"))
    event_ms, events = next(event_groups, (None, iter(())))
    for made_ms, made in groupby(_kept_opt_outs(tx, since_ms), key=attrgetter("at_ms")):
        while event_ms is not None and event_ms < made_ms:
            event_ms, events = next(event_groups, (None, iter(())))
        found = {event.key for event in events} if event_ms == made_ms else set()
        for each in made:
            key: _OptOutKey = each.key
            is_told = key in found or key._replace(phone=None) in found
            if not is_told and any(
                must_have_heard(
                    listeners, key.account_id, key.sandbox, CONTACT_OPTED_OUT, made_ms, since_ms
                )
            ):
                yield Discrepancy(
                    key.account_id,
                    f"there is no event {CONTACT_OPTED_OUT} of"
                    f" {ids.text_of_raw(OPT_OUT_PREFIX, each.id)}, which was made at"
                    f" {rfc3339(made_ms)}",
                )
    for _ in event_groups:  # else its cursor stays open
        pass


def _kept_opt_outs(tx: Connection, since_ms: int) -> Iterator[_OptOutAt]:
    """Yields opt-outs in the order in which they were made."""
    columns = suppressions.c
    query = sa.select(
        raw_id(columns.id).label("id"),
        raw_id(columns.account_id).label("account_id"),
        columns.sandbox,
        columns.phone,
        columns.sender,
    )
    recent = query.where(columns.id >= first_id_of(since_ms)).order_by(columns.id)
    for row in stream(tx, recent):
        key = _OptOutKey(row.account_id, row.sandbox, str(row.phone), row.sender)
        yield _OptOutAt(ids.made_at_ms(int(row.id, 16)), key, row.id)


def _opt_out_events(tx: Connection, since_ms: int) -> Iterator[_OptOutAt]:
    """Yields the events of opt-outs, in the order of their moments."""
    columns = webhook_events.c
    phone, sender = (
        sa.literal_column(each, sa.Text) for each in _SHOWN_OF_OPT_OUTS[tx.dialect.name]
    )
    query = sa.select(
        raw_id(columns.id).label("id"),
        raw_id(columns.account_id).label("account_id"),
        columns.sandbox,
        columns.created_at_ms,
        phone.label("phone"),
        sender.label("sender"),
    )
    recent = query.where(columns.kind == CONTACT_OPTED_OUT, columns.created_at_ms >= since_ms)
    for row in stream(tx, recent.order_by(columns.created_at_ms)):
        digits = row.phone if row.phone is not None and row.phone.isdigit() else None
        key = _OptOutKey(row.account_id, row.sandbox, digits, row.sender or "")
        yield _OptOutAt(row.created_at_ms, key, row.id)
