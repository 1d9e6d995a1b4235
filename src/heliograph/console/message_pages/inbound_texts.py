"""Lists texts that handsets have sent, of all accounts. What a text says stands on its own page."""

from collections.abc import Mapping
from typing import Final, NamedTuple

from sqlalchemy.engine import Connection
from starlette.responses import RedirectResponse, Response

from heliograph.accounts import Account
from heliograph.base import ids
from heliograph.base.errors import FieldError, InvalidRequest
from heliograph.base.forms import Query
from heliograph.base.paging import paging_fields, read_page
from heliograph.base.short_texts import invalid_field
from heliograph.console.asked_mode import SANDBOX, mode_asked
from heliograph.console.message_pages.carrier_choice import CarrierNames, carrier_names
from heliograph.console.named_account import OwnerOfRow, account_named, owners_of_rows
from heliograph.console.navigation import INBOUND
from heliograph.console.operator_visit import OperatorVisit
from heliograph.console.rendering import page
from heliograph.inbound import INBOUND_PREFIX, InboundText
from heliograph.inbound.find import FoundInbound, InboundFilter, InboundState, find_inbound
from heliograph.inbound.tables import ADDRESS_MAX
from heliograph.portal.filled_form import choice_of
from heliograph.portal.list_page import older_query
from heliograph.portal.page_request import PageRequest
from heliograph.portal.rendering import HEADERS, SEE_OTHER
from heliograph.text import parse_phone

TEXTS_SHOWN_MAX: Final = 50
# what a list may be narrowed to, in words
STATES: Final = {
    InboundState.UNOWNED: "belongs to no account",
    InboundState.INCOMPLETE: "parts are missing",
    InboundState.SUSPECTED: "seems to ask for no more texts",
    InboundState.KEYWORD: "is a keyword",
}


class ListedText(NamedTuple):
    """Holds a text as a line of a list, without what it says. `owner` is None if no account has
    it.
    """

    text: InboundText
    text_id: str
    owner: OwnerOfRow | None
    carrier: str

    @property
    def states(self) -> list[str]:
        """Returns in words what is special about it."""
        text = self.text
        missing = text.parts - text.parts_received
        words = {
            "no account": text.account_id is None,
            f"{missing} of {text.parts} parts missing": missing > 0,
            STATES[InboundState.SUSPECTED]: text.opt_out_suspected,
            "keyword": text.keyword is not None,
            "sandbox": text.sandbox,
        }
        return [word for word, is_so in words.items() if is_so]


def show_list(tx: Connection, request: PageRequest, visit: OperatorVisit) -> Response:
    """Shows the texts that the query selects, newest first. One that is named by its id is shown
    itself.
    """
    query = Query(paging_fields(request.sent.query))
    wanted = read_page(query, most=TEXTS_SHOWN_MAX)
    asked = {name: value.strip() for name, value in request.sent.query}
    if ids.raw_of_text(INBOUND_PREFIX, asked.get("phone", "")) is not None:
        return RedirectResponse(f"{INBOUND}/{asked['phone']}", SEE_OTHER, HEADERS)
    errors: list[FieldError] = []
    found = FoundInbound([], None)
    try:
        query.finish()
        found = find_inbound(tx, _read(tx, asked), wanted)
    except InvalidRequest as refused:
        errors = list(refused.fields)
    return page(
        "inbound_texts.html",
        request,
        visit,
        status=400 if errors else 200,
        texts=listed_texts(tx, found.texts, carrier_names(tx)),
        older=older_query(request, found.next_before),
        is_first=wanted.before is None,
        is_asked=any(asked.get(name) for name in ("phone", "number", "account", "state", "mode")),
        states=STATES,
        typed=asked,
        errors={error.field: error.message for error in errors},
    )


def listed_texts(tx: Connection, found: list[InboundText], names: CarrierNames) -> list[ListedText]:
    """Returns texts as lines of a list."""
    owners = owners_of_rows(tx, {each.account_id for each in found if each.account_id})
    return [
        ListedText(
            each,
            ids.text_of_raw(INBOUND_PREFIX, each.id),
            owners.get(each.account_id or ""),
            names.of(each.carrier_id),
        )
        for each in found
    ]


def _read(tx: Connection, asked: Mapping[str, str]) -> InboundFilter:
    """Returns which texts are selected. Raises InvalidRequest."""
    state, account = None, None
    if asked.get("state"):
        state = InboundState(choice_of("state", asked["state"], tuple(STATES)))
    if asked.get("account"):
        account = account_named(tx, "account", asked["account"])
        if state is InboundState.UNOWNED:
            raise invalid_field("account", "must be empty for texts that belong to no account")
    for field in ("phone", "number"):
        if len(asked.get(field, "")) > ADDRESS_MAX or "\0" in asked.get(field, ""):
            raise invalid_field(field, f"must have at most {ADDRESS_MAX} characters")
    return InboundFilter(
        mode_asked(asked) == SANDBOX,
        account and account.id,
        _sender(asked.get("phone", ""), account),
        asked.get("number", "").removeprefix("+") or None,
        state,
    )


def _sender(typed: str, account: Account | None) -> str | None:
    """Returns a phone as texts have their sender. What is no phone is a name or a short code."""
    phone = parse_phone(typed, None, account and account.country_code)
    return phone.digits if phone is not None else typed or None
