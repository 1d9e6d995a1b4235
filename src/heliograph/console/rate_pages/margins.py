"""Shows what a segment brings and costs now, the worst margins first, and saves it as CSV, as the
command does.
"""

from sqlalchemy.engine import Connection
from starlette.responses import Response

from heliograph import accounts, pricing
from heliograph.base.errors import FieldError, InvalidRequest
from heliograph.base.forms import Query
from heliograph.console.operator_visit import OperatorVisit
from heliograph.console.rate_pages.rates import RateOwner, rate_owner_of
from heliograph.console.rendering import page
from heliograph.portal.page_request import PageRequest
from heliograph.portal.rendering import Download
from heliograph.pricing import MARGINS_SHOWN_MAX


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
    margins = pricing.load_margins(tx, whose.id)
    return page(
        "margins.html",
        request,
        visit,
        status=400 if errors else 200,
        rows=margins.rows(MARGINS_SHOWN_MAX),
        left=margins.left(MARGINS_SHOWN_MAX),
        losses=margins.losses,
        has_costs=margins.has_costs,
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
    return Download("margins.csv", iter([pricing.load_margins(tx, whose.id).csv()]))
