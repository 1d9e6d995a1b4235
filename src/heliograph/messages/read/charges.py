"""Finds what a message has to do with the ledger: the entry that charged for its send, and those
that paid something of it back.
"""

from typing import Final, NamedTuple

import sqlalchemy as sa
from sqlalchemy.engine import Connection

from heliograph.base import ids
from heliograph.messages.read.message import CAMPAIGN_PREFIX, SEND_PREFIX, Message
from heliograph.messages.tables import sends
from heliograph.wallet import Entry, account_ledger

ENTRIES_MAX: Final = 5  # of each kind; a campaign may have several chunks, and refunds, at once


class MessageCharges(NamedTuple):
    """Holds entries of the ledger, oldest first, and for how many messages the charge was."""

    entries: list[Entry]
    messages_in_send: int


def charges_of(tx: Connection, message: Message, account_id: str) -> MessageCharges:
    """Returns what was charged for a message and refunded. Nothing is, in sandbox."""
    count = tx.execute(
        sa.select(sends.c.message_count).where(sends.c.id == message.send_id)
    ).scalar_one()
    if message.sandbox:
        return MessageCharges([], count)
    reference = (
        ids.text_of_raw(SEND_PREFIX, message.send_id)
        if message.campaign_id is None
        else ids.text_of_raw(CAMPAIGN_PREFIX, message.campaign_id)
    )
    moments = [("sms_charge", message.created_at_ms)]
    if message.refunded and message.failed_at_ms is not None:
        moments.append(("sms_refund", message.failed_at_ms))
    entries = [
        entry
        for entry_type, at_ms in moments
        for entry in account_ledger.entries_of_moment(
            tx, account_id, entry_type, reference, at_ms, limit=ENTRIES_MAX
        )
    ]
    return MessageCharges(entries, count)
