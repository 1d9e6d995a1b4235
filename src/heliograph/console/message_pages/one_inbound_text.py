"""Shows one text that a handset has sent: whose it is and why, and what it did. What it says is
shown to those who may read texts, one time, and the logs say so.
"""

from collections.abc import Sequence
from typing import Final, NamedTuple

from sqlalchemy.engine import Connection
from starlette.responses import Response

from heliograph import inbound
from heliograph.base import ids
from heliograph.base.errors import FieldError
from heliograph.carriers import BINARY
from heliograph.console.message_pages.carrier_choice import carrier_names
from heliograph.console.message_pages.inbound_texts import ListedText, listed_texts
from heliograph.console.operator_visit import OperatorVisit
from heliograph.console.rendering import page
from heliograph.inbound import InboundText, OwnNumber, conversations
from heliograph.inbound.keywords import KeywordAction, KeywordOwner, action_of
from heliograph.messages.read import MESSAGE_PREFIX
from heliograph.portal.page_request import PageRequest

# what a keyword does
ACTIONS: Final = {
    KeywordAction.NONE: "It is a keyword that is answered, and does nothing else.",
    KeywordAction.OPT_OUT: "It is a keyword that opts the phone out.",
    KeywordAction.OPT_IN: "It is a keyword that opts the phone in again.",
    KeywordAction.HELP: "It is a keyword that asks for help.",
}
NO_KEYWORD_ANY_MORE: Final = "It was a keyword when it came, and is none now."


class WayOfText(NamedTuple):
    """Says in sentences whose a text is and why, and what an operator can do, if anything."""

    why: str
    remedy: str = ""


def show_text(
    tx: Connection,
    request: PageRequest,
    visit: OperatorVisit,
    errors: Sequence[FieldError] = (),
) -> Response:
    """Shows a text that came in, without what it says. Raises NotFound."""
    return _render(tx, request, visit, shows_text=False)


def read_text(tx: Connection, request: PageRequest, visit: OperatorVisit) -> Response:
    """Shows a text that came in with what it says, and stores that this operator has seen it.
    Raises NotFound.
    """
    text_id = request.path["inbound"]
    text = inbound.any_inbound_text(tx, text_id)
    visit.audit(tx, text.account_id, "inbound.read", text_id, after="its text was read")
    return _render(tx, request, visit, shows_text=True)


def _render(
    tx: Connection, request: PageRequest, visit: OperatorVisit, *, shows_text: bool
) -> Response:
    text = inbound.any_inbound_text(tx, request.path["inbound"])
    [listed] = listed_texts(tx, [text], carrier_names(tx))
    number = inbound.number_of_carrier(tx, text.carrier_id, text.recipient)
    return page(
        "inbound_text.html",
        request,
        visit,
        each=listed,
        phone=None if text.sender is None else conversations.number_of(text.sender),
        number=number,
        way=_way_of(listed, number),
        answered=None
        if text.in_reply_to is None
        else ids.text_of_raw(MESSAGE_PREFIX, text.in_reply_to),
        did=_did(tx, text),
        shows_text=shows_text,
        is_binary=text.encoding == BINARY,
    )


def _way_of(listed: ListedText, number: OwnNumber | None) -> WayOfText:
    """Returns whose a text is, and why. What decided was the number as it was then."""
    text, digits = listed.text, listed.text.recipient
    if text.sandbox:
        return WayOfText("It came in the account's sandbox, to one of its senders.")
    if text.account_id is not None:
        if text.in_reply_to is not None:
            return WayOfText("It answers a message that the account had sent from this number.")
        if number is None:
            return WayOfText("The account had the number when the text came.")
        if number.account_id == text.account_id:
            return WayOfText("The account has the number.")
        if number.catch_all_id == text.account_id:
            return WayOfText("Several accounts share the number, and this one gets the rest.")
        return WayOfText(
            "Its keyword was this account's, or the number has been given to others since."
        )
    stays = "This text stays nobody's: whoever wrote it has to write again."
    if number is None:
        return WayOfText(
            f"{digits} is not one of your numbers at {listed.carrier}.",
            f"Add the number, so that the next texts belong to an account. {stays}",
        )
    if number.getter_id is None:
        return WayOfText(
            "Several accounts share the number. None of them had written to the phone lately, and"
            " none gets the rest.",
            f"Say on the page of the number which account gets the rest. {stays}",
        )
    return WayOfText("The number belonged to no account when the text came.", stays)


def _did(tx: Connection, text: InboundText) -> str | None:
    """Returns what the text did, as far as its keyword tells."""
    if text.keyword is None or text.account_id is None:
        return None
    owner = KeywordOwner(text.account_id, text.sandbox)
    action = action_of(tx, owner, text.keyword, text.carrier_id, text.recipient)
    return NO_KEYWORD_ANY_MORE if action is None else ACTIONS[action]
