"""Finds where messages go and what they cost, by the routes and rates of one epoch of the
configuration.
"""

from dataclasses import dataclass, field
from typing import Final, NamedTuple

from heliograph.carriers import SIMULATOR_ID, Sharing, current_rates, routing
from heliograph.text import Phone

PLANS_MAX: Final = 100_000  # remembered of one epoch


class DestinationPlan(NamedTuple):
    """Says which carrier gets messages to a destination and what a segment costs. `refusal` is the
    reason if nothing can be sent there. If carriers share the destination, `sharing` says how, and
    `carrier_id` is the first of them.
    """

    carrier_id: int
    prefix: str
    rate: int
    refusal: str | None = None
    sharing: Sharing | None = None

    def carrier_of(self, number: int) -> int:
        """Returns the carrier of a message to this number, or of a stretch that begins with it."""
        return self.sharing.carrier_of(number) if self.sharing else self.carrier_id


class Offer(NamedTuple):
    """Holds the plan for an account's messages to a destination, and the reason if the account may
    not send there.
    """

    plan: DestinationPlan
    refusal: str | None


class Offers:
    """Holds what one account is offered in one mode, as far as it has been asked for."""

    def __init__(
        self, tariff: "Tariff", account_id: str, countries: frozenset[str] | None, *, sandbox: bool
    ) -> None:
        """Begins with no offers. `countries` are those that the account may send to; None stands
        for all with a route.
        """
        self._tariff = tariff
        self._account_id = account_id
        self._countries = countries
        self.sandbox = sandbox
        self.digits = tariff.digits
        # by the first `digits` of a phone, and its country
        self.known: dict[tuple[str, str | None], Offer] = {}

    def offer(self, phone: Phone) -> Offer:
        """Returns the offer for a phone."""
        return self.known.get((phone.digits[: self.digits], phone.country_code)) or self.find(phone)

    def find(self, phone: Phone) -> Offer:
        """Returns the offer for a phone, and remembers it."""
        plan = self._tariff.plan_anew(self._account_id, phone, sandbox=self.sandbox)
        is_allowed = self._countries is None or phone.country_code in self._countries
        self._tariff.make_room()
        found = Offer(plan, plan.refusal if is_allowed else "country_not_allowed")
        self.known[phone.digits[: self.digits], phone.country_code] = found
        return found


@dataclass(slots=True)
class Tariff:
    """Prices destinations by the routes and rates of one epoch of the configuration, and remembers
    the offers that it has made.
    """

    routes: routing.Routes
    rates: current_rates.Rates
    down: frozenset[int] = frozenset()  # carriers that have been down for 60 s
    digits: int = field(init=False)  # how many leading ones of a phone any route or rate looks at
    _offers: dict[tuple[str, frozenset[str] | None, bool], Offers] = field(
        init=False, default_factory=dict
    )
    _remembered: int = field(init=False, default=0)

    def __post_init__(self) -> None:
        self.digits = max(self.routes.longest, self.rates.longest)

    def offers(self, account_id: str, countries: frozenset[str] | None, *, sandbox: bool) -> Offers:
        """Returns what an account is offered that may send to these countries."""
        key = account_id, countries, sandbox
        found = self._offers.get(key)
        if found is None:
            self.make_room()
            found = self._offers[key] = Offers(self, account_id, countries, sandbox=sandbox)
        return found

    def make_room(self) -> None:
        """Counts a plan that is about to be remembered. If there are too many, all plans are
        forgotten.
        """
        if self._remembered >= PLANS_MAX:
            for offers in self._offers.values():
                offers.known.clear()
            self._offers.clear()
            self._remembered = 0
        self._remembered += 1

    def plan_anew(self, account_id: str, phone: Phone, *, sandbox: bool) -> DestinationPlan:
        """Makes a plan by the routes and rates; it holds for all phones with the same first
        `digits` and country.
        """
        rate = self.rates.credits_for(account_id, phone.digits, phone.country_code)
        if rate is None:
            return DestinationPlan(0, "", 0, "no_rate")
        if sandbox:  # the one place where the carrier is replaced
            return DestinationPlan(SIMULATOR_ID, "", rate)
        route = self.routes.carriers_for(phone.digits)
        if route is None:
            return DestinationPlan(0, "", 0, "no_route")
        # if all are down, messages wait for them in the same proportions
        sharing = route.sharing(self.down) or route.sharing(())
        assert sharing is not None  # a route without carriers leads nowhere
        return DestinationPlan(
            sharing.carrier_ids[0],
            route.prefix,
            rate,
            sharing=sharing if len(sharing.carrier_ids) > 1 else None,
        )


class Run(NamedTuple):
    """Describes consecutive messages of a send that go to one carrier: one row of the queue."""

    carrier_id: int
    prefix: str
    first: int  # 0: the send's first message
    messages: int
