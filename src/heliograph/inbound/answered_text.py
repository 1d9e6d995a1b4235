"""Finds the text that a send is to answer, and whether its phone has asked for help by it."""

from collections.abc import Sequence
from typing import Final

import sqlalchemy as sa
from sqlalchemy.engine import Connection

from heliograph.base import clock
from heliograph.base.clock import DAY_MS
from heliograph.base.errors import NotFound
from heliograph.base.forms import quote_value
from heliograph.base.paging import first_id_of
from heliograph.base.short_texts import invalid_field
from heliograph.database.reads import records_of
from heliograph.inbound.keywords import KeywordAction, KeywordOwner, action_of
from heliograph.inbound.read import INBOUND_COLUMNS, InboundText, inbound_text
from heliograph.inbound.tables import inbound
from heliograph.messages.accept import AnsweredText, answerable_texts

HELPED_WITHIN_MS: Final = DAY_MS  # who has opted out and asks for help expects answers for so long
LOOKED_AT_MAX: Final = 20  # keywords of one phone: a page asks about them each time it is shown


def answered_text(tx: Connection, account_id: str, text_id: str, *, sandbox: bool) -> AnsweredText:
    """Returns the text that a send is to answer. Raises InvalidRequest unless it is the
    account's.
    """
    try:
        text = inbound_text(tx, account_id, text_id, sandbox=sandbox)
    except NotFound as error:
        raise invalid_field(
            "in_reply_to",
            f"must be the id of an inbound text of this account and mode, not"
            f" {quote_value(text_id)}",
        ) from error
    return AnsweredText(text.id, text.sender if _asks_for_help(tx, account_id, text) else None)


def help_to_answer(
    tx: Connection, account_id: str, phone: str, *, sandbox: bool
) -> AnsweredText | None:
    """Returns the newest text by which a phone (E.164 digits) has asked for help and an answer to
    which still reaches the phone, though it has opted out. Returns None if there is none.
    """
    helped = [
        AnsweredText(text.id, phone)
        for text in _keywords_of(tx, account_id, phone, sandbox)
        if _asks_for_help(tx, account_id, text)
    ]
    answerable = answerable_texts(tx, account_id, helped)
    return answerable[0] if answerable else None


def _keywords_of(
    tx: Connection, account_id: str, phone: str, sandbox: bool
) -> Sequence[InboundText]:
    """Returns the newest keywords that a phone has sent within the time of an answer, newest
    first.
    """
    columns = inbound.c
    query = sa.select(*INBOUND_COLUMNS).where(
        columns.account_id == account_id,
        columns.sandbox.is_(sandbox),
        columns.sender == phone,
        columns.id >= first_id_of(clock.now_ms() - HELPED_WITHIN_MS),
        columns.keyword.is_not(None),
    )
    rows = tx.execute(query.order_by(columns.id.desc()).limit(LOOKED_AT_MAX))
    return records_of(InboundText, rows)


def _asks_for_help(tx: Connection, account_id: str, text: InboundText) -> bool:
    if text.keyword is None or text.received_at_ms < clock.now_ms() - HELPED_WITHIN_MS:
        return False
    owner = KeywordOwner(account_id, text.sandbox)
    action = action_of(tx, owner, text.keyword, text.carrier_id, text.recipient)
    return action is KeywordAction.HELP
