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
    tx: Connection, account_id: str, asked: Sequence[NewerThan], *, sandbox: bool
) -> dict[int, Message]:
    """Returns the newest message above its id to each of these phones, by the phone. The index of
    messages by recipient is looked into once for each phone; the ids leave out partitions.
    """
    assert len(asked) <= PHONES_MAX
    if not asked:
        return {}
    wanted = (
        sa.values(sa.column("recipient", sa.BigInteger), sa.column("after", RawId), name="wanted")
        .data([tuple(each) for each in asked])
        .cte("wanted")
    )
    newest = (
        sa.select(messages.c.id)
        .where(
            messages.c.account_id == account_id,
            messages.c.recipient == wanted.c.recipient,
            messages.c.sandbox.is_(sandbox),
            messages.c.id > wanted.c.after,
        )
        .order_by(messages.c.id.desc())
        .limit(1)
        .correlate(wanted)
        .scalar_subquery()
    )
    newest_ids = tx.execute(sa.select(newest).select_from(wanted)).scalars()
    found = [each for each in newest_ids if each is not None]
    query = WHOLE_MESSAGES.where(messages.c.id.in_(found))
    read = records_of(Message, tx.execute(query)) if found else []
    return {each.recipient: each for each in read if each.recipient is not None}
