"""SMS credits are bought here: first the form shows what they cost, then they are paid for."""

from collections.abc import Mapping, Sequence
from typing import Final

from sqlalchemy.engine import Connection
from starlette.responses import RedirectResponse, Response

from heliograph import wallet
from heliograph.base.errors import FieldError, InsufficientCredits, InvalidRequest
from heliograph.base.short_texts import invalid_field
from heliograph.portal.filled_form import body_of, with_numbers
from heliograph.portal.form_idempotency import once_value_of, run_form_once
from heliograph.portal.page_request import PageRequest
from heliograph.portal.rendering import HEADERS, SEE_OTHER, page
from heliograph.portal.visit import Visit
from heliograph.requests import ApiResponse
from heliograph.users import Right
from heliograph.wallet import prices
from heliograph.wallet import request as wallet_request
from heliograph.wallet.prices import CreditsOffer, Price

REFERENCE_PREFIX: Final = "portal-"  # so that the ledger tells where it was bought
PATH: Final = "POST /portal/money/buy"  # of keys: those of programs have other paths


def show_form(
    tx: Connection, request: PageRequest, visit: Visit, errors: Sequence[FieldError] = ()
) -> Response:
    """Shows the price, and what as many credits as were asked for would cost."""
    visit.require(tx, Right.MONEY)
    visit.require_fresh(request.now_ms)
    held = wallet.wallet_of(tx, visit.account.id)
    typed = request.sent.all_fields
    quote: CreditsOffer | None = None
    price = _price(tx, held.currency)
    wrong = list(errors)
    if price is not None and "credits" in typed:
        try:
            quote = _quote(tx, visit, typed)
        except InvalidRequest as refusal:
            wrong += refusal.fields
    return page(
        "buy.html",
        request,
        status=400 if wrong else 200,
        visit=visit,
        wallet=held,
        price=price,
        quote=quote,
        typed=typed,
        errors={error.field: error.message for error in reversed(wrong)},
        others=[error for error in wrong if error.field != "credits"],
    )


def buy(tx: Connection, request: PageRequest, visit: Visit) -> Response:
    """Buys credits for the cost that the page has shown, and shows the ledger. The same form buys
    once. Raises InvalidRequest, and NotFresh.
    """
    visit.require_fresh(request.now_ms)
    body = with_numbers(body_of(request), "credits", "cost_minor")
    credits = wallet_request.read_purchase({"credits": body.get("credits")})
    quoted = body.get("cost_minor")
    if not isinstance(quoted, int):
        raise invalid_field("credits", "have no price yet; see the price first")
    reference = f"{REFERENCE_PREFIX}{once_value_of(request)}"

    def effect(tx: Connection) -> ApiResponse:
        try:
            bought = prices.buy_credits(
                tx,
                visit.account.id,
                credits,
                reference,
                quoted_minor=quoted,
                now_ms=request.now_ms,
            )
        except InsufficientCredits as short:
            raise _refusal_at_field(short) from short
        if bought.applied:
            visit.audit(tx, request, "credits.buy", detail=bought.entry.description)
        return ApiResponse({})

    run_form_once(tx, request, visit, PATH, sandbox=False, effect=effect)
    return RedirectResponse(f"{visit.home}/money", SEE_OTHER, HEADERS)


def _quote(tx: Connection, visit: Visit, typed: Mapping[str, str]) -> CreditsOffer:
    """Returns what the credits of the form would cost. Raises InvalidRequest, also when the wallet
    holds too little.
    """
    given = {"credits": typed["credits"].strip()} if typed["credits"].strip() else {}
    credits = wallet_request.read_purchase(with_numbers(given, "credits"))
    try:
        return prices.quote(tx, visit.account.id, credits)
    except InsufficientCredits as short:
        raise _refusal_at_field(short) from short


def _refusal_at_field(short: InsufficientCredits) -> InvalidRequest:
    """Returns the refusal as one that stands at its field."""
    return invalid_field("credits", f"cannot be paid: {short}")


def _price(tx: Connection, currency: str) -> Price | None:
    """Returns what credits cost in a currency, or None if they are not sold for it."""
    try:
        return prices.price_in(tx, currency)
    except InvalidRequest:
        return None
