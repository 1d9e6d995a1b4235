"""Money is integers of the currency's smallest unit inside, and JSON numbers with at most the
currency's own decimals outside.
"""

from decimal import Decimal, InvalidOperation
from functools import cache
from typing import Final

from heliograph.base.forms import quote_value
from heliograph.base.short_texts import invalid_field

# ISO 4217's exponents where they are not 2. Not Babel's: CLDR says what is handed over in shops
# (LAK 0, IQD 0), not what is accounted in.
_WITHOUT_DECIMALS: Final = "BIF CLP DJF GNF ISK JPY KMF KRW PYG RWF UGX UYI VND VUV XAF XOF XPF"
_WITH_THREE: Final = "BHD IQD JOD KWD LYD OMR TND"
_WITH_FOUR: Final = "CLF UYW"
_EXPONENTS: Final = {
    code: places
    for codes, places in ((_WITHOUT_DECIMALS, 0), (_WITH_THREE, 3), (_WITH_FOUR, 4))
    for code in codes.split()
}

# Where Babel's data and ISO 4217's list of currencies in use disagree: El Salvador's and
# Venezuela's second ones; Bulgaria has the euro since 2026.
_IN_USE_TOO: Final = {"SVC", "VED"}
_REPLACED: Final = {"BGN"}

# what a JSON number (a double) carries exactly, wherever the decimal point stands
MINOR_DIGITS: Final = 15
MINOR_MAX: Final = 10**MINOR_DIGITS - 1


def currency(code: str) -> str:
    """Returns the ISO 4217 code in upper case. Raises InvalidRequest when it is not a currency
    in use.
    """
    upper = code.upper()
    if upper not in _currencies_in_use():
        raise invalid_field(
            "currency",
            f"must be a currency of ISO 4217 that is in use, such as GHS, not {quote_value(code)}",
        )
    return upper


def currency_of(country_code: str) -> str | None:
    """Returns the currency of a country, the first one of several; None where there is none."""
    from babel.core import get_global

    tenders = get_global("territory_currencies").get(country_code, ())
    current = [code for code, _, until, is_tender in tenders if until is None and is_tender]
    return next((code for code in current if code in _currencies_in_use()), None)


@cache
def _currencies_in_use() -> frozenset[str]:
    # here, because it reads a file of 40 kB that most processes never need
    from babel.core import get_global

    tenders = get_global("territory_currencies").values()
    return (
        frozenset(
            code
            for countrys in tenders
            for code, _, until, is_tender in countrys
            if until is None and is_tender
        )
        - _REPLACED
        | _IN_USE_TOO
    )


def exponent(currency: str) -> int:
    """Returns how many decimals the currency's amounts have."""
    return _EXPONENTS.get(currency, 2)


def to_minor(amount: Decimal | int | float | str, currency: str, *, field: str = "amount") -> int:
    """Converts 12.5 GHS to 1250. Raises InvalidRequest for what is not a number, has more decimals
    than the currency, or has more than 15 digits.

    A float is taken for the decimal number that it prints as: what was written in JSON.
    """
    try:
        exact = Decimal(repr(amount) if isinstance(amount, float) else amount)
    except InvalidOperation as error:
        raise invalid_field(field, f"must be a number, not {quote_value(amount)}") from error
    if not exact.is_finite():
        raise invalid_field(field, f"must be a number, not {quote_value(str(amount))}")
    # by its digits: Decimal's own arithmetic rounds to 28 of them, and 1E+999999 must cost nothing
    # to refuse
    sign, digits, last_place = exact.as_tuple()
    significant = "".join(map(str, digits)).rstrip("0")
    if not significant:
        return 0
    places = exponent(currency)
    # after the significant digits, in minor units
    zeros = int(last_place) + len(digits) - len(significant) + places
    if zeros < 0:
        raise invalid_field(
            field, f"has more decimals than the {places} of {currency}: {quote_value(str(amount))}"
        )
    if exact.adjusted() + places >= MINOR_DIGITS:
        raise invalid_field(field, f"must be at most {to_text(MINOR_MAX, currency)}")
    minor = int(significant + "0" * zeros)
    return -minor if sign else minor


def to_number(minor: int, currency: str) -> int | float:
    """Converts 1250 GHS to 12.5, for JSON; it is exact up to MINOR_MAX."""
    scale: int = 10 ** exponent(currency)
    return minor // scale if minor % scale == 0 else minor / scale


def to_text(minor: int, currency: str) -> str:
    """Converts 1250 GHS to `12.50 GHS`."""
    return f"{Decimal(minor).scaleb(-exponent(currency)):.{exponent(currency)}f} {currency}"
