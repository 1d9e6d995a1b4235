"""Answers which country the numbers of a prefix belong to, and gives a number of a country, for
what is decided about prefixes before there is a number.
"""

from functools import cache, lru_cache
from typing import Final

from heliograph.text.phone import parse

# of whole numbers, the most frequent ones first, so that few are tried
_LENGTHS: Final = (12, 11, 13, 10, 14, 9, 15, 8, 7)
PREFIXES_KEPT: Final = 16_384  # more than all costs and rates of an installation have
_FILLING: Final = "5"  # no plan begins a trunk prefix or a short code with it behind its own digits


@cache
def sample_number(country_code: str) -> str | None:
    """Returns the digits of a number of a country, a mobile one where its plan has any; None where
    nobody has a telephone.
    """
    from phonenumbers import PhoneNumberType, example_number, example_number_for_type

    found = example_number_for_type(country_code, PhoneNumberType.MOBILE)
    found = found or example_number(country_code)
    return None if found is None else f"{found.country_code}{found.national_number}"


@lru_cache(PREFIXES_KEPT)
def country_of_prefix(prefix: str) -> str | None:
    """Returns the country of the numbers that begin with these digits, as far as the digits tell
    it; None where they do not.
    """
    for length in _LENGTHS:
        phone = parse(prefix.ljust(length, _FILLING)) if length >= len(prefix) else None
        if phone is not None and phone.country_code is not None:
            return phone.country_code
    return None
