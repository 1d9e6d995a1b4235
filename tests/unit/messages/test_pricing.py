"""Recipients become priced messages, for sends and for chunks of campaigns by one function."""

import pytest

from heliograph.carriers import GENERAL, current_rates, routing
from heliograph.messages.accept import tariff as tariffs
from heliograph.messages.accept.pricing import PricedRecipients, RefusedRecipient, price
from heliograph.messages.accept.tariff import Run, Tariff
from heliograph.text import Phone

ACCOUNT = "a" * 32
MTN, VODAFONE, ABROAD = 2, 3, 4
ACCRA = Phone("233241234567", "GH")
TEMA = Phone("233241234568", "GH")
KUMASI = Phone("233201234567", "GH")
LAGOS = Phone("2348021234567", "NG")
NAIROBI = Phone("254712345678", "KE")


def tariff() -> Tariff:
    """Returns a tariff in which Kumasi's numbers go with another carrier, a segment to Lagos costs
    3, and none goes to Nairobi.
    """
    return Tariff(
        routing.Routes(
            [
                routing.Route("233", (MTN,)),
                routing.Route("23320", (VODAFONE,)),
                routing.Route("", (ABROAD,)),
            ]
        ),
        current_rates.Rates(
            [current_rates.Rate(GENERAL, "NG", 3), current_rates.Rate(GENERAL, "KE", None)]
        ),
    )


def priced(
    *phones: Phone,
    segments: int = 1,
    balance: int | None = None,
    countries: frozenset[str] | None = None,
    sandbox: bool = False,
) -> PricedRecipients:
    return price(phones, segments, tariff().offers(ACCOUNT, countries, sandbox=sandbox), balance)


def test_each_recipient_has_its_carrier_and_its_price_by_segments() -> None:
    found = priced(ACCRA, LAGOS, segments=2)
    assert found.recipients == [int(ACCRA.digits), int(LAGOS.digits)]
    assert (found.countries, found.carriers, found.credits) == (["GH", "NG"], [MTN, ABROAD], [2, 6])
    assert (found.credits_required, found.refused, found.short_of) == (8, [], None)


def test_neighbours_with_one_carrier_and_prefix_are_one_run() -> None:
    assert priced(ACCRA, TEMA, KUMASI, NAIROBI, ACCRA).runs == [
        Run(MTN, "233", 0, 2),
        Run(VODAFONE, "23320", 2, 1),
        Run(MTN, "233", 3, 1),
    ]
    assert priced().runs == []


def test_who_cannot_be_sent_to_is_refused_by_place_and_costs_nothing() -> None:
    found = priced(LAGOS, ACCRA, NAIROBI, countries=frozenset({"GH", "KE"}))
    assert found.refused == [
        RefusedRecipient(0, "country_not_allowed"),
        RefusedRecipient(2, "no_rate"),
    ]
    assert (found.recipients, found.credits_required) == ([int(ACCRA.digits)], 1)


@pytest.mark.parametrize(
    ("balance", "messages", "short_of"), [(0, 0, 1), (1, 1, 3), (3, 1, 3), (4, 2, 1), (5, 3, None)]
)
def test_a_balance_pays_for_the_first_recipients_and_tells_what_the_next_one_costs(
    balance: int, messages: int, short_of: int | None
) -> None:
    found = priced(ACCRA, LAGOS, NAIROBI, TEMA, balance=balance)
    assert (len(found.recipients), found.short_of) == (messages, short_of)
    assert found.credits_required == sum(found.credits) <= balance
    assert len(found.refused) == (messages > 1), "who comes after the last paid one is not judged"


def test_in_sandbox_a_message_costs_nothing_and_what_it_would_cost_is_told() -> None:
    found = priced(ACCRA, LAGOS, sandbox=True)
    assert (found.credits, found.credits_required) == ([0, 0], 4)


def test_offers_are_remembered_by_account_countries_and_mode_up_to_a_limit(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(tariffs, "PLANS_MAX", 6)
    there = tariff()
    anywhere = there.offers(ACCOUNT, None, sandbox=False)
    at_home = there.offers(ACCOUNT, frozenset({"GH"}), sandbox=False)
    assert there.offers(ACCOUNT, None, sandbox=False) is anywhere
    assert [offers.find(LAGOS).refusal for offers in (anywhere, at_home)] == [
        None,
        "country_not_allowed",
    ]
    price([ACCRA, TEMA], 1, anywhere)
    assert len(anywhere.known) == 2, "phones with the same first digits share an offer"
    price([KUMASI, NAIROBI, ACCRA], 1, at_home)
    assert not anywhere.known, "when there are too many, all are forgotten"
    assert there.offers(ACCOUNT, None, sandbox=False) is not anywhere
