"""Shows what carriers charge for a segment, and changes it."""

from collections.abc import Sequence
from typing import Final

from sqlalchemy.engine import Connection
from starlette.responses import Response

from heliograph import carriers, pricing
from heliograph.base.errors import FieldError, NotFound
from heliograph.base.short_texts import invalid_field
from heliograph.carriers import routing
from heliograph.console.navigation import COSTS
from heliograph.console.operator_visit import OperatorVisit
from heliograph.console.reasons import reason_of
from heliograph.console.rendering import page
from heliograph.database import config
from heliograph.portal.filled_form import body_of, choice_of
from heliograph.portal.page_request import PageRequest
from heliograph.portal.rendering import DoneNotice, redirect
from heliograph.pricing import CarrierCost

COSTS_SHOWN_MAX: Final = 500
CHANGES: Final = ("set cost", "remove cost")


def show_list(
    tx: Connection,
    request: PageRequest,
    visit: OperatorVisit,
    errors: Sequence[FieldError] = (),
) -> Response:
    """Shows the costs by carrier and prefix, and the form that changes one."""
    costs = pricing.load_costs(tx, limit=COSTS_SHOWN_MAX + 1)
    names = {carrier.id: carrier.name for carrier in carriers.all_carriers(tx)}
    return page(
        "costs.html",
        request,
        visit,
        status=400 if errors else 200,
        costs=[(names[cost.carrier_id], cost) for cost in costs[:COSTS_SHOWN_MAX]],
        shown_max=COSTS_SHOWN_MAX,
        is_cut=len(costs) > COSTS_SHOWN_MAX,
        carriers=sorted(names.values()),
        typed=body_of(request),
        errors={error.field: error.message for error in errors},
    )


def change(tx: Connection, request: PageRequest, visit: OperatorVisit) -> Response:
    """Sets or removes a cost. Raises InvalidRequest."""
    wanted = choice_of("do", request.sent.form.get("do", ""), CHANGES)
    reason = reason_of(request)
    body = body_of(request)
    name, prefix = body.get("carrier", ""), body.get("prefix", "")
    before = after = None
    config.bump(tx)  # first: nobody else changes it between the two
    try:
        carrier = carriers.carrier_named(tx, name)
    except NotFound as error:
        raise invalid_field("carrier", f"was not found: {error}") from error
    if wanted == "remove cost":
        try:
            removed = pricing.change_without_loss(
                tx, lambda: pricing.remove_cost(tx, name, prefix), allows_loss="allow_loss" in body
            )
        except NotFound as error:
            raise invalid_field("prefix", f"has no cost: {error}") from error
        before = _in_words(removed)
    else:
        stored = routing.stored_prefix(prefix)
        known = [cost for cost in pricing.load_costs(tx, carrier.id) if cost.prefix == stored]
        before = _in_words(known[0]) if known else None
        amount, currency = body.get("amount", ""), body.get("currency", "")
        made = pricing.change_without_loss(
            tx,
            lambda: pricing.set_cost(tx, name, prefix, amount, currency),
            allows_loss="allow_loss" in body,
        )
        after = _in_words(made)
    if after != before:
        action = "cost.remove" if after is None else "cost.set"
        visit.audit(tx, None, action, name, before=before, after=after, reason=reason)
    return redirect(COSTS, DoneNotice.REMOVED if after is None else DoneNotice.SAVED)


def _in_words(cost: CarrierCost) -> str:
    return f"{cost.prefix or 'all other numbers'}: {cost.amount} {cost.currency} a segment"
