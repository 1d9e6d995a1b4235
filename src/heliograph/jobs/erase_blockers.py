"""Finds out why a number cannot be erased yet: something of it is still to be sent, and that must
not lose its recipient.
"""

from collections.abc import Iterator

import sqlalchemy as sa
from sqlalchemy.engine import Connection

from heliograph.base import ids
from heliograph.base.clock import rfc3339
from heliograph.base.errors import Conflict
from heliograph.campaigns.states import STARTABLE
from heliograph.campaigns.tables import campaign_recipients, campaigns
from heliograph.database.reads import stream
from heliograph.messages.read import CAMPAIGN_PREFIX
from heliograph.messages.states import QUEUED
from heliograph.messages.tables import inflight, messages, queue, sends
from heliograph.text.phones_in_text import Quoted


class StillUnderWay(Conflict):
    """Something to this number is still to be sent."""

    reason = "still_under_way"


def refuse_while_under_way(
    tx: Connection, account_id: str, quoted: Quoted, *, erased: int = 0
) -> None:
    """Raises StillUnderWay, with all that is. `erased` is the number of rows that were erased by
    then.
    """
    found = [
        *_messages(tx, account_id, quoted),
        *_texts(tx, account_id, quoted),
        *_campaigns(tx, account_id, quoted),
    ]
    if found:
        so_far = (
            f"{erased} rows were erased, but something new is still to be sent to the number; erase"
            " it again later"
            if erased
            else "Nothing was erased"
        )
        raise StillUnderWay(f"{so_far}: {'; '.join(found)}.")


def _messages(tx: Connection, account_id: str, quoted: Quoted) -> Iterator[str]:
    columns = messages.c
    on_its_way = (columns.status == QUEUED) | sa.exists().where(inflight.c.message_id == columns.id)
    count, until_ms = tx.execute(
        sa.select(sa.func.count(), sa.func.max(sends.c.expires_at_ms))
        .select_from(messages.join(sends, sends.c.id == columns.send_id))
        .where(
            columns.account_id == account_id, columns.recipient == int(quoted.digits), on_its_way
        )
    ).one()
    if count:
        yield (
            f"{_so_many(count, 'message', 'to this number')} not sent yet, or not answered;"
            f" the validity ends at {rfc3339(until_ms)}"
        )


def _texts(tx: Connection, account_id: str, quoted: Quoted) -> Iterator[str]:
    """Yields texts to others that name the number."""
    in_flight = sa.select(messages.c.send_id).join(inflight, inflight.c.message_id == messages.c.id)
    query = sa.select(sends.c.id, sends.c.text, sends.c.expires_at_ms).where(
        sends.c.account_id == account_id,
        sends.c.text.is_not(None),
        sends.c.id.in_(sa.union_all(sa.select(queue.c.send_id), in_flight)),
    )
    until = [row.expires_at_ms for row in stream(tx, query) if quoted.stands_in(row.text)]
    if until:
        yield (
            f"{_so_many(len(until), 'text', 'with this number in it')} not sent yet;"
            f" the validity ends at {rfc3339(max(until))}"
        )


def _campaigns(tx: Connection, account_id: str, quoted: Quoted) -> Iterator[str]:
    """Yields what is still to be sent of campaigns. One that has not begun leaves out a recipient
    whose row is gone; a text that quotes the number it would send with `…` to somebody else.
    """
    to_come = sa.exists().where(
        campaign_recipients.c.group_id == campaigns.c.group_id,
        campaign_recipients.c.recipient == int(quoted.digits),
        campaign_recipients.c.recipient > campaigns.c.cursor,
        sa.not_(campaign_recipients.c.opted_out),
    )
    has_begun = campaigns.c.status.not_in(STARTABLE)
    query = sa.select(
        campaigns.c.id,
        campaigns.c.group_id,
        campaigns.c.freezing,
        has_begun.label("is_frozen"),
        (has_begun & to_come).label("is_to_come"),
        campaigns.c.name,
        campaigns.c.text,
        campaigns.c.audience,
    ).where(campaigns.c.account_id == account_id, campaigns.c.ended_at_ms.is_(None))
    for row in tx.execute(query).all():
        its_id = ids.text_of_raw(CAMPAIGN_PREFIX, row.id)
        if row.freezing is not None:
            yield (
                f"the campaign {its_id} is just being launched, or its file is being read: erase"
                " the number again when that has ended, or 30 s after its process was killed"
            )
        elif (
            row.is_to_come
            or any(map(quoted.stands_in, (row.name, row.text, row.audience)))
            or _quotes(tx, row.group_id, quoted, row.is_frozen)
        ):
            yield (
                f"the campaign {its_id} has the number in its audience or its texts, and has not"
                " ended: it can be canceled"
            )


def _quotes(tx: Connection, group_id: int, quoted: Quoted, is_frozen: bool) -> bool:
    """Returns whether what a campaign has for somebody else names the number. Whoever was left
    out when it was frozen gets nothing.
    """
    texts = sa.select(campaign_recipients.c.text).where(
        campaign_recipients.c.group_id == group_id,
        campaign_recipients.c.recipient != int(quoted.digits),
        campaign_recipients.c.text.is_not(None),
        *([sa.not_(campaign_recipients.c.opted_out)] if is_frozen else []),
    )
    # all of them: a cursor that is left half read stays open
    return sum(quoted.stands_in(text) for (text,) in stream(tx, texts)) > 0


def _so_many(count: int, what: str, which: str) -> str:
    return f"1 {what} {which} is" if count == 1 else f"{count} {what}s {which} are"
