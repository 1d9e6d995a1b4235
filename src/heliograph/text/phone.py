"""A phone number, as people write it, becomes E.164 digits and a country, or is refused
(docs/api.md, "Phone numbers").

The answers are those of the phonenumbers library, at a twentieth of its price; a property test
compares the two over every region. Where the rules of that page differ from the library, the page
counts:

- only ASCII digits and the separators of `SEPARATORS` are read: no letters, extensions, `tel:`,
  other scripts' digits or spaces;
- `+` or `00` in front means international in every country, also where another prefix is dialled
  for that (011, 0011);
- only full numbers of 7 to 15 digits are read: a subscriber number without its area code is not
  an address for a text message;
- a number that begins with the calling code of the given country and is long enough is
  international, unless only the national reading gives a number that is assigned.
"""

from collections.abc import Sequence
from typing import Any, Final, NamedTuple

from heliograph.base.forms import as_text, quote_value
from heliograph.text.countries import country, country_codes
from heliograph.text.numbering_plans import (
    CallingCode,
    NumberingPlan,
    calling_code_of,
    calling_codes,
    plans,
)

__all__ = [
    "RAW_LENGTH_MAX",
    "SEPARATORS",
    "Phone",
    "calling_code_of",
    "country",
    "country_codes",
    "parse",
    "parse_many",
    "read",
]

# a prefix for calling abroad and 15 digits with two separators after each are shorter
RAW_LENGTH_MAX: Final = 64

SEPARATORS: Final = {ord(separator): None for separator in " -.()"}


class Phone(NamedTuple):
    """Holds a phone number that a message can be sent to."""

    digits: str  # E.164 without plus: 7..15 ASCII digits
    # one of `country_codes()`; None when it belongs to none (+800, +882, an area of +1 that nobody
    # has)
    country_code: str | None


def parse(raw: str, country: str | None = None, home_country: str | None = None) -> Phone | None:
    """Reads a number as people write it; None when it is no valid one.

    `country` is a valid upper-case country code. With it a number without `+` or `00` is read as it
    is dialled in that country, by that country's trunk prefix; one that begins with the country's
    calling code is understood too. Without it every number is international, but for one that
    begins with a single 0, which no international number does: it is read as it is dialled in
    `home_country`.
    """
    if len(raw) > RAW_LENGTH_MAX:
        return None
    digits = raw if raw.isdigit() else raw.translate(SEPARATORS)
    if digits[:1] == "+":
        digits, country = digits[1:], None
    elif digits[:2] == "00":
        digits, country = digits[2:], None
    elif country is None and digits[:1] == "0":
        country = home_country
    if not (digits.isdigit() and digits.isascii()):
        return None
    if country is None:
        return _international(digits)
    plan = plans[country]
    return _national(digits, plan) if plan is not None else None


def parse_many(
    raws: Sequence[str], country: str | None = None, home_country: str | None = None
) -> list[Phone | None]:
    """Parses every number of a send, as `parse` does. The k-th answer belongs to the k-th
    number.
    """
    return [parse(raw, country, home_country) for raw in raws]


def read(value: Any, country_code: str | None = None, home_country: str | None = None) -> Phone:
    """Reads the phone that a field means, as `parse` does, for `Form.value`. Raises ValueError."""
    found = parse(as_text(value), country_code, home_country)
    if found is None:
        raise ValueError(
            "must be a phone number in international digits such as 233201234567, not"
            f" {quote_value(value)}"
        )
    return found


def _international(digits: str) -> Phone | None:
    """Reads a number that begins with a calling code."""
    code = calling_codes[digits[:3]]
    if code is not None and code.trunk(digits, code.national_at) is not None:
        # `+44 (0)20 …`: the trunk prefix does not belong there, but many write it
        digits = code.digits + code.plan.significant(digits[code.national_at :])
    return _full(digits, code)


def _national(digits: str, plan: NumberingPlan) -> Phone | None:
    """Reads a number as it is dialled in a country, or as it is dialled from abroad without the
    `+`.
    """
    abroad = plan.abroad.match(digits) if plan.abroad is not None else None
    # no calling code begins with 0
    if abroad is not None and digits[abroad.end() : abroad.end() + 1] != "0":
        return _international(digits[abroad.end() :])
    if digits.startswith(plan.calling_code):
        whole = _international(digits)
        # Where lengths vary, both readings are possible. 4915123456789 is a German mobile number,
        # and +49 4915123456789, as the library reads it, is not assigned; but 9198765432 is an
        # Indian number, and +91 98765432 is not assigned. The reading that is assigned counts.
        if whole is not None and (
            _is_assigned(whole, plan) or not _is_assigned(_read_dialled(digits, plan), plan)
        ):
            return whole
    return _read_dialled(digits, plan)


def _read_dialled(digits: str, plan: NumberingPlan) -> Phone | None:
    """Reads a number as it is dialled in a country, by the library's rules."""
    if digits.startswith(plan.calling_code):
        rest = plan.without_trunk(digits[len(plan.calling_code) :])
        if len(digits) > plan.longest or (plan.describes(rest) and not plan.describes(digits)):
            return _international(plan.calling_code + rest)
    digits = plan.calling_code + plan.significant(digits)
    return _full(digits, calling_codes[digits[:3]])


def _is_assigned(phone: Phone | None, own_plan: NumberingPlan) -> bool:
    """Returns whether a number under the calling code of `own_plan` lies in a range that somebody
    has, and is not only of a possible length.
    """
    if phone is None or phone.country_code is None:
        return False
    plan = plans[phone.country_code]
    return plan is not None and plan.assigns(phone.digits[len(own_plan.calling_code) :])


def _full(digits: str, code: CallingCode | None) -> Phone | None:
    """Returns the number, if its calling code is known and its length possible there."""
    if code is None or len(digits) not in code.lengths:
        return None
    return Phone(digits, code.country_of(digits))
