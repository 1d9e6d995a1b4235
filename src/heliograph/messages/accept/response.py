"""Makes the response to a send from what is stored of it. The first response and every replay are
the same by construction.
"""

from typing import Any, Final, NamedTuple

import msgspec

from heliograph.base import clock, ids
from heliograph.base.json import encode
from heliograph.database.statements import BigInt, Bool, Id, Int, Row, SmallInt, Text


class Send(Row, frozen=True):
    """Holds a send as its response needs it. Its fields are the columns that it is read from. Ids
    are raw.
    """

    id: Id
    account_id: Id
    sandbox: Bool
    type: Text
    sender: Text
    encoding: Text
    segments: SmallInt
    message_count: Int
    reference: Text | None
    credits_required: BigInt
    credits_used: BigInt
    credits_remaining: BigInt
    exceptions: Text | None
    created_at_ms: BigInt


class RejectedRecipient(NamedTuple):
    """Holds a recipient to whom nothing is sent, by its place in the request, and why."""

    place: int
    recipient: str
    reason: str

    def as_record(self) -> dict[str, Any]:
        return {"index": self.place, "recipient": self.recipient, "reason": self.reason}


class RepeatedRecipient(NamedTuple):
    """Says which recipient repeats which one before it, by their places in the request."""

    place: int
    first: int


class SendExceptions(msgspec.Struct):
    """Holds what the ids of a send alone do not tell: which recipients were rejected, and which
    repeat another one. It is stored as JSON, in `sends.exceptions`.
    """

    rejected: list[RejectedRecipient]
    duplicates: list[RepeatedRecipient]

    def stored(self) -> str | None:
        """Returns the JSON; None if there are none."""
        return encode(self).decode() if self.rejected or self.duplicates else None


NO_EXCEPTIONS: Final = SendExceptions([], [])


def read_exceptions(stored: str) -> SendExceptions:
    """Returns the exceptions of a send, from their JSON. Raises msgspec.DecodeError for a text that
    is anything else.
    """
    return _DECODER.decode(stored)


_DECODER: Final = msgspec.json.Decoder(SendExceptions)


def response_of_send(send: Send, *, dry_run: bool = False) -> dict[str, Any]:
    """Returns `data` of POST /sms/send (docs/api.md, "Answer of a send")."""
    number = int(send.id, 16)
    exceptions = read_exceptions(send.exceptions) if send.exceptions else NO_EXCEPTIONS
    message_ids: list[str | None] = []
    if not dry_run:
        message_ids = _places(ids.texts_of_run("msg", number + 1, send.message_count), exceptions)
    else:
        message_ids = [None] * (
            send.message_count + len(exceptions.rejected) + len(exceptions.duplicates)
        )
    return {
        "send_id": None if dry_run else ids.text_of_number("snd", number),
        "type": send.type,
        "status": "dry_run" if dry_run else "queued",
        "message_id": next(filter(None, message_ids), None) if send.message_count == 1 else None,
        "message_ids": message_ids,
        "accepted": send.message_count,
        "duplicates": len(exceptions.duplicates),
        "rejected": [recipient.as_record() for recipient in exceptions.rejected],
        "encoding": send.encoding,
        "segments": send.segments,
        "credits_required": send.credits_required,
        "credits_used": send.credits_used,
        "credits_remaining": send.credits_remaining,
        "reference": send.reference,
        "sandbox": bool(send.sandbox),
        "created_at": clock.rfc3339(send.created_at_ms),
    }


def _places(accepted: list[str], exceptions: SendExceptions) -> list[str | None]:
    """Returns `message_ids`. `message_ids[i]` belongs to `recipients[i]`: it is null if
    rejected, and the first one's id if a duplicate.
    """
    if exceptions is NO_EXCEPTIONS:
        return list(accepted)
    rejected = {recipient.place for recipient in exceptions.rejected}
    duplicates = {recipient.place: recipient.first for recipient in exceptions.duplicates}
    places: list[str | None] = []
    remaining = iter(accepted)
    for index in range(len(accepted) + len(rejected) + len(duplicates)):
        if index in rejected:
            places.append(None)
        elif index in duplicates:
            places.append(places[duplicates[index]])
        else:
            places.append(next(remaining))
    return places
