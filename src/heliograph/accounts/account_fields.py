"""Judges single fields of an account, such as its name and its country, and says what is the most
that they may hold. It needs no database.
"""

from typing import Final
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from heliograph.accounts.account import CUSTOMER_PREFIX, PREFIX
from heliograph.base.forms import quote_value
from heliograph.base.short_texts import invalid_field, one_line
from heliograph.text.countries import country

NAME_MAX: Final = 128
# far above any day's traffic, far below what a 64-bit column holds
DAILY_CREDITS_MAX: Final = 10**12
OTP_UNVERIFIED_MAX: Final = 10**9  # an hour: more than any carrier takes


def read_name(field: str, text: str) -> str:
    """Returns `text` without spaces at its ends, if an account can be named so. Raises
    InvalidRequest about `field`.
    """
    name = one_line(field, text, most=NAME_MAX)
    # commands take either, and must not mistake one for the other
    if name.startswith((f"{PREFIX}_", f"{CUSTOMER_PREFIX}_")):
        raise invalid_field(
            field,
            f"must not begin like an id, with {PREFIX}_ or {CUSTOMER_PREFIX}_; it is"
            f" {quote_value(name)}",
        )
    return name


def known_country(field: str, code: str) -> str:
    """Returns the country code in upper case. Raises InvalidRequest, which names the field, for
    what is not a country.
    """
    found = country(code)
    if found is None:
        raise invalid_field(
            field,
            f"must be a country of ISO 3166-1 in two letters, such as GH, not {quote_value(code)}",
        )
    return found


def known_time_zone(name: str) -> str:
    """Returns the name itself. Raises InvalidRequest for what is not a time zone."""
    try:
        return name if name == "UTC" else ZoneInfo(name).key
    # a name with odd characters, or one that is a folder
    except (ZoneInfoNotFoundError, ValueError, OSError) as error:
        raise invalid_field(
            "time_zone",
            "must be a time zone of the IANA database, such as Africa/Accra, not"
            f" {quote_value(name)}",
        ) from error
