"""A partner makes a customer here, as POST /connect/customers does."""

from collections.abc import Sequence
from typing import Final

from sqlalchemy.engine import Connection
from starlette.responses import RedirectResponse, Response

from heliograph import connect, wallet
from heliograph.base.errors import FieldError, InsufficientCredits
from heliograph.base.json import decode_object
from heliograph.base.short_texts import invalid_field
from heliograph.portal.connect_pages.customers import require_partner, text_id
from heliograph.portal.filled_form import body_of, choice_of, with_numbers
from heliograph.portal.form_idempotency import run_form_once
from heliograph.portal.page_request import PageRequest
from heliograph.portal.rendering import HEADERS, SEE_OTHER, page
from heliograph.portal.visit import Visit
from heliograph.requests import ApiResponse
from heliograph.users import Right
from heliograph.wallet import daily_cap

CREDITS, BALANCE = "initial_sms_credits", "initial_wallet_balance"
FIGURES: Final = (CREDITS, BALANCE)
FIELDS: Final = (
    "mode",
    "full_name",
    "phone",
    "country_code",
    "email",
    "external_ref",
    "label",
    "currency",
    *FIGURES,
)
PATH: Final = "POST /portal/connect"  # of keys: those of programs have other paths


def show_form(
    tx: Connection, request: PageRequest, visit: Visit, errors: Sequence[FieldError] = ()
) -> Response:
    """Shows the form."""
    require_partner(visit)
    visit.require(tx, Right.CONNECT)
    visit.require_fresh(request.now_ms)
    held = wallet.wallet_of(tx, visit.account.id)
    wanted = dict(request.sent.query).get("mode")
    typed = {
        "mode": wanted if wanted in visit.modes else visit.mode,
        "country_code": visit.account.country_code,
        **request.sent.form,
    }
    return page(
        "customer_new.html",
        request,
        status=400 if errors else 200,
        visit=visit,
        wallet=held,
        typed=typed,
        modes=visit.modes,
        errors={error.field: error.message for error in errors},
        others=[error for error in errors if error.field not in FIELDS],
    )


def provision(tx: Connection, request: PageRequest, visit: Visit) -> Response:
    """Makes the customer, and shows it. A form that is sent twice makes one; so does a reference
    of the partner's that a customer has already.
    """
    require_partner(visit)
    visit.require_fresh(request.now_ms)
    body = with_numbers(body_of(request), *FIGURES)
    sandbox = choice_of("mode", body.get("mode", visit.mode), visit.modes) == "sandbox"
    asked, _ = connect.read_customer_request(
        {name: body[name] for name in FIELDS if name in body and name != "mode"}
    )

    def effect(tx: Connection) -> ApiResponse:
        try:
            made = connect.provision(
                tx, visit.account.id, asked, sandbox=sandbox, now_ms=request.now_ms
            )
        except (InsufficientCredits, daily_cap.DailyCapReached) as short:
            field = CREDITS if asked.initial_credits else BALANCE
            raise invalid_field(field, f"cannot be given: {short}") from short
        if made.created:
            visit.audit(tx, request, "customer.provision", text_id(made.customer))
        return ApiResponse({"id": text_id(made.customer)})

    response = run_form_once(tx, request, visit, PATH, sandbox=sandbox, effect=effect)
    assert response.raw is not None
    made = decode_object(response.raw)["id"]
    return RedirectResponse(f"{visit.home}/connect/{made}", SEE_OTHER, HEADERS)
