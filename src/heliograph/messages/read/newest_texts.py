"""Reads the newest message to each of some phones, if it is newer than what the phone wrote."""

from collections.abc import Sequence
from typing import Final, NamedTuple

import sqlalchemy as sa
from sqlalchemy.engine import Connection

from heliograph.database.database import RawId
from heliograph.database.reads import records_of
from heliograph.messages.read.message import WHOLE_MESSAGES, Message
from heliograph.messages.tables import messages

PHONES_MAX: Final = 1_000  # asked for at once: as many as a page of a list may have


class NewerThan(NamedTuple):
    """Names a phone, and the raw id that a message to it has to be above."""

    recipient: int
    after: str


def newest_to(
    tx: Connection, account_id: str, phones: Sequence[NewerThan], *, sandbox: bool
) -> dict[int, Message]:
    """Returns the newest message above its id to each of these phones, by the phone. The index of
    messages by recipient is looked into once for each phone; the ids leave out partitions.
    """
    assert len(phones) <= PHONES_MAX
    if not phones:
        return {}
    asked_phones = (
        sa.values(sa.column("recipient", sa.BigInteger), sa.column("after", RawId), name="wanted")
        .data([tuple(each) for each in phones])
        .cte("wanted")
    )
    newest = (
        sa.select(messages.c.id)
        .where(
            messages.c.account_id == account_id,
            messages.c.recipient == asked_phones.c.recipient,
            messages.c.sandbox.is_(sandbox),
            messages.c.id > asked_phones.c.after,
        )
        .order_by(messages.c.id.desc())
        .limit(1)
        .correlate(asked_phones)
        .scalar_subquery()
    )
    newest_ids = tx.execute(sa.select(newest).select_from(asked_phones)).scalars()
    message_ids = [each for each in newest_ids if each is not None]
    query = WHOLE_MESSAGES.where(messages.c.id.in_(message_ids))
    newest_messages = records_of(Message, tx.execute(query)) if message_ids else []
    return {each.recipient: each for each in newest_messages if each.recipient is not None}
