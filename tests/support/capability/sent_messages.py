"""Stores messages as if they had been sent, for tests of what comes back."""

from sqlalchemy.engine import Connection

from heliograph.base import ids
from heliograph.messages.tables import messages, sends


def store_sent(
    tx: Connection,
    account_id: str,
    sender: str,
    phone: str,
    *,
    at_ms: int,
    sandbox: bool = False,
    status: str = "sent",
    error_code: str | None = None,
    sent_at_ms: int | None = None,
) -> str:
    """Stores a message to one phone, and returns its id."""
    number = ids.new_number(at_ms)
    shared = {"account_id": account_id, "sandbox": sandbox, "segments": 1}
    tx.execute(
        sends.insert().values(
            **shared,
            id=ids.raw_of_number(number),
            type="sms",
            sender=sender,
            text="hello",
            encoding="GSM-7",
            message_count=1,
            expires_at_ms=at_ms,
            credits_required=1,
            credits_used=1,
            credits_remaining=0,
            created_at_ms=at_ms,
        )
    )
    tx.execute(
        messages.insert().values(
            **shared,
            id=ids.raw_of_number(number + 1),
            send_id=ids.raw_of_number(number),
            recipient=int(phone),
            carrier_id=1,
            status=status,
            error_code=error_code,
            sent_at_ms=sent_at_ms,
            credits=1,
        )
    )
    return ids.text_of_number("msg", number + 1)
