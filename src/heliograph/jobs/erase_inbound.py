"""Erases one phone number from the texts that handsets have sent."""

from collections.abc import Iterator
from typing import Final, NamedTuple

import sqlalchemy as sa
from sqlalchemy.engine import Connection

from heliograph.accounts.tables import accounts
from heliograph.database.reads import stream_records
from heliograph.inbound import WrittenSender, international
from heliograph.inbound.tables import inbound, inbound_parts, keyword_replies, numbers
from heliograph.jobs.row_changes import RowChange, delete_rows
from heliograph.text.phones_in_text import Quoted

ENDING: Final = 6  # digits: as a number ends however a carrier writes it


class _NamingText(NamedTuple):
    """Holds those fields of a text that may name a number. There may be millions of texts."""

    id: str
    account_id: str | None
    sender: str
    text: str | None


def inbound_changes(tx: Connection, account_id: str, quoted: Quoted) -> Iterator[RowChange]:
    """Takes number and text from what the number sent to the account, and to nobody. A text of
    another number that names it goes too. Parts that still wait are deleted, but for those to other
    accounts. A sender is read as STOP from it is: a carrier may write it as it is dialled in the
    account's country.
    """
    home_country = tx.execute(
        sa.select(accounts.c.country_code).where(accounts.c.id == account_id)
    ).scalar_one()

    def is_number(sender: str, *, is_national: bool = False) -> bool:
        written = WrittenSender(sender, is_national)
        return quoted.digits in (sender, international(written, home_country))

    columns = inbound.c
    ending = quoted.digits[-ENDING:]
    query = sa.select(columns.id, columns.account_id, columns.sender, columns.text).where(
        sa.or_(
            columns.account_id == account_id,
            columns.account_id.is_(None) & columns.sender.endswith(ending),
        ),
        columns.sender.is_not(None),
    )
    for received in stream_records(tx, query, _NamingText):
        if is_number(received.sender):
            yield RowChange(inbound, (received.id,), {"sender": None, "text": None, "pdu": None})
        elif received.account_id is not None and quoted.stands_in(received.text):
            yield RowChange(inbound, (received.id,), {"text": None, "pdu": None})
    replied = keyword_replies.c
    is_theirs = (replied.account_id == account_id) & (replied.phone == int(quoted.digits))
    yield from delete_rows(tx, keyword_replies, is_theirs)
    parts = inbound_parts.c
    is_others = sa.exists().where(
        numbers.c.carrier_id == parts.carrier_id,
        numbers.c.digits == parts.recipient,
        numbers.c.account_id != account_id,
    )
    as_written = sa.tuple_(parts.sender, parts.is_national)
    senders = tx.execute(
        sa.select(parts.sender, parts.is_national).distinct().where(parts.sender.endswith(ending))
    )
    own = [
        (row.sender, row.is_national)
        for row in senders
        if is_number(row.sender, is_national=row.is_national)
    ]
    yield from delete_rows(tx, inbound_parts, as_written.in_(own), sa.not_(is_others))
