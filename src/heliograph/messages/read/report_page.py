"""Reads pages of an account's messages, newest first (docs/api.md, "Reports").

There is no index of an account's messages: it would cost every send a second, random write. A send
and its messages are one series of ids (tables.py). So a report walks the account's sends, newest
first, and looks its messages up by the ids that follow from them.
"""

from collections.abc import Iterator
from typing import Final, NamedTuple

import sqlalchemy as sa
from sqlalchemy.engine import Connection

from heliograph.base import ids
from heliograph.base.paging import ALWAYS, CLOCK_SLACK_MS, PageWanted, Span, first_id_of
from heliograph.database.reads import records_of
from heliograph.messages.read.message import WHOLE_MESSAGES, Message
from heliograph.messages.read.query import among
from heliograph.messages.tables import messages, sends

NO_SEND: Final = "0" * 32  # an id that no send has

# messages that one page looks through for a rare status, or sends for a rare type or sender, 50 ms:
# then it ends early, and its cursor goes on
LOOKED_AT_MAX: Final = 10_000
_SENDS_AT_ONCE: Final = 1_000
_MESSAGES_AT_ONCE: Final = 5_000


class Filters(NamedTuple):
    """Says what a report is narrowed to; a field that is None narrows nothing. `send_id` is raw."""

    group_id: int | None = None
    send_id: str | None = None
    status: str | None = None
    type: str | None = None
    sender: str | None = None
    recipient: int | None = None
    reference: str | None = None
    span: Span = ALWAYS


class Page(NamedTuple):
    """Holds a page of messages. `next_before` is the raw id where the next page begins, or None on
    the last page.
    """

    messages: list[Message]
    next_before: str | None


def report(
    tx: Connection, account_id: str, wanted: PageWanted, filters: Filters, *, sandbox: bool
) -> Page:
    """Returns a page of the account's messages, newest first. It may hold fewer than `limit` and
    still have a next one.
    """
    if filters.recipient is not None:
        return _to_recipient(tx, account_id, sandbox, wanted, filters)
    return _walk_sends(tx, account_id, sandbox, wanted, filters)


def _to_recipient(
    tx: Connection, account_id: str, sandbox: bool, wanted: PageWanted, filters: Filters
) -> Page:
    """Returns a page by the index of messages by recipient."""
    query = WHOLE_MESSAGES.where(
        messages.c.account_id == account_id,
        messages.c.recipient == filters.recipient,
        messages.c.sandbox.is_(sandbox),
    )
    of_send = (*_of_an_index(filters), *_of_no_index(filters))
    query = query.where(*of_send, *_id_bounds(messages.c.id, filters.span))
    if filters.status is not None:
        query = query.where(messages.c.status == filters.status)
    if wanted.before is not None:
        query = query.where(messages.c.id < wanted.before)
    rows = tx.execute(query.order_by(messages.c.id.desc()).limit(wanted.limit + 1))
    return _page(records_of(Message, rows), wanted.limit)


def _walk_sends(
    tx: Connection, account_id: str, sandbox: bool, wanted: PageWanted, filters: Filters
) -> Page:
    page_messages, looked_at = list[Message](), 0
    is_rare = filters.status is not None or bool(_of_no_index(filters))
    at_once = _MESSAGES_AT_ONCE if is_rare else wanted.limit + 1
    looked = _matching_messages(tx, account_id, sandbox, wanted, filters, at_once)
    while batch := list(_limit_lookups(looked, at_once)):
        passing = [candidate.id for candidate in batch if candidate.passes]
        if passing:
            # the bounds leave out partitions
            query = WHOLE_MESSAGES.where(
                among(tx, messages.c.id, passing),
                messages.c.id.between(min(passing), max(passing)),
            )
            if filters.status is not None:
                query = query.where(messages.c.status == filters.status)
            newest = query.order_by(messages.c.id.desc()).limit(
                wanted.limit + 1 - len(page_messages)
            )
            page_messages += records_of(Message, tx.execute(newest))
        if len(page_messages) > wanted.limit:
            break
        looked_at += sum(candidate.looked_at for candidate in batch)
        if looked_at >= LOOKED_AT_MAX:
            return Page(page_messages, min(candidate.id for candidate in batch))
    return _page(page_messages, wanted.limit)


def _page(found: list[Message], limit: int) -> Page:
    return Page(found[:limit], found[limit - 1].id if len(found) > limit else None)


class _ReadMessage(NamedTuple):
    """Holds a message of a send that passes the filters, or else the oldest send of some that do
    not. `looked_at` counts the sends and messages that were looked at for it.
    """

    id: str
    passes: bool
    looked_at: int


def _limit_lookups(looked: Iterator[_ReadMessage], count: int) -> Iterator[_ReadMessage]:
    """Yields messages, until `count` messages and sends were looked at."""
    looked_at = 0
    for each in looked:
        yield each
        looked_at += each.looked_at
        if looked_at >= count:
            return


def _matching_messages(
    tx: Connection,
    account_id: str,
    sandbox: bool,
    wanted: PageWanted,
    filters: Filters,
    at_once: int,
) -> Iterator[_ReadMessage]:
    """Yields all messages of the account's sends that pass, newest first, from below
    `wanted.before`. What does not pass stays in the database, but for the last send of each query.
    """
    below = None if wanted.before is None else int(wanted.before, 16)
    query = sa.select(
        sends.c.id,
        sends.c.message_count,
        sa.and_(sa.true(), *_of_no_index(filters)).label("passes"),
        sa.func.row_number().over(order_by=sends.c.id.desc()).label("place"),
    ).where(
        sends.c.account_id == account_id,
        sends.c.sandbox.is_(sandbox),
        *_of_an_index(filters),
        *_id_bounds(sends.c.id, filters.span),
    )
    before, at_once = wanted.before, min(at_once, _SENDS_AT_ONCE)
    while True:
        page = query if before is None else query.where(sends.c.id < before)
        newest = page.order_by(sends.c.id.desc()).limit(at_once).subquery("newest")
        passing = sa.select(newest).where(newest.c.passes | (newest.c.place == at_once))
        last_place = 0
        for send in tx.execute(passing.order_by(newest.c.place)).all():
            looked_at, last_place = send.place - last_place, send.place
            if send.passes:
                yield from _messages_of(send.id, send.message_count, below, looked_at)
            else:
                yield _ReadMessage(send.id, False, looked_at)
            before = send.id
        if last_place < at_once:
            return


def _messages_of(
    send_id: str, message_count: int, below: int | None, looked_at: int
) -> Iterator[_ReadMessage]:
    """Yields the messages of a send that passes, newest first, from below an id. `looked_at` counts
    the sends that were looked at for it, itself among them.
    """
    number = int(send_id, 16)
    last = number + message_count if below is None else min(number + message_count, below - 1)
    for message in range(last, number, -1):
        yield _ReadMessage(ids.raw_of_number(message), True, looked_at)
        looked_at = 1


def _of_no_index(filters: Filters) -> list[sa.ColumnElement[bool]]:
    """Returns the conditions of a report that no index helps with: each send is looked at for
    them.
    """
    conditions: list[sa.ColumnElement[bool]] = []
    if filters.type is not None:
        conditions.append(sends.c.type == filters.type)
    if filters.sender is not None:  # senders are compared without case
        conditions.append(sa.func.lower(sends.c.sender) == filters.sender.lower())
    return conditions


def _of_an_index(filters: Filters) -> list[sa.ColumnElement[bool]]:
    """Returns the other conditions of a report, for the send that a message belongs to."""
    conditions: list[sa.ColumnElement[bool]] = []
    if filters.group_id is not None:
        conditions.append(sends.c.group_id == filters.group_id)
    if filters.send_id is not None:
        conditions.append(sends.c.id == filters.send_id)
    if filters.reference is not None:
        conditions.append(sends.c.reference == filters.reference)
    if filters.span.since_ms is not None:
        conditions.append(sends.c.created_at_ms >= filters.span.since_ms)
    if filters.span.until_ms is not None:
        conditions.append(sends.c.created_at_ms < filters.span.until_ms)
    return conditions


def _id_bounds(column: sa.Column[str], span: Span) -> list[sa.ColumnElement[bool]]:
    """Returns roughly the span as a range of the key, so that what lies outside is not looked at;
    `created_at` decides exactly.
    """
    bounds: list[sa.ColumnElement[bool]] = []
    if span.since_ms is not None:
        bounds.append(column >= first_id_of(span.since_ms - CLOCK_SLACK_MS))
    if span.until_ms is not None:
        bounds.append(column < first_id_of(span.until_ms + CLOCK_SLACK_MS))
    return bounds
