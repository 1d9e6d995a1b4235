"""Money is converted between JSON numbers and integers of the smallest unit."""

import json
from decimal import Decimal

import pytest
from babel.numbers import list_currencies
from hypothesis import given
from hypothesis import strategies as st

from heliograph.base.errors import InvalidRequest
from heliograph.wallet import money
from heliograph.wallet.money import MINOR_MAX, exponent

CURRENCIES = st.sampled_from(["GHS", "JPY", "UGX", "KWD", "TND", "CLF", "EUR"])


@given(st.integers(-MINOR_MAX, MINOR_MAX), CURRENCIES)
def test_an_amount_comes_back_from_json_as_it_went(minor: int, code: str) -> None:
    assert money.to_minor(json.loads(json.dumps(money.to_number(minor, code))), code) == minor
    assert money.to_minor(money.to_text(minor, code).removesuffix(f" {code}"), code) == minor


@given(st.integers(-(10**6), 10**6), st.integers(1, 9), st.integers(1, 6), CURRENCIES)
def test_more_decimals_than_the_currency_has_are_refused(
    whole: int, last_digit: int, too_many: int, code: str
) -> None:
    places = exponent(code) + too_many
    with pytest.raises(InvalidRequest, match="has more decimals than"):
        money.to_minor(Decimal(whole) + Decimal(last_digit).scaleb(-places), code)


@pytest.mark.parametrize(
    ("amount", "minor"),
    [
        (12.5, 1250),
        (1e2, 10_000),
        ("7", 700),
        ("1e-2", 1),
        (-0.0, 0),
        (0.1 + 0.2, None),
        (10**13, None),
        (1e300, None),
        ("1E+999999999", None),
        ("1E-999999999", None),
        ("1." + "0" * 40, 100),
        ("1." + "0" * 40 + "1", None),
        ("NaN", None),
        (float("inf"), None),
        ("twelve", None),
        ("", None),
    ],
)
def test_an_amount_is_exact_or_refused(amount: float | str, minor: int | None) -> None:
    if minor is None:
        with pytest.raises(InvalidRequest):
            money.to_minor(amount, "GHS")
    else:
        assert money.to_minor(amount, "GHS") == minor


def test_whole_amounts_are_integers_in_json() -> None:
    assert (
        json.dumps(
            [
                money.to_number(1200, "GHS"),
                money.to_number(1250, "GHS"),
                money.to_number(1200, "JPY"),
            ]
        )
        == "[12, 12.5, 1200]"
    )


def test_currencies_are_those_in_use_whatever_their_case() -> None:
    assert [money.currency(code) for code in ("ghs", "UGX", "Eur", "SVC", "VED")] == [
        "GHS",
        "UGX",
        "EUR",
        "SVC",
        "VED",
    ]
    # GHC: the cedi until 2007, BGN: the lev until 2025
    for code in ("GHC", "BGN", "DEM", "XXX", "G", "", "G\0S"):
        with pytest.raises(InvalidRequest, match="must be a currency of ISO 4217"):
            money.currency(code)


def test_most_currencies_have_two_decimals_and_none_more_than_four() -> None:
    exponents = {code: exponent(code) for code in list_currencies()}
    assert set(exponents.values()) == {0, 2, 3, 4}
    assert [exponents[code] for code in ("GHS", "XOF", "RWF", "TND", "LAK")] == [2, 0, 0, 3, 2]
