"""Finds the text that a send is to answer, and whether its phone has asked for help by it."""

from typing import Final

from sqlalchemy.engine import Connection

from heliograph.base import clock
from heliograph.base.clock import DAY_MS
from heliograph.base.errors import NotFound
from heliograph.base.forms import shown
from heliograph.base.short_texts import refused
from heliograph.inbound.keywords import KeywordAction, KeywordOwner, action_of
from heliograph.inbound.read import InboundText, inbound_text
from heliograph.messages.accept import AnsweredText

HELPED_WITHIN_MS: Final = DAY_MS  # who has opted out and asks for help expects answers for so long


def answered_text(tx: Connection, account_id: str, text_id: str, *, sandbox: bool) -> AnsweredText:
    """Returns the text that a send is to answer. Raises InvalidRequest unless it is the
    account's.
    """
    try:
        text = inbound_text(tx, account_id, text_id, sandbox=sandbox)
    except NotFound as error:
        raise refused(
            "in_reply_to",
            f"must be the id of an inbound text of this account and mode, not {shown(text_id)}",
        ) from error
    return AnsweredText(text.id, text.sender if _asks_for_help(tx, account_id, text) else None)


def _asks_for_help(tx: Connection, account_id: str, text: InboundText) -> bool:
    if text.keyword is None or text.received_at_ms < clock.now_ms() - HELPED_WITHIN_MS:
        return False
    owner = KeywordOwner(account_id, text.sandbox)
    action = action_of(tx, owner, text.keyword, text.carrier_id, text.recipient)
    return action is KeywordAction.HELP
