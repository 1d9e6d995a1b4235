"""Reads texts that came in: one, or a page of them."""

from typing import Any, Final, NamedTuple

import sqlalchemy as sa
from sqlalchemy.engine import Connection

from heliograph.base import ids
from heliograph.base.clock import rfc3339
from heliograph.base.errors import NotFound
from heliograph.base.paging import PageWanted
from heliograph.database.reads import records_of
from heliograph.inbound.tables import inbound
from heliograph.messages.read import INBOUND_PREFIX, MESSAGE_PREFIX


class InboundText(NamedTuple):
    """Holds a text that came in. Ids are raw. With the encoding `binary`, `text` is base64."""

    id: str
    carrier_id: int
    account_id: str | None
    sandbox: bool
    sender: str | None
    recipient: str
    text: str | None
    encoding: str
    parts: int
    parts_received: int
    repeats: int
    received_at_ms: int
    keyword: str | None
    opt_out_suspected: bool
    in_reply_to: str | None


_NO_SUCH_TEXT: Final = "There is no such inbound text."

INBOUND_COLUMNS: Final = [inbound.c[name] for name in InboundText._fields]


def inbound_page(
    tx: Connection, account_id: str, wanted: PageWanted, *, sandbox: bool
) -> list[InboundText]:
    """Returns at most `limit` + 1 texts to an account, newest first: the one too many tells that
    there is a next page.
    """
    query = sa.select(*INBOUND_COLUMNS).where(
        inbound.c.account_id == account_id, inbound.c.sandbox.is_(sandbox)
    )
    if wanted.before is not None:
        query = query.where(inbound.c.id < wanted.before)
    rows = tx.execute(query.order_by(inbound.c.id.desc()).limit(wanted.limit + 1))
    return records_of(InboundText, rows)


def inbound_text(tx: Connection, account_id: str, text_id: str, *, sandbox: bool) -> InboundText:
    """Returns a text to an account. Raises NotFound, the same for another account's and for
    none.
    """
    text = any_inbound_text(tx, text_id)
    if (text.account_id, text.sandbox) != (account_id, sandbox):
        raise NotFound(_NO_SUCH_TEXT)
    return text


def any_inbound_text(tx: Connection, text_id: str) -> InboundText:
    """Returns a text, for the operator: anybody's, or nobody's. Raises NotFound."""
    query = sa.select(*INBOUND_COLUMNS).where(
        inbound.c.id == ids.raw_of_text(INBOUND_PREFIX, text_id)
    )
    row = tx.execute(query).one_or_none()
    if row is None:
        raise NotFound(_NO_SUCH_TEXT)
    return InboundText(**row._asdict())


def newest_inbound(
    tx: Connection, *, limit: int, account_id: str | None = None, unowned: bool = False
) -> list[InboundText]:
    """Returns the newest texts, for the operator: everybody's, one account's, or nobody's."""
    query = sa.select(*INBOUND_COLUMNS).order_by(inbound.c.id.desc()).limit(limit)
    if account_id is not None:
        query = query.where(inbound.c.account_id == account_id)
    if unowned:
        query = query.where(inbound.c.account_id.is_(None))
    return records_of(InboundText, tx.execute(query))


def as_inbound_record(text: InboundText) -> dict[str, Any]:
    """Returns a text as its account sees it."""
    return {
        "id": ids.text_of_raw(INBOUND_PREFIX, text.id),
        "from": text.sender,
        "to": text.recipient,
        "text": text.text,
        "encoding": text.encoding,
        "parts": text.parts,
        "parts_received": text.parts_received,
        "complete": text.parts_received == text.parts,
        "keyword": text.keyword,
        "opt_out_suspected": text.opt_out_suspected,
        "in_reply_to": None
        if text.in_reply_to is None
        else ids.text_of_raw(MESSAGE_PREFIX, text.in_reply_to),
        "sandbox": text.sandbox,
        "received_at": rfc3339(text.received_at_ms),
    }
