"""Stores texts as if a carrier had brought them."""

from sqlalchemy.engine import Connection

from heliograph.base import clock, ids
from heliograph.inbound.tables import inbound
from heliograph.messages.read.message import INBOUND_PREFIX


def store_inbound(
    tx: Connection,
    account_id: str | None,
    text: str | None = "hello",
    *,
    sandbox: bool = False,
    sender: str | None = "233201234567",
    recipient: str = "4567",
    encoding: str = "GSM-7",
    parts: int = 1,
    keyword: str | None = None,
    at_ms: int | None = None,
) -> str:
    """Stores a text to an account, and returns its id. Of one with several parts, one came."""
    raw_id = ids.raw_of_number(ids.new_number())
    tx.execute(
        inbound.insert().values(
            id=raw_id,
            carrier_id=1,
            account_id=account_id,
            sandbox=sandbox,
            sender=sender,
            recipient=recipient,
            text=text,
            encoding=encoding,
            parts=parts,
            parts_received=1,
            pdu=None,
            repeats=0,
            received_at_ms=clock.now_ms() if at_ms is None else at_ms,
            keyword=keyword,
        )
    )
    return ids.text_of_raw(INBOUND_PREFIX, raw_id)
