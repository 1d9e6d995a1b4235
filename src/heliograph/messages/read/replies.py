"""Stores and reads what answers what: the texts from handsets that answer a message of ours, and
the text that a message of ours answers.
"""

from collections.abc import Sequence
from typing import Any, Final

import sqlalchemy as sa
from sqlalchemy.engine import Connection

from heliograph.base import ids
from heliograph.database.hot import HotTx
from heliograph.database.statements import Id, Insert, Row
from heliograph.messages.read.message import INBOUND_PREFIX, Message
from heliograph.messages.tables import answering_sends, message_replies

REPLIES_MAX: Final = 20  # ids that a message shows; `GET /inbound` has all


class MessageReply(Row, frozen=True):
    """Holds a row of `message_replies`: a text from a handset (`inbound`) answers a message."""

    message_id: Id
    inbound_id: Id


_STORE_REPLIES: Final = Insert("message_replies", MessageReply)


async def store_replies(tx: HotTx, replies: Sequence[MessageReply]) -> None:
    """Stores which texts from handsets answer which messages."""
    await _STORE_REPLIES.rows(tx, replies)


def answers_of(tx: Connection, message: Message) -> dict[str, Any]:
    """Returns `in_reply_to`, which is the text that a message answers, and `replies`, which are the
    newest texts that answer it, oldest first. The caller has made sure whose message it is.
    """
    answered = tx.execute(
        sa.select(answering_sends.c.inbound_id).where(answering_sends.c.send_id == message.send_id)
    ).scalar_one_or_none()
    replies = tx.execute(
        sa.select(message_replies.c.inbound_id)
        .where(message_replies.c.message_id == message.id)
        .order_by(message_replies.c.inbound_id.desc())
        .limit(REPLIES_MAX)
    ).scalars()
    return {
        "in_reply_to": None if answered is None else ids.text_of_raw(INBOUND_PREFIX, answered),
        "replies": [ids.text_of_raw(INBOUND_PREFIX, each) for each in reversed(replies.all())],
    }
