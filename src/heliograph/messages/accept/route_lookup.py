"""Answers which way a text to a number would go now, what it would cost, and why."""

from typing import NamedTuple

from sqlalchemy.engine import Connection

from heliograph import accounts
from heliograph.carriers import GENERAL, current_rates, down_carriers, routing
from heliograph.messages.accept.tariff import Offer, Tariff
from heliograph.text import Phone


class RouteLookup(NamedTuple):
    """Holds the offer that accepting makes for a live text to a number, the carrier that the text
    would go to, and what it follows from: the route as it is stored, with carriers that drain, the
    rate, and the carriers that have been down for a minute or are paused.
    """

    offer: Offer
    carrier_id: int
    route: routing.Route | None
    rate: current_rates.Rate | None
    down: frozenset[int]


def look_up_route(
    tx: Connection, phone: Phone, account_id: str | None, *, now_ms: int
) -> RouteLookup:
    """Returns where a live text to this number would go, of an account (raw id) or of one without
    rates and countries of its own. Raises NotFound.
    """
    rates = current_rates.Rates(
        [
            *current_rates.load(tx, GENERAL),
            *(current_rates.load(tx, account_id) if account_id else ()),
        ]
    )
    down = down_carriers(tx, now_ms)
    countries = accounts.by_id(tx, account_id).countries if account_id else None
    whose = account_id or GENERAL
    tariff = Tariff(routing.Routes(routing.load_routes(tx)), rates, down)
    allowed = None if countries is None else frozenset(countries)
    offer = tariff.offers(whose, allowed, sandbox=False).offer(phone)
    return RouteLookup(
        offer,
        offer.plan.carrier_of(int(phone.digits)),
        routing.Routes(routing.all_routes(tx)).carriers_for(phone.digits),
        rates.rate_of(whose, phone.digits, phone.country_code),
        down,
    )
