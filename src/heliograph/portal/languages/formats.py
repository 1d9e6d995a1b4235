"""Writes numbers, money and times as is usual in the language that is spoken.

English pages write days as programs do. All times are by the clocks of the account that is shown,
and of UTC where none is (docs/decisions/portal.md, U159).
"""

import re
from datetime import UTC, datetime
from decimal import Decimal
from typing import Final

from heliograph.portal.languages.page_language import USUAL, _, language, ngettext, zone
from heliograph.wallet.money import to_text

MINUTE_S: Final = 60
HOUR_S: Final = 3_600
DAY_S: Final = 86_400
DAYS_COUNTED_MAX: Final = 7
MINUS: Final = "\N{MINUS SIGN}"  # as wide as a plus
NARROW: Final = "\N{NARROW NO-BREAK SPACE}"
WIDE: Final = "\N{NO-BREAK SPACE}"
# how a day, and a moment of it, are written in other languages than English (CLDR)
DAY: Final = "d MMM y"
MOMENT: Final = "d MMM y, HH:mm:ss z"
ENGLISH_NUMBER: Final = re.compile(
    r"([0-9]{1,3}(?:,[0-9]{3})+|[0-9]+(?=\.[0-9]| [A-Z]{3}$))(?:\.([0-9]+))?(?: ([A-Z]{3}))?"
)
SHORT_DAY: Final = "d MMM"
HOUR: Final = "HH:mm"


def grouped(number: int) -> str:
    """Returns a number with thin spaces between thousands, which no line breaks at."""
    return f"{number:,}".replace(",", NARROW)


def signed(number: int) -> str:
    """Returns a change with its sign."""
    sign = "+" if number > 0 else MINUS if number < 0 else ""
    return f"{sign}{grouped(abs(number))}"


def money(minor: int, currency: str) -> str:
    """Returns an amount of money, such as `1 234.50 GHS` or `1 234,50 GHS`. In English, too, thin
    spaces that no line breaks at stand between thousands.
    """
    amount = to_text(minor, currency).partition(" ")[0]
    if language() == USUAL:
        return f"{Decimal(amount):,}".replace(",", NARROW) + f" {currency}"
    return f"{_decimal(amount)}{WIDE}{currency}"


def number_in(text: str) -> str:
    """Returns a number or an amount that was written in English, such as `1,234` or `12.50 GHS`, as
    the language writes it. What is neither stays as it is, and so does a number without marks.
    """
    found = ENGLISH_NUMBER.fullmatch(text)
    if found is None:
        return text
    whole, digits, currency = found.groups()
    number = _decimal(whole.replace(",", "") + (f".{digits}" if digits else ""))
    return f"{number}{WIDE}{currency}" if currency else number


def signed_money(minor: int, currency: str) -> str:
    """Returns a change of money with its sign."""
    return f"{'+' if minor > 0 else MINUS}{money(abs(minor), currency)}"


def percent(part: float, digits: int = 1) -> str:
    """Returns a share, such as `98.5`, without its sign of percent."""
    text = f"{part * 100:.{digits}f}"
    return text if language() == USUAL else _decimal(text)


def signed_percent(part: float) -> str:
    """Returns by how much something has changed, such as `+12 %`."""
    whole = round(part * 100)
    sign = "+" if whole > 0 else MINUS if whole < 0 else "\u00b1"
    return f"{sign}{grouped(abs(whole))}{WIDE}%"


def _decimal(text: str) -> str:
    from babel.numbers import format_decimal

    digits = len(text.partition(".")[2])
    shape = "#,##0" + (f".{'0' * digits}" if digits else "")
    return format_decimal(text, shape, locale=language())


def ago(at_ms: int, now_ms: int) -> str:
    """Returns how long ago a moment was, such as `3 min ago`; after a week, its day."""
    past_s = max(0, now_ms - at_ms) // 1_000
    if past_s < MINUTE_S:
        return _("just now")
    if past_s < HOUR_S:
        return _("%(minutes)s min ago", minutes=past_s // MINUTE_S)
    if past_s < DAY_S:
        return _("%(hours)s h ago", hours=past_s // HOUR_S)
    days = past_s // DAY_S
    if days <= DAYS_COUNTED_MAX:
        return ngettext("%(days)s day ago", "%(days)s days ago", days, days=days)
    return day(at_ms)


def day(at_ms: int) -> str:
    """Returns the day of a moment, such as `2026-01-31`, by the account's clocks."""
    if language() == USUAL:
        return _by_clocks(at_ms, "%Y-%m-%d")
    return _formatted(at_ms, DAY)


def day_named(text: str) -> str:
    """Returns a day that is given as `2026-01-31`."""
    if language() == USUAL:
        return str(text)
    from babel.dates import format_date

    return format_date(datetime.fromisoformat(str(text)).date(), DAY, locale=language())


def moment(at: int | str) -> str:
    """Returns a moment, which is given in ms or as RFC 3339 has it, to the second and by the
    account's clocks, with their zone: `2026-01-31 09:30:00 GMT`, or as the language writes it.
    """
    at_ms = in_ms(at) if isinstance(at, str) else at
    if language() == USUAL:
        return _by_clocks(at_ms, "%Y-%m-%d %H:%M:%S %Z")
    return _formatted(at_ms, MOMENT)


def in_ms(at: str) -> int:
    """Returns a moment that is given as RFC 3339 has it."""
    return round(datetime.fromisoformat(at).timestamp() * 1_000)


def start_time(at_ms: int) -> str:
    """Returns when something is to start, to the minute, by the account's clocks."""
    if language() == USUAL:
        return _by_clocks(at_ms, "%Y-%m-%d %H:%M %Z")
    return _formatted(at_ms, "d MMM y, HH:mm z")


def hour_name(at_ms: int) -> str:
    """Returns an hour as clocks show it, such as `14:00`."""
    return _by_clocks(at_ms, "%H:%M")


def day_name(at_ms: int) -> str:
    """Returns a day, such as `31 Jan`."""
    if language() == USUAL:
        return _by_clocks(at_ms, "%-d %b")
    return _formatted(at_ms, SHORT_DAY)


def _by_clocks(at_ms: int, shape: str) -> str:
    return datetime.fromtimestamp(at_ms / 1_000, zone()).strftime(shape)


def _formatted(at_ms: int, shape: str) -> str:
    from babel.dates import format_datetime

    at = datetime.fromtimestamp(at_ms / 1_000, UTC)
    return format_datetime(at, shape, tzinfo=zone(), locale=language())
