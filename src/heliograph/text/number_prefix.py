"""Reads the first digits of phone numbers, which are what routes, rates and costs are for."""

import re
from typing import Final

from heliograph.text.numbering_plans import NUMBER_DIGITS_MAX

# No country code begins with 0 (ITU-T E.164, 6.2.1), so such a prefix would be that of no number.
_DIGITS: Final = re.compile(rf"[1-9][0-9]{{0,{NUMBER_DIGITS_MAX - 1}}}", re.ASCII)
# how an error says what a prefix may be
FIRST_DIGITS: Final = f"the first 1 to {NUMBER_DIGITS_MAX} digits of numbers (never 0 first)"


def read_prefix(text: str) -> str | None:
    """Returns the digits of a prefix, without spaces and without the `+` or `00` in front that
    stands for dialling abroad. It returns None for what no number can begin with.
    """
    joined = text.replace(" ", "")
    digits = joined[1:] if joined.startswith("+") else joined.removeprefix("00")
    return digits if _DIGITS.fullmatch(digits) else None
