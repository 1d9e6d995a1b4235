"""Stores texts as if a carrier had brought them."""

from sqlalchemy.engine import Connection

from heliograph.base import clock, ids
from heliograph.inbound.tables import inbound
from heliograph.messages.read import INBOUND_PREFIX


def store_inbound(
    tx: Connection, account_id: str | None, text: str = "hello", *, sandbox: bool = False
) -> str:
    """Stores a text to an account, and returns its id."""
    raw_id = ids.raw_of_number(ids.new_number())
    tx.execute(
        inbound.insert().values(
            id=raw_id,
            carrier_id=1,
            account_id=account_id,
            sandbox=sandbox,
            sender="233201234567",
            recipient="4567",
            text=text,
            encoding="GSM-7",
            parts=1,
            parts_received=1,
            pdu=None,
            repeats=0,
            received_at_ms=clock.now_ms(),
        )
    )
    return ids.text_of_raw(INBOUND_PREFIX, raw_id)
