"""Shows the customers of a partner: a list that can be searched, and one customer, which credits
are moved to and from.
"""

from collections.abc import Sequence
from typing import Final

from sqlalchemy.engine import Connection
from starlette.responses import RedirectResponse, Response

from heliograph import connect, wallet
from heliograph.accounts import text_of_id
from heliograph.base.errors import FieldError, InsufficientCredits, NotFound
from heliograph.base.forms import Query
from heliograph.base.paging import read_page
from heliograph.base.short_texts import invalid_field
from heliograph.connect import NEEDLE_MAX, Customer
from heliograph.portal.filled_form import body_of, choice_of, with_numbers
from heliograph.portal.form_idempotency import run_form_once
from heliograph.portal.list_page import ListPage, list_page, page_or_errors
from heliograph.portal.page_request import PageRequest
from heliograph.portal.rendering import HEADERS, SEE_OTHER, page
from heliograph.portal.visit import MODES, Visit
from heliograph.requests import ApiResponse
from heliograph.users import Right
from heliograph.wallet import daily_cap

FIELDS: Final = ("q", "mode")
TO_CUSTOMER: Final = "to the customer"
BACK: Final = "back to us"
WAYS: Final = (TO_CUSTOMER, BACK)
MOVE_FIELDS: Final = ("credits", "way", "reference")


def show_list(tx: Connection, request: PageRequest, visit: Visit) -> Response:
    """Shows the customers that the query selects, newest first."""
    require_partner(visit)
    typed = dict(request.sent.query)
    typed["mode"] = typed.get("mode") or visit.mode
    found, errors = page_or_errors(lambda: _select(tx, request, visit))
    return page(
        "customers.html",
        request,
        status=400 if errors else 200,
        visit=visit,
        customers=[(text_id(each), each) for each in found.rows],
        older=found.older,
        typed=typed,
        modes=MODES,
        may_change=visit.may(Right.CONNECT),
        errors={error.field: error.message for error in errors},
        others=[error for error in errors if error.field not in FIELDS],
    )


def _select(tx: Connection, request: PageRequest, visit: Visit) -> ListPage[Customer]:
    """Returns the page of customers that the query asks for. Raises InvalidRequest."""
    query = Query(request.sent.query)
    wanted = read_page(query)
    needle = query.text("q", most=NEEDLE_MAX)
    sandbox = (query.choice("mode", MODES) or visit.mode) == "sandbox"
    query.finish()
    found = connect.page(tx, visit.account.id, wanted, sandbox=sandbox, needle=needle)
    return list_page(request, wanted, found, lambda customer: customer.account_id)


def show_customer(
    tx: Connection, request: PageRequest, visit: Visit, errors: Sequence[FieldError] = ()
) -> Response:
    """Shows one customer, what it holds, and the form that moves credits."""
    customer = _customer(tx, request, visit)
    return page(
        "customer.html",
        request,
        status=400 if errors else 200,
        visit=visit,
        customer=customer,
        id=text_id(customer),
        credits_here=wallet.wallet_of(tx, visit.account.id).sms_credits,
        may_change=visit.may(Right.CONNECT),
        typed={"way": TO_CUSTOMER, **request.sent.form},
        ways=WAYS,
        errors={error.field: error.message for error in errors},
        others=[error for error in errors if error.field not in MOVE_FIELDS],
    )


def move(tx: Connection, request: PageRequest, visit: Visit) -> Response:
    """Moves credits to the customer, or back, as POST /connect/customers/{id}/credits does, and
    shows the customer. A form that is sent twice moves once. Raises InvalidRequest, and what that
    endpoint answers besides.
    """
    visit.require_fresh(request.now_ms)
    customer = _customer(tx, request, visit)
    connect.require_active(customer)
    body = with_numbers(body_of(request), "credits")
    way = choice_of("way", body.pop("way", TO_CUSTOMER), WAYS)
    asked, _ = connect.read_credits_request(body, is_back=way == BACK)

    def effect(tx: Connection) -> ApiResponse:
        try:
            connect.move_credits(
                tx,
                visit.account.id,
                customer.account_id,
                asked,
                sandbox=customer.sandbox,
                now_ms=request.now_ms,
            )
        except (InsufficientCredits, daily_cap.DailyCapReached) as short:
            raise invalid_field("credits", f"cannot be moved: {short}") from short
        detail = f"{asked.credits:+} credits"
        visit.audit(tx, request, "customer.credits", text_id(customer), detail)
        return ApiResponse({})

    place = f"POST {visit.home}/connect/{text_id(customer)}"
    run_form_once(tx, request, visit, place, sandbox=customer.sandbox, effect=effect)
    customer_page = f"{visit.home}/connect/{text_id(customer)}"
    return RedirectResponse(customer_page, SEE_OTHER, HEADERS)


def require_partner(visit: Visit) -> None:
    """Raises NotFound for a customer, which has no customers of its own."""
    if not visit.is_partner:
        raise NotFound("There is no such page.")


def text_id(customer: Customer) -> str:
    """Returns a customer's id in text form."""
    return text_of_id(customer.account_id, is_customer=True)


def _customer(tx: Connection, request: PageRequest, visit: Visit) -> Customer:
    require_partner(visit)
    return connect.of_partner(tx, visit.account.id, request.path["customer"])
