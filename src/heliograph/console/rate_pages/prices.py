"""Shows what SMS credits are sold for in each currency, and changes it."""

from collections.abc import Sequence
from typing import Final

from sqlalchemy.engine import Connection
from starlette.responses import Response

from heliograph import pricing
from heliograph.base.errors import FieldError, NotFound
from heliograph.base.forms import quote_value
from heliograph.base.short_texts import invalid_field
from heliograph.console.navigation import PRICES
from heliograph.console.operator_visit import OperatorVisit
from heliograph.console.reasons import reason_of
from heliograph.console.rendering import page
from heliograph.database import config
from heliograph.portal.filled_form import NUMBER, body_of, choice_of
from heliograph.portal.page_request import PageRequest
from heliograph.portal.rendering import DoneNotice, redirect
from heliograph.wallet import money, prices
from heliograph.wallet.prices import Price

CHANGES: Final = ("set price", "remove price")


def show_list(
    tx: Connection,
    request: PageRequest,
    visit: OperatorVisit,
    errors: Sequence[FieldError] = (),
) -> Response:
    """Shows the prices by currency, and the form that changes one."""
    return page(
        "prices.html",
        request,
        visit,
        status=400 if errors else 200,
        prices=prices.all_prices(tx),
        typed=body_of(request),
        errors={error.field: error.message for error in errors},
    )


def change(tx: Connection, request: PageRequest, visit: OperatorVisit) -> Response:
    """Sets or removes a price. Raises InvalidRequest."""
    wanted = choice_of("do", request.sent.form.get("do", ""), CHANGES)
    reason = reason_of(request)
    body = body_of(request)
    currency = money.currency(body.get("currency", ""))
    config.bump(tx)  # first: nobody else changes it between the two
    known = [price for price in prices.all_prices(tx) if price.currency == currency]
    before = _in_words(known[0]) if known else None
    after = None
    if wanted == "remove price":
        try:
            prices.remove_price(tx, currency)
        except NotFound as error:
            raise invalid_field("currency", f"has no price: {error}") from error
    else:
        amount, credits = _number("amount", body), _number("per", body)
        if not credits.isdigit():
            raise invalid_field("per", f"must be a whole number, not {quote_value(credits)}")
        made = pricing.change_without_loss(
            tx,
            lambda: prices.set_price(tx, currency, amount, int(credits)),
            allows_loss="allow_loss" in body,
        )
        after = _in_words(made)
    if after != before:
        action = "price.remove" if after is None else "price.set"
        visit.audit(tx, None, action, currency, before=before, after=after, reason=reason)
    return redirect(PRICES, DoneNotice.REMOVED if after is None else DoneNotice.SAVED)


def _number(field: str, body: dict[str, str]) -> str:
    digits = "".join(body.get(field, "").split())
    if not NUMBER.fullmatch(digits):
        raise invalid_field(field, f"must be a number, not {quote_value(body.get(field, ''))}")
    return digits


def _in_words(price: Price) -> str:
    return f"{money.to_text(price.amount_minor, price.currency)} for {price.credits} credits"
