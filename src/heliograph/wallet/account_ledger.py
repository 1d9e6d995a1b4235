"""Reads an account's ledger as the account sees it: its own entries, and transfers that others made
with it.
"""

from typing import Final

import sqlalchemy as sa
from msgspec.structs import replace
from sqlalchemy.engine import Connection

from heliograph.base import ids
from heliograph.base.paging import ALWAYS, CLOCK_SLACK_MS, PageWanted, Span, first_id_of
from heliograph.database.reads import records_of
from heliograph.wallet.entry import ENTRY_COLUMNS, Entry
from heliograph.wallet.ledger_sides_sql import SEEN_FROM_THERE
from heliograph.wallet.tables import ledger_entries
from heliograph.wallet.wallet import wallet_of

TRANSACTIONS_LIMIT_MAX: Final = 100  # docs/api.md, "Lists and paging"
# An entry is written in the transaction that stores a charge or a failure, and its id is made a few
# milliseconds before or after. There is no index of references of charges: it would cost each send
# a write. So all entries of this span are looked through.
_AROUND_MS: Final = 10_000


def page(
    tx: Connection,
    account_id: str,
    wanted: PageWanted,
    span: Span = ALWAYS,
    entry_type: str | None = None,
    reference: str | None = None,
) -> list[Entry]:
    """Returns at most `limit` + 1 entries, newest first: the one too many tells that there is a
    next page. Raises NotFound for the account.
    """
    own = _newest(
        tx, ledger_entries.c.account_id == account_id, wanted, span, entry_type, reference
    )
    others: list[Entry] = []
    if entry_type is None or entry_type in SEEN_FROM_THERE:
        currency = wallet_of(tx, account_id).currency
        with_us = sa.and_(
            ledger_entries.c.counterpart_id == account_id,
            ledger_entries.c.counterpart_credits_after.is_not(None),
        )
        others = [
            _from_other_side(entry, currency)
            for entry in _newest(
                tx, with_us, wanted, span, SEEN_FROM_THERE.get(entry_type or ""), reference
            )
        ]
    return sorted(own + others, key=lambda entry: entry.id, reverse=True)[: wanted.limit + 1]


def entries_of_moment(
    tx: Connection, account_id: str, entry_type: str, reference: str, at_ms: int, *, limit: int
) -> list[Entry]:
    """Returns at most `limit` of the account's own entries of this type and reference that say that
    they were written at `at_ms`, oldest first.
    """
    columns = ledger_entries.c
    query = (
        sa.select(*ENTRY_COLUMNS)
        .where(
            columns.account_id == account_id,
            columns.id >= first_id_of(at_ms - _AROUND_MS),
            columns.id < first_id_of(at_ms + _AROUND_MS),
            columns.type == entry_type,
            columns.reference == reference,
            columns.created_at_ms == at_ms,
        )
        .order_by(columns.id)
        .limit(limit)
    )
    return records_of(Entry, tx.execute(query))


def _newest(
    tx: Connection,
    whose: sa.ColumnElement[bool],
    wanted: PageWanted,
    span: Span,
    entry_type: str | None,
    reference: str | None,
) -> list[Entry]:
    columns = ledger_entries.c
    query = (
        sa.select(*ENTRY_COLUMNS).where(whose).order_by(columns.id.desc()).limit(wanted.limit + 1)
    )
    if wanted.before is not None:
        query = query.where(columns.id < wanted.before)
    if entry_type is not None:
        query = query.where(columns.type == entry_type)
    if reference is not None:
        query = query.where(columns.reference == reference, *_not_before(reference))
    # an entry's id is made of its time, so ranges of time are ranges of the index
    if span.since_ms is not None:
        query = query.where(columns.id >= first_id_of(span.since_ms))
    if span.until_ms is not None:
        query = query.where(columns.id < first_id_of(span.until_ms))
    return records_of(Entry, tx.execute(query))


def _not_before(reference: str) -> list[sa.ColumnElement[bool]]:
    """Returns a bound that leaves out most of a long ledger: the entries of a send or a campaign
    come after it was asked for.
    """
    raw = ids.raw_of_text(reference[: len("snd")], reference)
    if raw is None or not reference.startswith(("snd_", "cmp_")):
        return []
    return [ledger_entries.c.id >= first_id_of(ids.made_at_ms(int(raw, 16)) - CLOCK_SLACK_MS)]


def _from_other_side(entry: Entry, currency: str) -> Entry:
    balance_after_minor, credits_after = (
        entry.counterpart_balance_after_minor,
        entry.counterpart_credits_after,
    )
    assert balance_after_minor is not None
    assert credits_after is not None
    return replace(
        entry,
        type=SEEN_FROM_THERE[entry.type],
        currency=currency,
        amount_minor=-entry.amount_minor,
        credits=-entry.credits,
        balance_after_minor=balance_after_minor,
        credits_after=credits_after,
    )
