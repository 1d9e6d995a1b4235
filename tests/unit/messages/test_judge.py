"""The judge decides about one send: who gets it, over which carrier, at what price, and when it is
refused. The tests of tests/property try sequences.
"""

from itertools import accumulate, pairwise
from typing import Any

import pytest

from heliograph.base.clock import DAY_MS
from heliograph.base.errors import InsufficientCredits, InvalidRequest, RateLimited, ServiceError
from heliograph.carriers import GENERAL, SIMULATOR_ID, current_rates, routing
from heliograph.messages.accept.judge import AcceptedSend, AccountFacts, WalletState, judge
from heliograph.messages.accept.pricing import STRETCH
from heliograph.messages.accept.request import SendRequest
from heliograph.messages.accept.tariff import Run, Tariff
from tests.support.factories import send_request

MTN, VODAFONE, ABROAD = 2, 3, 4
NOW_MS = 1_800_000_000_000
TODAY = NOW_MS // DAY_MS
ACCRA, KUMASI, LAGOS, NAIROBI = "233201234567", "233321234567", "2348021234567", "254712345678"

FACTS = AccountFacts(senders={"amina": "AMINA"}, countries=None, daily_credits=None)
TARIFF = Tariff(
    routing.Routes(
        [
            routing.Route("233", (MTN, VODAFONE)),
            routing.Route("", (ABROAD, MTN)),
            routing.Route("254", ()),
        ]
    ),
    current_rates.Rates([current_rates.Rate(GENERAL, "NG", 3)]),
)


def wallet(credits: int = 1_000, *, spent_day: int = 0, spent: int = 0) -> WalletState:
    return WalletState(credits, spent_day, spent)


def send(*to: str, text: str = "hello", **fields: Any) -> SendRequest:
    return send_request("a" * 32, to, text, **fields)


def accepted(
    request: SendRequest,
    purse: WalletState | None = None,
    facts: AccountFacts = FACTS,
    tariff: Tariff = TARIFF,
) -> AcceptedSend:
    verdict = judge(request, facts, tariff, purse or wallet(), NOW_MS)
    assert isinstance(verdict, AcceptedSend), verdict
    return verdict


def refused(
    request: SendRequest, purse: WalletState | None = None, facts: AccountFacts = FACTS
) -> ServiceError:
    """Returns the refusal. A wallet that is refused stays as it was."""
    purse = purse or wallet()
    before = repr(purse)
    verdict = judge(request, facts, TARIFF, purse, NOW_MS)
    assert isinstance(verdict, ServiceError)
    assert repr(purse) == before
    return verdict


def test_a_number_that_stands_twice_is_sent_to_once_and_paid_once() -> None:
    verdict = accepted(send(ACCRA, KUMASI, "+233 20 123 4567", ACCRA))
    assert verdict.priced.recipients == [int(ACCRA), int(KUMASI)]
    assert verdict.duplicates == [(2, 0), (3, 0)]
    assert (verdict.rejected, verdict.credits_used) == ([], 2)


def test_each_rejected_recipient_is_named_by_its_place_as_it_was_written_with_its_reason() -> None:
    facts = FACTS._replace(countries=frozenset({"GH", "KE", "US"}))
    tariff = Tariff(TARIFF.routes, current_rates.Rates([current_rates.Rate(GENERAL, "US", None)]))
    verdict = accepted(
        send("nonsense", LAGOS, ACCRA, NAIROBI, "+1 201 555 0123", "x" * 100),
        facts=facts,
        tariff=tariff,
    )
    assert verdict.rejected == [
        (0, "nonsense", "invalid_number"),
        (1, LAGOS, "country_not_allowed"),
        (3, NAIROBI, "no_route"),
        (4, "+1 201 555 0123", "no_rate"),
        (5, "x" * 40 + "…", "invalid_number"),
    ]
    assert verdict.priced.recipients == [int(ACCRA)]


def test_a_repeated_number_is_rejected_as_its_first_one_was() -> None:
    verdict = accepted(send(NAIROBI, ACCRA, f"+{NAIROBI}", ACCRA, "nonsense"))
    assert verdict.rejected == [
        (0, NAIROBI, "no_route"),
        (2, f"+{NAIROBI}", "no_route"),
        (4, "nonsense", "invalid_number"),
    ]
    assert verdict.duplicates == [(3, 1)]


def test_a_phone_that_has_opted_out_is_rejected_with_its_repetitions_and_costs_nothing() -> None:
    purse = wallet()
    out = frozenset({int(KUMASI)})
    verdict = judge(send(ACCRA, KUMASI, KUMASI, LAGOS), FACTS, TARIFF, purse, NOW_MS, None, out)
    assert isinstance(verdict, AcceptedSend)
    assert verdict.priced.recipients == [int(ACCRA), int(LAGOS)]
    assert [(each.place, each.reason) for each in verdict.rejected] == [
        (1, "opted_out"),
        (2, "opted_out"),
    ]
    assert (verdict.duplicates, verdict.credits_used) == ([], 4)


def test_only_an_account_that_may_send_transactional_texts_sends_one() -> None:
    may = FACTS._replace(transactional=True)
    verdict = refused(send(ACCRA, transactional=True))
    assert (verdict.status, verdict.reason) == (400, "invalid_field")
    assert str(verdict).startswith("transactional must be false")
    assert accepted(send(ACCRA, transactional=True), facts=may).priced.recipients == [int(ACCRA)]


def test_a_send_without_one_good_recipient_is_refused_and_each_one_named() -> None:
    error = refused(send("1", NAIROBI))
    assert (error.status, error.reason) == (400, "no_valid_recipient")
    assert error.extra["rejected"] == [
        {"index": 0, "recipient": "1", "reason": "invalid_number"},
        {"index": 1, "recipient": NAIROBI, "reason": "no_route"},
    ]
    assert error.message.endswith(" 1 more cannot be sent to either; error.rejected has them.")
    assert len(refused(send(*map(str, range(1_000)))).extra["rejected"]) == 100


@pytest.mark.parametrize(
    ("to", "country_code", "told"),
    [
        (
            "020x",
            None,
            (
                "'020x', is not a phone number in international digits such as 233201234567; for"
                " numbers as they are dialled in a country give countryCode, such as GH."
            ),
        ),
        (
            "12",
            "GH",
            (
                "'12', is not a phone number of GH (countryCode), nor one in international digits"
                " such as 233201234567."
            ),
        ),
        (
            NAIROBI,
            None,
            "'254712345678', has no route: the operator has connected no carrier for such numbers.",
        ),
        (LAGOS, "GH", "'2348021234567', is a number of NG, and this account may not send there."),
    ],
)
def test_the_first_recipient_that_cannot_be_sent_to_is_named_with_what_would_be_right(
    to: str, country_code: str | None, told: str
) -> None:
    request = send(to)
    request.country_code = country_code
    error = refused(request, facts=FACTS._replace(countries=frozenset({"GH", "KE"})))
    assert error.message == f"None of the recipients can be sent to. The first, {told}"


def test_a_send_whose_destination_has_no_price_says_so() -> None:
    tariff = Tariff(TARIFF.routes, current_rates.Rates([current_rates.Rate(GENERAL, "GH", None)]))
    error = judge(send(ACCRA), FACTS, tariff, wallet(), NOW_MS)
    assert isinstance(error, InvalidRequest)
    assert "has no rate: the operator has set no price" in error.message


@pytest.mark.parametrize("sender", ["BILAL", "SANDBOX"])
def test_a_sender_that_is_not_approved_is_refused(sender: str) -> None:
    error = refused(send(ACCRA, sender=sender))
    assert isinstance(error, InvalidRequest)
    assert error.reason == "sender_not_approved"


def test_a_sender_is_found_in_any_case_and_goes_out_as_approved() -> None:
    assert accepted(send(ACCRA, sender="aMiNa")).sender == "AMINA"


def test_consecutive_messages_over_one_route_are_one_run_of_the_queue() -> None:
    tariff = Tariff(
        routing.Routes(
            [
                routing.Route("233", (MTN,)),
                routing.Route("23332", (MTN,)),
                routing.Route("", (ABROAD,)),
            ]
        ),
        TARIFF.rates,
    )
    to = [ACCRA, "233201234568", "nonsense", "233201234569", KUMASI, LAGOS, "233201234570"]
    assert accepted(send(*to), tariff=tariff).priced.runs == [
        Run(MTN, "233", 0, 3),
        Run(MTN, "23332", 3, 1),
        Run(ABROAD, "", 4, 1),
        Run(MTN, "233", 5, 1),
    ]


def test_carriers_that_share_a_prefix_get_stretches_which_stay_in_the_order_of_the_numbers() -> (
    None
):
    route = routing.Route("233", (MTN, VODAFONE), (1, 3))
    to = [str(233_201_000_000 + number) for number in range(10 * STRETCH + 1)]
    priced = accepted(
        send(*to), wallet(2_000), tariff=Tariff(routing.Routes([route]), TARIFF.rates)
    ).priced
    sharing = route.sharing(())
    assert sharing is not None
    falls_to = [sharing.carrier_of(int(to[first])) for first in range(0, len(to), STRETCH)]
    assert set(falls_to) == {MTN, VODAFONE}
    assert priced.carriers == [falls_to[place // STRETCH] for place in range(len(to))]
    assert [run.first for run in priced.runs] == [
        0,
        *accumulate(run.messages for run in priced.runs),
    ][:-1]
    assert sum(run.messages for run in priced.runs) == len(to)
    for run, following in pairwise(priced.runs):
        assert run.carrier_id != following.carrier_id
    for run in priced.runs:
        assert set(priced.carriers[run.first : run.first + run.messages]) == {run.carrier_id}


@pytest.mark.parametrize(
    ("down", "carrier"),
    [(set(), MTN), ({MTN}, VODAFONE), ({VODAFONE}, MTN), ({MTN, VODAFONE}, MTN)],
)
def test_the_first_carrier_of_the_route_that_is_up_takes_it_and_the_first_of_all_when_none_is(
    down: set[int], carrier: int
) -> None:
    tariff = Tariff(TARIFF.routes, TARIFF.rates, frozenset(down))
    assert accepted(send(ACCRA), tariff=tariff).priced.carriers == [carrier]


def test_the_price_is_segments_times_each_destinations_rate() -> None:
    purse = wallet(100)
    verdict = accepted(send(ACCRA, LAGOS, text="a" * 161), purse)
    assert verdict.priced.credits == [2, 6]
    assert (verdict.priced.credits_required, verdict.credits_used, verdict.credits_remaining) == (
        8,
        8,
        92,
    )
    assert (purse.sms_credits, purse.charged) == (92, True)


def test_plans_remembered_for_one_number_are_not_another_accounts_or_modes() -> None:
    tariff = Tariff(TARIFF.routes, current_rates.Rates([current_rates.Rate("b" * 32, "233", 7)]))
    assert accepted(send(ACCRA), tariff=tariff).priced.credits == [1]
    assert accepted(send_request("b" * 32, ACCRA), tariff=tariff).priced.credits == [7]
    assert accepted(send(ACCRA, sandbox=True), tariff=tariff).priced.carriers == [SIMULATOR_ID]
    assert accepted(send(ACCRA), tariff=tariff).priced.carriers == [MTN]


def test_the_last_credit_can_be_spent_and_no_more() -> None:
    assert accepted(send(ACCRA, KUMASI), wallet(2)).credits_remaining == 0
    error = refused(send(ACCRA, KUMASI), wallet(1))
    assert isinstance(error, InsufficientCredits)
    assert error.extra == {"required": 2, "available": 1}


def test_the_daily_cap_counts_what_was_spent_today_in_utc() -> None:
    capped = FACTS._replace(daily_credits=10)
    purse = wallet(spent_day=TODAY, spent=8)
    accepted(send(ACCRA, KUMASI), purse, capped)
    assert (purse.spent_day, purse.spent_credits) == (TODAY, 10)
    error = refused(send(ACCRA), purse, capped)
    assert isinstance(error, RateLimited)
    assert error.reason == "daily_cap_reached"
    left_ms = (TODAY + 1) * DAY_MS - NOW_MS
    assert 0 < (error.retry_after_s or 0) * 1_000 - left_ms <= 1_000
    yesterdays = wallet(spent_day=TODAY - 1, spent=10)
    accepted(send(ACCRA), yesterdays, capped)
    assert (yesterdays.spent_day, yesterdays.spent_credits) == (TODAY, 1)


def test_sandbox_goes_to_the_simulator_with_a_price_that_nobody_pays() -> None:
    purse = wallet(0, spent_day=TODAY, spent=10)
    before = repr(purse)
    verdict = accepted(
        send(ACCRA, NAIROBI, sandbox=True, sender="sandbox"),
        purse,
        FACTS._replace(daily_credits=10),
    )
    assert verdict.sender == "SANDBOX"
    assert verdict.priced.carriers == [SIMULATOR_ID] * 2
    assert verdict.priced.credits == [0, 0]
    assert (verdict.priced.credits_required, verdict.credits_used) == (2, 0)
    assert repr(purse) == before


def test_in_sandbox_a_recipient_in_004_makes_the_send_402() -> None:
    error = refused(send(ACCRA, "233201234004", sandbox=True))
    assert isinstance(error, InsufficientCredits)
    assert error.extra == {"required": 2, "available": 0}
    assert accepted(send("233201234004")).credits_used == 1  # live numbers end as they like
    assert accepted(send("233201230041", sandbox=True)).priced.recipients == [233201230041]


@pytest.mark.parametrize("sandbox", [False, True])
def test_a_dry_run_prices_everything_and_is_never_402(sandbox: bool) -> None:
    purse = wallet(1)
    before = repr(purse)
    verdict = accepted(
        send(ACCRA, "233201234004", "nonsense", dry_run=True, sandbox=sandbox),
        purse,
        FACTS._replace(daily_credits=1),
    )
    assert (verdict.priced.credits_required, verdict.credits_used, verdict.credits_remaining) == (
        2,
        0,
        1,
    )
    assert len(verdict.rejected) == 1
    assert repr(purse) == before


def test_an_account_in_sandbox_only_sends_nothing_live() -> None:
    facts = FACTS._replace(sandbox_only=True)
    verdict = refused(send(ACCRA), facts=facts)
    assert (verdict.status, verdict.reason) == (403, "sandbox_only")
    assert accepted(send(ACCRA, sandbox=True), facts=facts).credits_used == 0
