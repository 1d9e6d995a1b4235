"""The estimate of a campaign is what judging its messages would charge, over generated routes,
rates and countries.
"""

from collections import Counter

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from heliograph import accounts, campaigns
from heliograph.base.errors import InvalidRequest
from heliograph.campaigns.audience.freeze import read_through
from heliograph.campaigns.audience.price import Pricing
from heliograph.carriers import GENERAL, current_rates, routing
from heliograph.database.database import Database
from heliograph.messages.accept import FACTS, Tariff
from heliograph.messages.accept.judge import AcceptedSend, WalletState, judge
from tests.support.capability.campaigns import add_contacts, write_down
from tests.support.factories import grant, send_request

# Ghana, Nigeria, a shared calling code with Canada and a country that none has, and a service
# number of no country
PHONES = [
    "233200000000",
    "233241111111",
    "2348031234567",
    "2349012345678",
    "14165550100",
    "12125550100",
    "80012345678",
    "447911123456",
]
PREFIXES = st.sampled_from(["", "2", "233", "23324", "234803", "1", "1416", "800", "447911123456"])
DESTINATIONS = st.sampled_from(
    ["default", "233", "2332", "234", "1416555", "800", "GH", "NG", "CA", "US", "GB"]
)
SHOPS = ["é" * 250 * k for k in range(len(PHONES))]  # nothing, to more than ten segments
RICH = 10**9


@pytest.fixture(autouse=True)
def contacts_and_a_credit(db: Database, amina_id: str) -> None:
    """Amina has one credit, and a contact at each of PHONES."""
    grant(db, amina_id, 1)
    add_contacts(
        db,
        amina_id,
        [{"phone": phone, "custom": {"shop": SHOPS[k]}} for k, phone in enumerate(PHONES)],
    )


@settings(max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(data=st.data(), message=st.sampled_from(["Hello", "x" * 200, "Hi {shop}!", "{shop}"]))
def test_an_estimate_is_what_judging_would_charge(
    db: Database, amina_id: str, data: st.DataObject, message: str
) -> None:
    routes = data.draw(st.dictionaries(PREFIXES, st.sampled_from([(1,), (1, 2), ()]), max_size=5))
    rates = data.draw(
        st.dictionaries(
            st.tuples(st.sampled_from([GENERAL, amina_id]), DESTINATIONS),
            st.none() | st.integers(0, 9),
            max_size=6,
        )
    )
    countries = data.draw(
        st.none() | st.frozensets(st.sampled_from(["GH", "NG", "CA", "US", "GB"]), min_size=1)
    )
    tariff = Tariff(
        routing.Routes([routing.Route(prefix, carriers) for prefix, carriers in routes.items()]),
        current_rates.Rates([current_rates.Rate(*key, n) for key, n in rates.items()]),
    )
    campaign = write_down(db, amina_id, message=message)
    with db.read() as tx:
        facts = FACTS.load(tx, [(amina_id, False)])[amina_id, False]._replace(countries=countries)
        pricing = Pricing(amina_id, facts, tariff, sandbox=False)
    read_through(db, campaign, pricing, lambda people: None)
    quote = pricing.quote(RICH)
    recipients, segments, credits, refused = 0, 0, 0, Counter[str]()
    for k, phone in enumerate(PHONES):
        text = message.replace("{shop}", SHOPS[k])
        if not 1 <= len(text) <= 1_530:
            refused["too_many_segments" if text else "empty_text"] += 1
            continue
        request = send_request(amina_id, phone, text)
        verdict = judge(request, facts, tariff, WalletState(RICH, 0, 0), 0)
        if isinstance(verdict, AcceptedSend):
            recipients, segments, credits = (
                recipients + 1,
                segments + request.segments,
                credits + verdict.credits_used,
            )
        else:
            assert isinstance(verdict, InvalidRequest)
            refused[", ".join(sorted({each["reason"] for each in verdict.extra["rejected"]}))] += 1
    assert (quote.recipients, quote.segments, quote.credits, quote.refused) == (
        recipients,
        segments,
        credits,
        dict(refused),
    )


def test_routes_rates_and_countries_are_those_of_the_moment(db: Database, amina_id: str) -> None:
    campaign = write_down(db, amina_id)
    assert campaigns.estimate(db, campaign).refused == {"no_route": len(PHONES)}
    with db.write() as tx:
        routing.set_route(tx, "", ["simulator"])
        current_rates.store(tx, "GH", 3)
        current_rates.store(tx, "800", None)
        accounts.change(tx, amina_id, countries=["GH", "NG"])
    quote = campaigns.estimate(db, campaign)
    assert (quote.recipients, quote.credits, quote.refused) == (4, 8, {"country_not_allowed": 4})
