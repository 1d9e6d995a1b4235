"""Shows routes, changes them, and answers which way a text to a number would go."""

from collections.abc import Mapping, Sequence
from itertools import zip_longest
from typing import Final, NamedTuple

from sqlalchemy.engine import Connection
from starlette.responses import Response

from heliograph import accounts, carriers, pricing
from heliograph.base.errors import FieldError, InvalidRequest, NotFound
from heliograph.base.forms import quote_value
from heliograph.base.short_texts import invalid_field
from heliograph.carriers import carrier_states, routing
from heliograph.console.navigation import ROUTES
from heliograph.console.operator_visit import OperatorVisit
from heliograph.console.reasons import reason_of
from heliograph.console.rendering import page
from heliograph.database import config
from heliograph.messages.accept import look_up_route, route_in_words
from heliograph.portal.filled_form import body_of, choice_of
from heliograph.portal.page_request import PageRequest
from heliograph.portal.rendering import DoneNotice, redirect
from heliograph.text import parse_phone

SHOWN_MAX: Final = 500  # routes; an operator has some dozens
CHANGES: Final = ("set route", "remove route")
ASKED_MAX: Final = 64  # characters of a number


class ListedWay(NamedTuple):
    """Holds a carrier of a route, and in words which part it has of what the route gets. Without a
    part it stands by, or is one of those that are tried in turn.
    """

    name: str
    part: str | None


class ListedRoute(NamedTuple):
    """Holds a route with its carriers, in the order in which they are tried."""

    prefix: str
    carriers: list[ListedWay]


def listed_route(route: routing.Route, names: Mapping[int, str]) -> ListedRoute:
    """Returns a route with the names of its carriers."""
    total = sum(route.weights)
    parts = [f"{weight} of {total}" for weight in route.weights]
    ways = zip_longest((names[carrier_id] for carrier_id in route.carrier_ids), parts)
    return ListedRoute(route.prefix, [ListedWay(name, part) for name, part in ways])


def show_list(
    tx: Connection,
    request: PageRequest,
    visit: OperatorVisit,
    errors: Sequence[FieldError] = (),
) -> Response:
    """Shows routes, the answer to what the query asks, and the form that changes a route."""
    asked = {name: value for name, value in request.sent.query if name in ("to", "account")}
    answer: list[str] = []
    wrong = list(errors)
    if asked.get("to"):
        try:
            answer = _answer(tx, request, asked)
        except InvalidRequest as found:
            wrong += found.fields
    names = {carrier.id: carrier.name for carrier in carriers.all_carriers(tx)}
    routes = routing.all_routes(tx)
    return page(
        "routes.html",
        request,
        visit,
        status=400 if wrong else 200,
        answer=answer,
        routes=[listed_route(route, names) for route in routes[:SHOWN_MAX]],
        shown_max=SHOWN_MAX,
        is_cut=len(routes) > SHOWN_MAX,
        typed=asked | body_of(request),
        errors={error.field: error.message for error in wrong},
    )


def change(tx: Connection, request: PageRequest, visit: OperatorVisit) -> Response:
    """Sets or removes a route. Raises NotFound, InvalidRequest."""
    wanted = choice_of("do", request.sent.form.get("do", ""), CHANGES)
    reason = reason_of(request)
    _change_route(tx, body_of(request), visit, reason, is_removed=wanted.startswith("remove"))
    return redirect(ROUTES, DoneNotice.REMOVED if wanted.startswith("remove") else DoneNotice.SAVED)


def _change_route(
    tx: Connection, body: dict[str, str], visit: OperatorVisit, reason: str, *, is_removed: bool
) -> None:
    config.bump(tx)  # first: nobody else changes it between the two
    every = {route.prefix: route for route in routing.all_routes(tx)}
    prefix = routing.stored_prefix(body.get("prefix", ""), known=every if is_removed else ())
    names = {carrier.id: carrier.name for carrier in carriers.all_carriers(tx)}
    known = every.get(prefix)
    before = known and ", ".join(known.carriers_in_text(names))

    def change() -> str | None:
        if is_removed:
            routing.remove_route(tx, prefix)
            return None
        route = routing.set_route(tx, prefix, body.get("carrier", "").split(","))
        return ", ".join(route.carriers_in_text(names))

    after = pricing.change_without_loss(tx, change, allows_loss="allow_loss" in body)
    if after != before:
        action, named = "route.remove" if is_removed else "route.set", prefix or "default"
        visit.audit(tx, None, action, named, before=before, after=after, reason=reason)


def _answer(tx: Connection, request: PageRequest, asked: dict[str, str]) -> list[str]:
    account = None
    if asked.get("account"):
        try:
            account = accounts.find(tx, asked["account"].strip())
        except NotFound as error:
            raise invalid_field("account", f"was not found: {error}") from error
    to = asked["to"][:ASKED_MAX]
    phone = parse_phone(to, None, account and account.country_code)
    if phone is None:
        raise invalid_field(
            "to", f"must be a phone number in international digits, not {quote_value(to)}"
        )
    found = look_up_route(tx, phone, account and account.id, now_ms=request.now_ms)
    served = carrier_states.served_carriers(tx)
    first, *why = route_in_words(phone, account, found, served)
    if found.offer.refusal or found.rate is None:
        return [first, *why]
    taker = next(each for each in served if each.id == found.carrier_id)
    return [first, pricing.margin_in_words(tx, phone, found.rate, taker), *why]
