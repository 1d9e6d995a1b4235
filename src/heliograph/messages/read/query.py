"""Puts together the query that reads messages with what they share with their sends."""

from collections.abc import Iterable
from typing import Any, Final

import sqlalchemy as sa

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
