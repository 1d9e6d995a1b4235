"""Credits and money are what was written, to the last digit, or they are refused by the
field's name: never what a float made of them.
"""

from collections.abc import Callable
from decimal import Decimal

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from heliograph.base.errors import InvalidRequest
from heliograph.base.json import InvalidJson, decode_object
from heliograph.connect.request import CustomerRequest, read_credits_request, read_customer_request
from heliograph.wallet import CREDITS_MAX
from heliograph.wallet.money import to_minor

CUSTOMER = '"full_name": "Bilal", "phone": "233201234567", "country_code": "GH"'
DIGITS = st.text("0123456789", min_size=1, max_size=25)
NUMBERS = st.builds(
    lambda sign, whole, fraction, exponent: (
        f"{sign}{whole.lstrip('0') or '0'}{'.' + fraction if fraction else ''}{exponent}"
    ),
    st.sampled_from(["", "-"]),
    DIGITS | st.sampled_from(["0", "1", "5"]),
    st.just("")
    | DIGITS
    | st.integers(0, 25).map(lambda zeros: "0" * zeros + "1")
    | st.integers(1, 25).map(lambda zeros: "0" * zeros),
    st.just("") | st.integers(-400, 30).map(lambda power: f"e{power}"),
)


def taken(read: Callable[[], int], field: str) -> int | None:
    """Returns what `read` makes of a body. None means that it was refused by the field's name, or
    that the number is beyond what JSON may hold here.
    """
    try:
        return read()
    except InvalidJson:
        return None
    except InvalidRequest as error:
        named = [bad.field for bad in error.fields]
    assert named == [field]
    return None


def customer_request(field: str, number: str) -> CustomerRequest:
    return read_customer_request(decode_object(f'{{{CUSTOMER}, "{field}": {number}}}'.encode()))[0]


@given(NUMBERS)
@example("1.0000000000000001")
@example("1e-400")
@example("0.99999999999999999")
@example("9007199254740993.0")
@example("1e3")
def test_credits_are_exactly_the_integer_that_was_written_or_refused(number: str) -> None:
    exact = Decimal(number)
    whole = int(exact) if abs(exact) <= CREDITS_MAX and exact % 1 == 0 else None
    moved = taken(
        lambda: read_credits_request(decode_object(f'{{"credits": {number}}}'.encode()))[0].credits,
        "credits",
    )
    assert moved == (whole or None)  # 0 moves nothing
    begun = taken(
        lambda: customer_request("initial_sms_credits", number).initial_credits,
        "initial_sms_credits",
    )
    assert begun == (whole if whole is not None and whole >= 0 else None)


@given(NUMBERS)
@example("1.0000000000000001")
@example("1e-400")
def test_money_is_exactly_what_was_written_or_refused(number: str) -> None:
    minor = taken(
        lambda: to_minor(
            customer_request("initial_wallet_balance", number).initial_balance,
            "GHS",
            field="initial_wallet_balance",
        ),
        "initial_wallet_balance",
    )
    assert minor is None or Decimal(minor).scaleb(-2) == Decimal(number)


@pytest.mark.parametrize("number", ["1.0000000000000001", "1e-400"])
def test_an_error_repeats_no_number_that_was_not_sent(number: str) -> None:
    with pytest.raises(InvalidRequest) as caught:
        read_credits_request(decode_object(f'{{"credits": {number}}}'.encode()))
    assert "credits" in str(caught.value)
    assert "not 1.0" not in str(caught.value)
    assert "not 0.0" not in str(caught.value)
