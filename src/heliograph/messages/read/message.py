"""Reads a message as clients see it, with its timeline (docs/api.md, "Messages")."""

from collections.abc import Iterable
from typing import Any, Final, NamedTuple

import sqlalchemy as sa
from sqlalchemy.engine import Connection

from heliograph.base import ids
from heliograph.base.clock import rfc3339, rfc3339_or_none
from heliograph.base.errors import NotFound
from heliograph.messages.read.query import among, messages_with
from heliograph.messages.states import DELIVERED, FAILED, QUEUED, SENT
from heliograph.messages.tables import messages, sends

MESSAGE_PREFIX: Final = "msg"
SEND_PREFIX: Final = "snd"
CAMPAIGN_PREFIX: Final = "cmp"
INBOUND_PREFIX: Final = "inb"
OTP: Final = "otp"


class Message(NamedTuple):
    """Holds a message with what it shares with its send. Ids are raw; `text` and `recipient` are
    None after retention.
    """

    id: str
    send_id: str
    type: str
    sender: str
    recipient: int | None
    country_code: str | None
    text: str | None
    encoding: str
    segments: int
    credits: int
    refunded: int
    status: str
    error_code: str | None
    error_message: str | None
    reference: str | None
    sandbox: bool
    created_at_ms: int
    sent_at_ms: int | None
    delivered_at_ms: int | None
    failed_at_ms: int | None
    campaign_id: str | None


WHOLE_MESSAGES: Final = messages_with(Message._fields)


def message_of(tx: Connection, account_id: str, message_id: str, *, sandbox: bool) -> Message:
    """Returns the message with this id in text form. Raises NotFound, also for another account's
    and the other mode's.
    """
    raw = ids.raw_of_text(MESSAGE_PREFIX, message_id)
    row = (
        None
        if raw is None
        else tx.execute(
            WHOLE_MESSAGES.where(
                messages.c.id == raw,
                messages.c.account_id == account_id,
                messages.c.sandbox.is_(sandbox),
            )
        ).one_or_none()
    )
    if row is None:
        raise NotFound("There is no such message.")
    return Message(**row._asdict())


def one_time_passwords(tx: Connection, message_ids: Iterable[str]) -> set[str]:
    """Returns which of these are ids, in text form, of one-time passwords, whoever they belong
    to.
    """
    raw = {message_id: ids.raw_of_text(MESSAGE_PREFIX, message_id) for message_id in message_ids}
    wanted = sorted(each for each in raw.values() if each is not None)
    if not wanted:
        return set()
    found = set(
        tx.execute(
            sa.select(messages.c.id)
            .join_from(messages, sends, sends.c.id == messages.c.send_id)
            .where(among(tx, messages.c.id, wanted), sends.c.type == OTP)
        ).scalars()
    )
    return {message_id for message_id, each in raw.items() if each in found}


def handed_to(tx: Connection, carrier_id: int, raw_ids: list[str]) -> set[str]:
    """Returns which of these messages (raw ids) are with this carrier, or are to go there."""
    query = sa.select(messages.c.id).where(
        among(tx, messages.c.id, raw_ids), messages.c.carrier_id == carrier_id
    )
    return set(tx.execute(query).scalars()) if raw_ids else set()


def as_record(message: Message) -> dict[str, Any]:
    """Returns the fields of a message (docs/api.md, "Messages")."""
    return {
        "id": ids.text_of_raw(MESSAGE_PREFIX, message.id),
        "send_id": ids.text_of_raw(SEND_PREFIX, message.send_id),
        "campaign_id": None
        if message.campaign_id is None
        else ids.text_of_raw(CAMPAIGN_PREFIX, message.campaign_id),
        "type": message.type,
        "sender": message.sender,
        "recipient": None if message.recipient is None else str(message.recipient),
        "country_code": message.country_code,
        "message": None if message.type == OTP else message.text,
        "encoding": message.encoding,
        "segments": message.segments,
        "credits": message.credits,
        "credits_refunded": message.refunded,
        "status": message.status,
        "error": _error(message),
        "reference": message.reference,
        "sandbox": bool(message.sandbox),
        "created_at": rfc3339(message.created_at_ms),
        "sent_at": rfc3339_or_none(message.sent_at_ms),
        "delivered_at": rfc3339_or_none(message.delivered_at_ms),
        "failed_at": rfc3339_or_none(message.failed_at_ms),
    }


def _error(message: Message) -> dict[str, str | None] | None:
    return (
        None
        if message.error_code is None
        else {"code": message.error_code, "message": message.error_message}
    )


def timeline(message: Message) -> list[dict[str, str | None]]:
    """Returns what became of a message and when, oldest first: `{status, at, detail}`. The
    detail of a failure is why.
    """
    moments = (
        (QUEUED, message.created_at_ms, None),
        (SENT, message.sent_at_ms, None),
        (DELIVERED, message.delivered_at_ms, None),
        (FAILED, message.failed_at_ms, message.error_message),
    )
    return [
        {"status": status, "at": rfc3339(at_ms), "detail": detail}
        for status, at_ms, detail in moments
        if at_ms is not None
    ]
