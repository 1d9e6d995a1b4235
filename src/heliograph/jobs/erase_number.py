"""Erases one phone number from everything that an account has, when the person to whom it belongs
asks for it.

First it is found, in one view of the database; then what was found is changed, a few rows in a
transaction. Messages come last, for what was sent to the number is known by them: a command that
was killed begins anew, and finds the rest.
"""

import json
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from itertools import groupby
from typing import Any, Final, NamedTuple

import sqlalchemy as sa
from sqlalchemy.engine import Connection

from heliograph.accounts.notices import notify
from heliograph.accounts.tables import accounts, customers, notices
from heliograph.campaigns.states import STARTABLE
from heliograph.campaigns.tables import campaign_recipients, campaigns
from heliograph.contacts.tables import contact_imports, contacts, opt_out_changes
from heliograph.database.hot import run_in
from heliograph.database.reads import stream, stream_records
from heliograph.jobs.erase_inbound import inbound_changes
from heliograph.jobs.row_changes import RowChange, delete_rows, redact
from heliograph.messages.accept import SendExceptions, read_exceptions
from heliograph.messages.tables import (
    carrier_refs,
    groups,
    messages,
    operator_decisions,
    sends,
    unmatched_receipts,
)
from heliograph.opt_outs.tables import opt_outs
from heliograph.otp import RANGE_DIGITS
from heliograph.otp.tables import otp_ranges, otps
from heliograph.plugin.tables import site_events, site_logs, sites
from heliograph.requests.tables import idempotency_keys
from heliograph.text.phones_in_text import ERASED, Quoted
from heliograph.webhooks.tables import webhook_attempts, webhook_deliveries, webhook_events

ROWS_AT_ONCE: Final = 500  # in one transaction
# carriers that strip the country code leave at least six digits (settle.RECIPIENT_DIGITS_AGREEING)
AGREEING: Final = 10**6


class _SendTexts(NamedTuple):
    """Holds those fields of a send that may name a number. There may be millions of sends."""

    id: str
    text: str | None
    reference: str | None
    exceptions: str | None


def changes(tx: Connection, account_id: str, quoted: Quoted) -> Iterator[RowChange]:
    """Yields all changes that are to be made, of both modes, in their order. `tx` sees one moment.
    The number is also taken out of texts that went to others.
    """
    for place in (
        _contacts,
        _recipients,
        _campaigns,
        _otps,
        _receipts,
        _sites,
        _customers,
        _texts_about,
        _events,
        inbound_changes,
        _sends,
        _messages,
    ):
        yield from place(tx, account_id, quoted)


def count_changes(found: Sequence[RowChange]) -> dict[str, int]:
    """Returns how many rows of each table are changed."""
    return dict(sorted(Counter(change.table.name for change in found).items()))


def batches(found: Sequence[RowChange]) -> Iterator[Callable[[Connection], None]]:
    """Yields what is to be called with a transaction each, in this order."""
    for start in range(0, len(found), ROWS_AT_ONCE):
        yield partial(_apply, some=found[start : start + ROWS_AT_ONCE])


def note(tx: Connection, account_id: str, by: str, counts: dict[str, int], now_ms: int) -> None:
    """Notes, for the account and whoever asks later, that it was done, and not which number it
    was.
    """
    rows = ", ".join(f"{table} {count}" for table, count in counts.items())
    message = f"A phone number was erased on request, by {by}. Rows: {rows}."
    run_in(tx, lambda hot: notify(hot, account_id, "number_erased", message, now_ms))


def _apply(tx: Connection, some: Sequence[RowChange]) -> None:
    for (table, columns), alike in groupby(
        some,
        lambda change: (
            change.table,
            None if change.becomes is None else tuple(sorted(change.becomes)),
        ),
    ):
        keys = list(table.primary_key.columns)
        here = sa.and_(
            *(column == sa.bindparam(f"key_{column.name}", type_=column.type) for column in keys)
        )
        statement = (
            table.delete().where(here)
            if columns is None
            else table.update()
            .where(here)
            .values(
                {name: sa.bindparam(f"new_{name}", type_=table.c[name].type) for name in columns}
            )
        )
        tx.execute(
            statement,
            [
                {
                    f"key_{column.name}": value
                    for column, value in zip(keys, change.key, strict=True)
                }
                | {f"new_{name}": value for name, value in (change.becomes or {}).items()}
                for change in alike
            ],
        )


def _contacts(tx: Connection, account_id: str, quoted: Quoted) -> Iterator[RowChange]:
    of_account, number = contacts.c.account_id == account_id, int(quoted.digits)
    # the contact goes last
    contact_ids = sa.select(contacts.c.id).where(of_account, contacts.c.phone == number)
    yield from delete_rows(tx, opt_out_changes, opt_out_changes.c.contact_id.in_(contact_ids))
    yield from delete_rows(tx, contacts, of_account, contacts.c.phone == number)
    yield from delete_rows(
        tx, opt_outs, opt_outs.c.account_id == account_id, opt_outs.c.phone == number
    )
    yield from delete_rows(tx, contact_imports, contact_imports.c.account_id == account_id)
    texts = ("name", "email", "tags", "custom", "searched")
    yield from redact(tx, contacts, texts, of_account & (contacts.c.phone != number), quoted)


def _recipients(tx: Connection, account_id: str, quoted: Quoted) -> Iterator[RowChange]:
    """Removes the number's own row: it was reached, or the campaign has not begun or has ended.
    Texts for other recipients are changed only where nothing will be sent.
    """
    of_account = campaign_recipients.c.group_id.in_(
        sa.select(groups.c.id).where(groups.c.account_id == account_id)
    )
    their = sa.select(campaigns.c.group_id).where(campaigns.c.account_id == account_id)
    over = campaign_recipients.c.group_id.in_(their.where(campaigns.c.ended_at_ms.is_not(None)))
    left_out = campaign_recipients.c.opted_out & campaign_recipients.c.group_id.in_(
        their.where(campaigns.c.status.not_in(STARTABLE))
    )
    yield from delete_rows(
        tx, campaign_recipients, of_account, campaign_recipients.c.recipient == int(quoted.digits)
    )
    keys = list(campaign_recipients.primary_key.columns)
    query = sa.select(*keys, campaign_recipients.c.text).where(
        over | left_out,
        campaign_recipients.c.recipient != int(quoted.digits),
        campaign_recipients.c.text.is_not(None),
    )
    yield from (
        RowChange(campaign_recipients, tuple(row._mapping[key] for key in keys), {"text": ERASED})
        for row in stream(tx, query)
        if quoted.stands_in(row.text)
    )


def _campaigns(tx: Connection, account_id: str, quoted: Quoted) -> Iterator[RowChange]:
    """Takes the number out of campaigns. The cursor of one that has ended is set to nobody's
    number; that of one that goes on moves by itself.
    """
    of_account, number = campaigns.c.account_id == account_id, int(quoted.digits)
    yield from redact(tx, campaigns, ("name", "text", "audience"), of_account, quoted)
    for row in tx.execute(
        sa.select(campaigns.c.id).where(
            of_account, campaigns.c.cursor == number, campaigns.c.ended_at_ms.is_not(None)
        )
    ):
        yield RowChange(campaigns, tuple(row), {"cursor": 0})


def _otps(tx: Connection, account_id: str, quoted: Quoted) -> Iterator[RowChange]:
    """Removes one-time passwords to the number. A range is removed only if the number has no more
    digits than a range has: otherwise the range covers many people, and is pruned after a day.
    """
    yield from delete_rows(
        tx, otps, otps.c.account_id == account_id, otps.c.phone == int(quoted.digits)
    )
    if len(quoted.digits) <= RANGE_DIGITS:
        yield from delete_rows(
            tx,
            otp_ranges,
            otp_ranges.c.account_id == account_id,
            otp_ranges.c.digits == quoted.digits,
        )


def _receipts(tx: Connection, account_id: str, quoted: Quoted) -> Iterator[RowChange]:
    """Yields receipts, which name the number as the carrier spells it. Those that found no message
    belong to nobody. They are deleted, unless another account has sent to the number: then they may
    be that account's.
    """
    number = int(quoted.digits)
    near = carrier_refs.c.recipient % AGREEING == number % AGREEING
    query = sa.select(
        *carrier_refs.primary_key.columns,
        carrier_refs.c.message_id,
        messages.c.account_id,
        carrier_refs.c.recipient,
    )
    query = query.select_from(
        carrier_refs.outerjoin(messages, messages.c.id == carrier_refs.c.message_id)
    ).where(near)
    is_others = (
        tx.execute(
            sa.select(accounts.c.id)
            .where(
                accounts.c.id != account_id,
                sa.exists().where(
                    messages.c.account_id == accounts.c.id, messages.c.recipient == number
                ),
            )
            .limit(1)
        ).first()
        is not None
    )
    for row in stream(tx, query):
        if not quoted.digits.endswith(str(row.recipient)):
            continue
        if row.message_id is None and not is_others:
            yield RowChange(carrier_refs, (row.carrier_id, row.ref), None)
        elif row.account_id == account_id:
            yield RowChange(carrier_refs, (row.carrier_id, row.ref), {"recipient": None})
    unmatched = sa.select(
        unmatched_receipts.c.id, unmatched_receipts.c.recipient, unmatched_receipts.c.raw
    )
    for receipt in () if is_others else stream(tx, unmatched):
        if (
            receipt.recipient is not None
            and len(str(receipt.recipient)) >= len(str(AGREEING)) - 1
            and quoted.digits.endswith(str(receipt.recipient))
        ) or quoted.stands_in(bytes(receipt.raw).decode("latin-1")):
            yield RowChange(unmatched_receipts, (receipt.id,), None)


def _sites(tx: Connection, account_id: str, quoted: Quoted) -> Iterator[RowChange]:
    """Yields what a plugin told of the number. It goes as a whole: it is the shop's word, and
    nothing is made of it.
    """
    site_ids = sa.select(sites.c.id).where(sites.c.account_id == account_id)
    for table in (site_logs, site_events):
        texts = [column for column in table.c if isinstance(column.type, sa.String | sa.Text)]
        for raw_id, *values in stream(
            tx, sa.select(table.c.id, *texts).where(table.c.site_id.in_(site_ids))
        ):
            if any(quoted.stands_in(text) for text in values):
                yield RowChange(table, (raw_id,), None)


def _customers(tx: Connection, account_id: str, quoted: Quoted) -> Iterator[RowChange]:
    """Takes the number from a customer, which stays."""
    of_account = (customers.c.partner_id == account_id) | (customers.c.account_id == account_id)
    for row in tx.execute(
        sa.select(customers.c.account_id).where(of_account, customers.c.phone == quoted.digits)
    ):
        yield RowChange(customers, tuple(row), {"phone": ""})
    yield from redact(tx, customers, ("label", "email"), of_account, quoted)


def _texts_about(tx: Connection, account_id: str, quoted: Quoted) -> Iterator[RowChange]:
    """Yields words of the service, of operators and of receivers that name the number."""
    yield from redact(tx, notices, ("text",), notices.c.account_id == account_id, quoted)
    yield from redact(
        tx, idempotency_keys, ("answer",), idempotency_keys.c.account_id == account_id, quoted
    )
    yield from redact(
        tx,
        operator_decisions,
        ("decided_by", "reason"),
        messages.c.account_id == account_id,
        quoted,
        operator_decisions.join(messages, messages.c.id == operator_decisions.c.message_id),
    )
    for table in (webhook_deliveries, webhook_attempts):
        columns = ("answer", "retry_after") if "retry_after" in table.c else ("answer",)
        yield from redact(
            tx,
            table,
            columns,
            webhook_events.c.account_id == account_id,
            quoted,
            table.join(webhook_events, webhook_events.c.id == table.c.event_id),
        )


def _events(tx: Connection, account_id: str, quoted: Quoted) -> Iterator[RowChange]:
    """Yields events. In an event of a message to the number, number and text are null, as in its
    record; one that still waits is posted so.
    """
    for event_id, body in stream(
        tx,
        sa.select(webhook_events.c.id, webhook_events.c.body).where(
            webhook_events.c.account_id == account_id
        ),
    ):
        if quoted.stands_in(body):
            event = json.loads(body)
            if event["data"].get("recipient") == quoted.digits:
                event["data"] |= {"recipient": None, "message": None}
            event_text = json.dumps(event, ensure_ascii=False, separators=(",", ":"))
            yield RowChange(webhook_events, (event_id,), {"body": quoted.erased_from(event_text)})


def _sends(tx: Connection, account_id: str, quoted: Quoted) -> Iterator[RowChange]:
    """Takes away a text that went to the number alone, or names it; one that went to others too is
    theirs. A recipient that was refused stays one.
    """
    columns = sends.c
    alone = set(
        tx.execute(
            sa.select(messages.c.send_id)
            .join(sends, sends.c.id == messages.c.send_id)
            .where(
                messages.c.account_id == account_id,
                messages.c.recipient == int(quoted.digits),
                columns.message_count == 1,
            )
        ).scalars()
    )
    query = sa.select(columns.id, columns.text, columns.reference, columns.exceptions).where(
        columns.account_id == account_id
    )
    for send in stream_records(tx, query, _SendTexts):
        becomes: dict[str, Any] = {}
        if send.text is not None and (send.id in alone or quoted.stands_in(send.text)):
            becomes["text"] = None
        if quoted.stands_in(send.reference):
            becomes["reference"] = None
        if send.exceptions is not None and quoted.stands_in(send.exceptions):
            becomes["exceptions"] = _without(quoted, send.exceptions)
        if becomes:
            yield RowChange(sends, (send.id,), becomes)


def _without(quoted: Quoted, exceptions: str) -> str:
    read = read_exceptions(exceptions)
    rejected = [
        each._replace(recipient=ERASED) if quoted.stands_in(each.recipient) else each
        for each in read.rejected
    ]
    return SendExceptions(rejected, read.duplicates).stored() or ""


def _messages(tx: Connection, account_id: str, quoted: Quoted) -> Iterator[RowChange]:
    columns = messages.c
    query = sa.select(columns.id, columns.error_message).where(
        columns.account_id == account_id, columns.recipient == int(quoted.digits)
    )
    for message_id, error_message in stream(tx, query):
        becomes = {
            "recipient": None,
            "error_message": error_message and quoted.erased_from(error_message),
        }
        yield RowChange(messages, (message_id,), becomes)
