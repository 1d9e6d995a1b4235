"""Erases one phone number from the texts that handsets have sent."""

from collections.abc import Iterator

import sqlalchemy as sa
from sqlalchemy.engine import Connection

from heliograph.database.large_reads import streamed
from heliograph.inbound.tables import inbound, inbound_parts, keyword_replies, numbers
from heliograph.jobs.row_changes import RowChange, gone
from heliograph.text.phones_in_text import Quoted


def inbound_changes(tx: Connection, account_id: str, quoted: Quoted) -> Iterator[RowChange]:
    """Takes number and text from what the number sent to the account, and to nobody. A text of
    another number that names it goes too. Parts that still wait are deleted, but for those to other
    accounts.
    """
    columns = inbound.c
    query = sa.select(columns.id, columns.sender, columns.text).where(
        sa.or_(
            columns.account_id == account_id,
            columns.account_id.is_(None) & (columns.sender == quoted.digits),
        ),
        columns.sender.is_not(None),
    )
    for text_id, sender, text in streamed(tx, query):
        if sender == quoted.digits:
            yield RowChange(inbound, (text_id,), {"sender": None, "text": None, "pdu": None})
        elif quoted.stands_in(text):
            yield RowChange(inbound, (text_id,), {"text": None, "pdu": None})
    replied = keyword_replies.c
    is_theirs = (replied.account_id == account_id) & (replied.phone == int(quoted.digits))
    yield from gone(tx, keyword_replies, is_theirs)
    parts = inbound_parts.c
    is_others = sa.exists().where(
        numbers.c.carrier_id == parts.carrier_id,
        numbers.c.digits == parts.recipient,
        numbers.c.account_id != account_id,
    )
    yield from gone(tx, inbound_parts, parts.sender == quoted.digits, sa.not_(is_others))
