"""Shows what a segment brings and costs now, the worst margins first, and saves it as CSV."""

from typing import Final

from sqlalchemy.engine import Connection
from starlette.responses import Response

from heliograph import accounts, carriers, pricing
from heliograph.base.errors import FieldError, InvalidRequest
from heliograph.base.forms import Query
from heliograph.carriers import GENERAL, current_rates
from heliograph.console.operator_visit import OperatorVisit
from heliograph.console.rate_pages.rates import RateOwner, rate_owner_of
from heliograph.console.rate_pages.weighed_rows import weighed_file, weighed_rows
from heliograph.console.rendering import page
from heliograph.portal.page_request import PageRequest
from heliograph.portal.rendering import Download
from heliograph.pricing import Market, SegmentMargin

MARGINS_SHOWN_MAX: Final = 200


def show_list(tx: Connection, request: PageRequest, visit: OperatorVisit) -> Response:
    """Shows the margins of the general rates, or of those that hold for an account."""
    query = Query(request.sent.query)
    typed = query.text("account") or ""
    query.finish()
    errors: list[FieldError] = []
    try:
        whose = rate_owner_of(tx, typed)
    except InvalidRequest as wrong:
        errors += wrong.fields
        whose = RateOwner(None)
    market = pricing.load_market(tx)
    weighed = _worst_first(tx, market, whose)
    names = {carrier.id: carrier.name for carrier in carriers.all_carriers(tx)}
    return page(
        "margins.html",
        request,
        visit,
        status=400 if errors else 200,
        rows=weighed_rows(weighed[:MARGINS_SHOWN_MAX], names),
        left=max(0, len(weighed) - MARGINS_SHOWN_MAX),
        losses=sum(1 for each in weighed if each.is_loss),
        has_costs=market.has_costs,
        whose=whose,
        whose_id=whose.account and accounts.text_id(whose.account),
        typed={"account": typed},
        errors={error.field: error.message for error in errors},
    )


def export(tx: Connection, request: PageRequest, visit: OperatorVisit) -> Response:
    """Returns all the margins that the page shows the first of as a file, in the same order. Raises
    InvalidRequest.
    """
    query = Query(request.sent.query)
    account = query.text("account")
    query.finish()
    whose = rate_owner_of(tx, account or "")
    weighed = _worst_first(tx, pricing.load_market(tx), whose)
    names = {carrier.id: carrier.name for carrier in carriers.all_carriers(tx)}
    owners = {} if whose.account is None else {whose.id: accounts.text_id(whose.account)}
    return Download("margins.csv", iter([weighed_file(weighed, names, owners)]))


def _worst_first(tx: Connection, market: Market, whose: RateOwner) -> list[SegmentMargin]:
    """Returns what segments bring and cost by these rates. What cannot be compared comes last."""
    rates = current_rates.load(tx, GENERAL)
    if whose.account is not None:
        rates += current_rates.load(tx, whose.id)
    # what holds where nothing is set, too
    about = [*rates, current_rates.Rate(GENERAL, "default", None)]
    return sorted(
        market.margins(current_rates.Rates(rates), whose.id, about),
        key=lambda each: (each.price is None, -each.cost_share, each.beginning.digits),
    )
