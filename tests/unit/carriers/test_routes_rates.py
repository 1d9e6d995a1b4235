"""The quick look-ups give a number the carriers and the price that the rule, spelled out,
gives it.
"""

from hypothesis import given
from hypothesis import strategies as st

from heliograph.carriers import GENERAL, current_rates, routing

FEW_DIGITS = st.text("12", max_size=5)
NUMBER = st.text("12", min_size=7, max_size=8)
COUNTRY = st.sampled_from(["GH", "NG", None])
CREDITS = st.none() | st.integers(0, 9)
ACCOUNTS = ("a" * 32, "b" * 32)


@given(st.dictionaries(FEW_DIGITS, st.lists(st.integers(1, 9), max_size=2).map(tuple)), NUMBER)
def test_the_longest_prefix_has_the_route(
    carriers_of: dict[str, tuple[int, ...]], number: str
) -> None:
    routes = routing.Routes(
        routing.Route(prefix, carriers) for prefix, carriers in carriers_of.items()
    )
    matching = [prefix for prefix in carriers_of if number.startswith(prefix)]
    longest = max(matching, key=len, default=None)
    found = routes.carriers_for(number)
    # all of its carriers drain: a shorter prefix's do not take over
    if longest is None or not carriers_of[longest]:
        assert found is None
    else:
        assert found == routing.Route(longest, carriers_of[longest])
    assert found == routes.carriers_for(number[: routes.longest])


@given(
    st.dictionaries(
        st.tuples(
            st.sampled_from([GENERAL, *ACCOUNTS]),
            FEW_DIGITS.filter(bool) | st.sampled_from(["GH", "NG", "default"]),
        ),
        CREDITS,
    ),
    st.sampled_from(ACCOUNTS),
    NUMBER,
    COUNTRY,
)
def test_a_rate_is_the_accounts_own_before_the_general_then_prefix_country_default(
    said: dict[tuple[str, str], int | None], account_id: str, number: str, country: str | None
) -> None:
    rates = current_rates.Rates(
        current_rates.Rate(who, where, credits) for (who, where), credits in said.items()
    )
    said = {(GENERAL, "default"): 1, **said}
    order = [
        (who, where)
        for who in (account_id, GENERAL)
        for where in [
            *(number[:length] for length in range(len(number), 0, -1)),
            country,
            "default",
        ]
    ]
    want = next(said[place] for place in order if place in said)
    assert (
        rates.credits_for(account_id, number, country)
        == want
        == rates.credits_for(account_id, number[: rates.longest], country)
    )
