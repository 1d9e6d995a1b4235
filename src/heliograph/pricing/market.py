"""Says what the SMS credits of a segment are sold for, and what the carrier that its route takes
charges for it: of carriers that share a route, the dearest. It is pure, but for `load_market`.

A rate, a route and a cost each hold for a prefix, and none of them for the same ones. So they are
weighed for the beginnings of numbers at which one of them changes (docs/decisions/pricing.md, PR2).
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from fractions import Fraction
from math import inf, nextafter
from typing import Final, NamedTuple

from sqlalchemy.engine import Connection

from heliograph.carriers import current_rates, routing
from heliograph.pricing.costs import MICRO_PLACES, CarrierCost, Costs, load_costs
from heliograph.text.sample_numbers import country_of_prefix, sample_number
from heliograph.wallet import money
from heliograph.wallet.prices import Price, all_prices

DEFAULT: Final = "default"
_NO_DIGITS: Final = ":"  # no number begins with it


class Beginning(NamedTuple):
    """Holds the first digits of numbers, and their country if the digits tell it. A sample is a
    whole number, for all numbers of its country.
    """

    digits: str
    country_code: str | None
    is_sample: bool = False

    @property
    def words(self) -> str:
        """Returns which numbers are meant, in words."""
        if self.is_sample:
            return f"such as {self.digits}"
        return self.digits or "all other numbers"


class SegmentMargin(NamedTuple):
    """Says what a segment to numbers with this beginning brings and costs. `rate` decides what it
    brings. `price` sells credits in the currency of the cost. If it is None, they are not sold in
    it, so nothing can be compared.
    """

    beginning: Beginning
    rate: current_rates.Rate
    cost: CarrierCost
    price: Price | None

    @property
    def sold_micro(self) -> Fraction | None:
        """Returns what a segment brings, in millionths of the currency's unit."""
        if self.price is None or self.rate.credits is None:
            return None
        scale = 10 ** (MICRO_PLACES - money.exponent(self.price.currency))
        return Fraction(self.rate.credits * self.price.amount_minor * scale, self.price.credits)

    @property
    def margin_micro(self) -> Fraction | None:
        """Returns what is left of it when the carrier is paid."""
        sold = self.sold_micro
        return None if sold is None else sold - self.cost.amount_micro

    @property
    def is_loss(self) -> bool:
        return self.cost_share > 1

    @property
    def cost_share(self) -> float:
        """Returns which part of what a segment brings goes to the carrier; 0 if that is not known.
        More than 1 is a loss.
        """
        if self.price is None or self.rate.credits is None:
            return 0.0
        scale = 10 ** (MICRO_PLACES - money.exponent(self.price.currency))
        brings = self.rate.credits * self.price.amount_minor * scale
        costs = self.cost.amount_micro * self.price.credits
        if costs <= brings:  # exact, as they are integers
            return costs / brings if brings else 0.0
        return max(costs / brings, nextafter(1.0, inf)) if brings else inf


class Market:
    """Holds routes, costs and prices of the moment, to weigh rates against."""

    def __init__(
        self, routes: Iterable[routing.Route], costs: Iterable[CarrierCost], prices: Iterable[Price]
    ) -> None:
        all_routes = list(routes)
        self._routes, self._costs = routing.Routes(all_routes), Costs(costs)
        self._prices: Mapping[str, Price] = {price.currency: price for price in prices}
        # of routes and costs: what a segment costs changes at them
        self.prefixes = self._costs.prefixes | {route.prefix for route in all_routes}

    @property
    def has_costs(self) -> bool:
        return bool(self._costs.prefixes)

    def margins(
        self,
        rates: current_rates.Rates,
        account_id: str,
        about: Iterable[current_rates.Rate],
        *,
        also: frozenset[str] = frozenset(),
    ) -> Iterator[SegmentMargin]:
        """Yields what segments bring and cost for an account, or GENERAL, wherever `about`, which
        are rates of it that hold or have held, may decide. `also` are the prefixes of another
        market, which this one is compared with.
        """
        if not self.has_costs:
            return
        destinations = {rate.destination for rate in about}
        yielded = set()
        for digits in self._prefixes_about(destinations, also):
            costs = self._leading_costs(digits)
            if not costs:  # as it is of most prefixes, so nothing more is asked about them
                continue
            beginning = Beginning(digits, country_of_prefix(digits))
            weighed = self._weigh(rates, account_id, beginning, costs)
            if weighed is not None:
                yielded.add((weighed.rate, weighed.cost))
                yield weighed
        for beginning in _samples(destinations):
            costs = self._leading_costs(beginning.digits)
            weighed = self._weigh(rates, account_id, beginning, costs)
            # what a prefix has told is not told again
            if weighed is not None and (weighed.rate, weighed.cost) not in yielded:
                yield weighed

    def _prefixes_about(self, destinations: set[str], also: frozenset[str]) -> list[str]:
        prefixes = {each for each in destinations if each.isdigit()}
        every = sorted(self.prefixes | also | prefixes)
        if DEFAULT in destinations:
            return every
        countries = _countries(destinations)
        chosen, outer = [], _NO_DIGITS
        for digits in every:
            is_inside = digits.startswith(outer)
            if not is_inside and digits in prefixes:
                is_inside, outer = True, digits  # what begins with it comes next
            if is_inside or (countries and country_of_prefix(digits) in countries):
                chosen.append(digits)
        return chosen

    def _leading_costs(self, digits: str) -> list[CarrierCost]:
        """Returns what the carriers charge that share the route of these digits."""
        route = self._routes.carriers_for(digits)
        if route is None:
            return []
        costs = [self._costs.cost_of(carrier_id, digits) for carrier_id in route.leading]
        return [cost for cost in costs if cost is not None]

    def _weigh(
        self,
        rates: current_rates.Rates,
        account_id: str,
        beginning: Beginning,
        costs: Sequence[CarrierCost],
    ) -> SegmentMargin | None:
        rate = rates.rate_of(account_id, beginning.digits, beginning.country_code)
        if not costs or rate is None or rate.credits is None:
            return None
        weighed = [
            SegmentMargin(beginning, rate, cost, self._prices.get(cost.currency)) for cost in costs
        ]
        if len(weighed) < 2:
            return weighed[0]
        return max(weighed, key=lambda each: (each.cost_share, each.cost.amount_micro))


def load_market(tx: Connection) -> Market:
    """Returns what rates are weighed against now."""
    return Market(routing.load_routes(tx), load_costs(tx), all_prices(tx))


def _countries(destinations: set[str]) -> set[str]:
    return {each for each in destinations if each.isalpha() and each != DEFAULT}


def _samples(destinations: set[str]) -> list[Beginning]:
    """Returns a number of each country that has a rate. Without it, a country would be left out
    whose numbers begin with none of the prefixes of routes, costs and rates.
    """
    return [
        Beginning(sample, country, is_sample=True)
        for country in sorted(_countries(destinations))
        if (sample := sample_number(country)) is not None
    ]
