"""Shows what a segment brings and costs now, the worst margins first."""

from typing import Final

from sqlalchemy.engine import Connection
from starlette.responses import Response

from heliograph import accounts, carriers, pricing
from heliograph.base.errors import FieldError, InvalidRequest
from heliograph.base.forms import Query
from heliograph.carriers import GENERAL, current_rates
from heliograph.console.operator_visit import OperatorVisit
from heliograph.console.rate_pages.rates import RateOwner, rate_owner_of
from heliograph.console.rate_pages.weighed_rows import weighed_rows
from heliograph.console.rendering import page
from heliograph.portal.page_request import PageRequest

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
    rates = current_rates.load(tx, GENERAL)
    if whose.account is not None:
        rates += current_rates.load(tx, whose.id)
    # what holds where nothing is set, too
    about = [*rates, current_rates.Rate(GENERAL, "default", None)]
    # the worst first; what cannot be compared comes last
    weighed = sorted(
        market.margins(current_rates.Rates(rates), whose.id, about),
        key=lambda each: (each.price is None, -each.cost_share, each.beginning.digits),
    )
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
