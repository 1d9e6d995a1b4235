"""Puts together the query that reads messages with what they share with their sends, and the
condition that picks many of them by their ids.
"""

import json
from collections.abc import Iterable
from typing import Any, Final

import sqlalchemy as sa
from sqlalchemy.engine import Connection

from heliograph.database.arrays import literal
from heliograph.messages.tables import groups, messages, sends

_FROM_SEND: Final = {
    "type": sends.c.type,
    "sender": sends.c.sender,
    "text": sends.c.text,
    "encoding": sends.c.encoding,
    "reference": sends.c.reference,
    "created_at_ms": sends.c.created_at_ms,
    "campaign_id": groups.c.campaign_id,
}


def messages_with(fields: Iterable[str]) -> sa.Select[Any]:
    """Returns the query for these fields of messages. Some of them stand in the message's send, and
    one in its group.
    """
    return (
        sa.select(
            *(_FROM_SEND[name] if name in _FROM_SEND else messages.c[name] for name in fields)
        )
        .join_from(messages, sends, sends.c.id == messages.c.send_id)
        .outerjoin(groups, groups.c.id == sends.c.group_id)
    )


def among(tx: Connection, column: sa.Column[str], raw_ids: list[str]) -> sa.ColumnElement[bool]:
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
