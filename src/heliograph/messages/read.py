"""Reads messages as clients see them: one with its timeline, and reports of many (docs/api.md,
"Messages" and "Reports").

There is no index of an account's messages: it would cost every send a second, random write. A send
and its messages are one series of ids (tables.py). So a report walks the account's sends, newest
first, and looks its messages up by the ids that follow from them.
"""

import json
from collections.abc import Iterable, Iterator
from typing import Any, Final, NamedTuple

import sqlalchemy as sa
from sqlalchemy.engine import Connection

from heliograph.base import ids
from heliograph.base.clock import rfc3339, rfc3339_or_none
from heliograph.base.errors import NotFound
from heliograph.base.paging import ALWAYS, CLOCK_SLACK_MS, PageWanted, Span, first_id_of
from heliograph.database.arrays import literal
from heliograph.database.reads import records_of
from heliograph.messages.read_sql import messages_with
from heliograph.messages.states import DELIVERED, FAILED, QUEUED, SENT
from heliograph.messages.tables import messages, sends

MESSAGE_PREFIX: Final = "msg"
SEND_PREFIX: Final = "snd"
CAMPAIGN_PREFIX: Final = "cmp"
INBOUND_PREFIX: Final = "inb"
NO_SEND: Final = "0" * 32  # an id that no send has
OTP: Final = "otp"

# messages that one page looks through for a rare status, or sends for a rare type or sender, 50 ms:
# then it ends early, and its cursor goes on
LOOKED_AT_MAX: Final = 10_000
_SENDS_AT_ONCE: Final = 1_000
_MESSAGES_AT_ONCE: Final = 5_000


class Message(NamedTuple):
    """Holds a message with what it shares with its send. Ids are raw; `text` and `recipient` are
    None after retention.
    """

    id: str
    send_id: str
    type: str
    sender: str
    recipient: int | None
    country_code: str | None
    text: str | None
    encoding: str
    segments: int
    credits: int
    refunded: int
    status: str
    error_code: str | None
    error_message: str | None
    reference: str | None
    sandbox: bool
    created_at_ms: int
    sent_at_ms: int | None
    delivered_at_ms: int | None
    failed_at_ms: int | None
    campaign_id: str | None


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


_MESSAGES: Final = messages_with(Message._fields)


def message_of(tx: Connection, account_id: str, message_id: str, *, sandbox: bool) -> Message:
    """Returns the message with this id in text form. Raises NotFound, also for another account's
    and the other mode's.
    """
    raw = ids.raw_of_text(MESSAGE_PREFIX, message_id)
    row = (
        None
        if raw is None
        else tx.execute(
            _MESSAGES.where(
                messages.c.id == raw,
                messages.c.account_id == account_id,
                messages.c.sandbox.is_(sandbox),
            )
        ).one_or_none()
    )
    if row is None:
        raise NotFound("There is no such message.")
    return Message(**row._asdict())


def one_time_passwords(tx: Connection, message_ids: Iterable[str]) -> set[str]:
    """Returns which of these are ids, in text form, of one-time passwords, whoever they belong
    to.
    """
    raw = {message_id: ids.raw_of_text(MESSAGE_PREFIX, message_id) for message_id in message_ids}
    wanted = sorted(each for each in raw.values() if each is not None)
    if not wanted:
        return set()
    found = set(
        tx.execute(
            sa.select(messages.c.id)
            .join_from(messages, sends, sends.c.id == messages.c.send_id)
            .where(_among(tx, messages.c.id, wanted), sends.c.type == OTP)
        ).scalars()
    )
    return {message_id for message_id, each in raw.items() if each in found}


def handed_to(tx: Connection, carrier_id: int, raw_ids: list[str]) -> set[str]:
    """Returns which of these messages (raw ids) are with this carrier, or are to go there."""
    query = sa.select(messages.c.id).where(
        _among(tx, messages.c.id, raw_ids), messages.c.carrier_id == carrier_id
    )
    return set(tx.execute(query).scalars()) if raw_ids else set()


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
    query = _MESSAGES.where(
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
            query = _MESSAGES.where(
                _among(tx, messages.c.id, passing),
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


def _among(tx: Connection, column: sa.Column[str], raw_ids: list[str]) -> sa.ColumnElement[bool]:
    """Returns `IN` with one value for all ids: thousands of them as values each would keep the
    interpreter, and so every other request, for 0.1 s.
    """
    if tx.dialect.name == "postgresql":
        return column == sa.any_(
            sa.cast(sa.literal(literal(raw_ids), sa.Text), sa.ARRAY(sa.Uuid(as_uuid=False)))
        )
    return column.in_(
        sa.select(sa.func.json_each(json.dumps(raw_ids)).table_valued("value").c.value)
    )


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


def as_record(message: Message) -> dict[str, Any]:
    """Returns the fields of a message (docs/api.md, "Messages")."""
    return {
        "id": ids.text_of_raw(MESSAGE_PREFIX, message.id),
        "send_id": ids.text_of_raw(SEND_PREFIX, message.send_id),
        "campaign_id": None
        if message.campaign_id is None
        else ids.text_of_raw(CAMPAIGN_PREFIX, message.campaign_id),
        "type": message.type,
        "sender": message.sender,
        "recipient": None if message.recipient is None else str(message.recipient),
        "country_code": message.country_code,
        "message": None if message.type == OTP else message.text,
        "encoding": message.encoding,
        "segments": message.segments,
        "credits": message.credits,
        "credits_refunded": message.refunded,
        "status": message.status,
        "error": _error(message),
        "reference": message.reference,
        "sandbox": bool(message.sandbox),
        "created_at": rfc3339(message.created_at_ms),
        "sent_at": rfc3339_or_none(message.sent_at_ms),
        "delivered_at": rfc3339_or_none(message.delivered_at_ms),
        "failed_at": rfc3339_or_none(message.failed_at_ms),
    }


def _error(message: Message) -> dict[str, str | None] | None:
    return (
        None
        if message.error_code is None
        else {"code": message.error_code, "message": message.error_message}
    )


def timeline(message: Message) -> list[dict[str, str | None]]:
    """Returns what became of a message and when, oldest first: `{status, at, detail}`. The
    detail of a failure is why.
    """
    moments = (
        (QUEUED, message.created_at_ms, None),
        (SENT, message.sent_at_ms, None),
        (DELIVERED, message.delivered_at_ms, None),
        (FAILED, message.failed_at_ms, message.error_message),
    )
    return [
        {"status": status, "at": rfc3339(at_ms), "detail": detail}
        for status, at_ms, detail in moments
        if at_ms is not None
    ]
