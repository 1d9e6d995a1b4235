"""Finds a phone number in what people have written, in any of the ways in which it may stand
there.
"""

import re
from typing import Final

from heliograph.text.phone import Phone, calling_code_of

ERASED: Final = "…"  # what stands in its place
# Between digits, besides what a keyboard has: no-break, figure and narrow no-break space; Unicode's
# hyphens and dashes, and minus.
_BETWEEN: Final = r"[ \-.()/\u00A0\u2007\u202F\u2010-\u2015\u2212]{0,3}"
SIGNIFICANT_MIN: Final = 7  # digits without a calling code that say which number it is


class Quoted:
    """Finds one number: in its international form, and as it is dialled in its country."""

    def __init__(self, phone: Phone) -> None:
        self.digits = phone.digits
        code = (
            str(calling_code_of(phone.country_code) or "") if phone.country_code is not None else ""
        )
        rest = phone.digits.removeprefix(code)
        trunk = rf"(?:\d{{1,2}}{_BETWEEN})?"
        number = _BETWEEN.join(rest)
        forms = [
            phone.digits,
            rf"(?<!\d)(?:00)?{_BETWEEN.join(code)}{_BETWEEN}{trunk}{number}(?!\d)",
        ]
        if len(rest) >= SIGNIFICANT_MIN:
            forms.append(rf"(?<!\d){trunk}{number}(?!\d)")
        self._pattern = re.compile("|".join(forms), re.ASCII)

    def stands_in(self, text: str | None) -> bool:
        return text is not None and self._pattern.search(text) is not None

    def erased_from(self, text: str) -> str:
        return self._pattern.sub(ERASED, text)
