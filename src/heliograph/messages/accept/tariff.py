"""Where messages go and what they cost, by the routes and rates of one epoch of the
configuration.
"""

from dataclasses import dataclass, field
from typing import Final, NamedTuple

from heliograph.carriers import SIMULATOR_ID, Rates, Routes
from heliograph.text import Phone

PLANS_MAX: Final = 100_000


class Plan(NamedTuple):
    """This says where messages to a destination go and what a segment costs. `refusal` says why
    they cannot go.
    """

    carrier_id: int
    prefix: str
    rate: int
    refusal: str | None = None


@dataclass(slots=True)
class Tariff:
    """These are the routes and rates of one epoch of the configuration, with the plans already
    made from them.
    """

    routes: Routes
    rates: Rates
    down: frozenset[int] = frozenset()  # carriers that have been down for 60 s
    _plans: dict[tuple[str, str, str | None, bool], Plan] = field(default_factory=dict)

    def plan(self, account_id: str, phone: Phone, *, sandbox: bool) -> Plan:
        """Memoized by as many leading digits as any route or rate looks at."""
        key = (
            account_id,
            phone.digits[: max(self.routes.longest, self.rates.longest)],
            phone.country_code,
            sandbox,
        )
        found = self._plans.get(key)
        if found is None:
            if len(self._plans) >= PLANS_MAX:
                self._plans.clear()
            found = self._plans[key] = self._plan(account_id, phone, sandbox)
        return found

    def _plan(self, account_id: str, phone: Phone, sandbox: bool) -> Plan:
        rate = self.rates.for_(account_id, phone.digits, phone.country_code)
        if rate is None:
            return Plan(0, "", 0, "no_rate")
        if sandbox:  # the one place where the carrier is replaced
            return Plan(SIMULATOR_ID, "", rate)
        route = self.routes.carriers_for(phone.digits)
        if route is None:
            return Plan(0, "", 0, "no_route")
        prefix, carriers = route
        up = [carrier for carrier in carriers if carrier not in self.down]
        return Plan((up or carriers)[0], prefix, rate)


class Run(NamedTuple):
    """These are consecutive messages of a send with one carrier: one row of the queue."""

    carrier_id: int
    prefix: str
    first: int  # 0: the send's first message
    messages: int
