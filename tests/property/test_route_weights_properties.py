"""Carriers with weights share what a route gets, and nothing else of a message depends on it."""

from itertools import pairwise
from math import sqrt

from hypothesis import given, settings
from hypothesis import strategies as st

from heliograph.carriers import GENERAL, current_rates, routing
from heliograph.messages.accept.pricing import STRETCH, PricedRecipients, price
from heliograph.messages.accept.tariff import DestinationPlan, Run, Tariff
from heliograph.text import Phone

ACCOUNT = "a" * 32
PREFIXES = ("", "233", "23320", "254")
RATES = [
    current_rates.Rate(GENERAL, "233", 3),
    current_rates.Rate(GENERAL, "23320", 2),
    current_rates.Rate(GENERAL, "NG", None),
]
DEVIATIONS = 5  # of the binomial distribution: one case in a million is outside
NUMBERS = 4_000


@st.composite
def routes(draw: st.DrawFn, prefix: str) -> routing.Route:
    carrier_ids = tuple(draw(st.lists(st.integers(1, 6), min_size=1, max_size=6, unique=True)))
    weights = draw(st.lists(st.integers(1, 100), max_size=len(carrier_ids)))
    return routing.Route(prefix, carrier_ids, tuple(weights))


@st.composite
def phones(draw: st.DrawFn) -> list[Phone]:
    """Returns some blocks of numbers, of several destinations, in any order."""
    blocks = st.tuples(
        st.sampled_from([233_200_000_000, 233_540_000_000, 234_800_000_000, 254_700_000_000]),
        st.integers(0, 10**6),
        st.integers(1, 9),
        st.integers(1, 3 * STRETCH),
    )
    country = {"233": "GH", "234": "NG", "254": "KE"}
    numbers = dict.fromkeys(
        begin + offset + step * k
        for begin, offset, step, count in draw(st.lists(blocks, min_size=1, max_size=4))
        for k in range(count)
    )
    return [Phone(str(number), country[str(number)[:3]]) for number in numbers]


def priced(listed: list[routing.Route], down: frozenset[int], to: list[Phone]) -> PricedRecipients:
    tariff = Tariff(routing.Routes(listed), current_rates.Rates(RATES), down)
    return price(to, 2, tariff.offers(ACCOUNT, None, sandbox=False), 9_000)


def takers(route: routing.Route, down: frozenset[int]) -> set[int]:
    """Returns whom a route may lead to, spelled out."""
    ids, count = route.carrier_ids, len(route.weights)
    sharing = [carrier for carrier in ids[:count] if carrier not in down]
    spare = [carrier for carrier in ids if carrier not in down][:1]
    return set(sharing or spare or ids[: count or 1])


def messages_of(run: Run) -> range:
    return range(run.first, run.first + run.messages)


@settings(max_examples=60)
@given(st.tuples(*map(routes, PREFIXES)).map(list), st.frozensets(st.integers(1, 6)), phones())
def test_each_run_goes_to_a_carrier_that_shares_and_is_up_and_nothing_else_depends_on_weights(
    listed: list[routing.Route], down: frozenset[int], to: list[Phone]
) -> None:
    found = priced(listed, down, to)
    assert found == priced(listed, down, to), "the same input gives the same result"
    by_prefix = {route.prefix: route for route in listed}
    for run in found.runs:
        assert run.carrier_id in takers(by_prefix[run.prefix], down)
        assert {found.carriers[place] for place in messages_of(run)} == {run.carrier_id}
    assert [place for run in found.runs for place in messages_of(run)] == list(
        range(len(found.recipients))
    )
    plain = priced([routing.Route(route.prefix, route.carrier_ids) for route in listed], down, to)
    assert (found.recipients, found.credits, found.countries) == (
        plain.recipients,
        plain.credits,
        plain.countries,
    )
    assert (found.refused, found.short_of) == (plain.refused, plain.short_of)
    assert _prefixes(found) == _prefixes(plain)
    for run, after in pairwise(found.runs):
        assert (run.carrier_id, run.prefix) != (after.carrier_id, after.prefix)
        if run.prefix == after.prefix:  # a change within a destination: behind whole stretches
            begins = max(other.first for other in plain.runs if other.first <= run.first)
            assert (after.first - begins) % STRETCH == 0


@settings(max_examples=25)
@given(
    st.lists(st.integers(1, 100), min_size=2, max_size=6),
    st.integers(10**8, 10**14),
    st.integers(1, 10_007),
)
def test_single_sends_and_stretches_fall_to_each_carrier_in_proportion(
    weights: list[int], first: int, step: int
) -> None:
    route = routing.Route("", tuple(range(1, len(weights) + 1)), tuple(weights))
    down = frozenset({1}) if len(weights) > 2 else frozenset[int]()
    plan: DestinationPlan = Tariff(
        routing.Routes([route]), current_rates.Rates([]), down
    ).plan_anew(ACCOUNT, Phone(str(first), None), sandbox=False)
    numbers = range(first, first + step * NUMBERS, step)
    taken = [plan.carrier_of(number) for number in numbers]
    up = {carrier: weights[carrier - 1] for carrier in route.carrier_ids if carrier not in down}
    assert set(taken) <= set(up)
    for carrier, weight in up.items():
        part = weight / sum(up.values())
        bound = DEVIATIONS * sqrt(NUMBERS * part * (1 - part)) + 1
        assert abs(taken.count(carrier) - NUMBERS * part) <= bound, (carrier, part)


def _prefixes(found: PricedRecipients) -> list[str]:
    return [run.prefix for run in found.runs for _ in messages_of(run)]
