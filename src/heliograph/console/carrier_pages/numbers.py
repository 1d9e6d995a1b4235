"""Shows the numbers and short codes that receive texts, and adds one, as the command does."""

from collections.abc import Sequence
from typing import Final

from sqlalchemy.engine import Connection
from starlette.responses import Response

from heliograph import carriers, inbound
from heliograph.base.errors import FieldError, InvalidRequest
from heliograph.console.carrier_pages.number_words import listed_number, listed_numbers
from heliograph.console.named_account import account_named
from heliograph.console.navigation import NUMBERS
from heliograph.console.operator_visit import OperatorVisit
from heliograph.console.reasons import reason_of
from heliograph.console.rendering import page
from heliograph.portal.filled_form import body_of
from heliograph.portal.page_request import PageRequest
from heliograph.portal.rendering import DoneNotice, redirect
from heliograph.users import OperatorEntry

NUMBERS_SHOWN_MAX: Final = 200
ASKED: Final = ("begins", "of")


def show_list(
    tx: Connection,
    request: PageRequest,
    visit: OperatorVisit,
    errors: Sequence[FieldError] = (),
) -> Response:
    """Shows the numbers that the query selects, by their digits, and the form that adds one."""
    asked = {name: value.strip() for name, value in request.sent.query if name in ASKED}
    wrong = list(errors)
    found: list[inbound.OwnNumber] = []
    try:
        account = account_named(tx, "of", asked["of"]) if asked.get("of") else None
        found = inbound.find_numbers(
            tx,
            begins_with=asked.get("begins", ""),
            account_id=account and account.id,
            limit=NUMBERS_SHOWN_MAX + 1,
        )
    except InvalidRequest as refused:
        wrong += refused.fields
    return page(
        "numbers.html",
        request,
        visit,
        status=400 if wrong else 200,
        numbers=listed_numbers(tx, found[:NUMBERS_SHOWN_MAX]),
        shown_max=NUMBERS_SHOWN_MAX,
        is_cut=len(found) > NUMBERS_SHOWN_MAX,
        is_asked=any(asked.values()),
        carriers=sorted(carrier.name for carrier in carriers.all_carriers(tx)),
        typed=asked | body_of(request),
        errors={error.field: error.message for error in wrong},
    )


def add(tx: Connection, request: PageRequest, visit: OperatorVisit) -> Response:
    """Adds a number of a carrier. Raises NotFound, AccountClosed, InvalidRequest, DoneAlready."""
    body = body_of(request)
    reason = reason_of(request)
    whose = {
        field: account_named(tx, field, body[field]).id if field in body else None
        for field in ("account", "catch_all")
    }
    added = inbound.add_number(
        tx,
        body.get("number", ""),
        body.get("carrier", ""),
        whose["account"],
        catch_all_id=whose["catch_all"],
        now_ms=request.now_ms,
    )
    after = listed_number(tx, added).in_words
    visit.log(
        tx,
        OperatorEntry("number.add", added.getter_id, added.text_id, None, after, reason),
    )
    return redirect(f"{NUMBERS}/{added.text_id}", DoneNotice.SAVED)
