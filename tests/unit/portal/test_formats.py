"""Numbers and times are written for people: grouped, and by the clocks of the account."""

from collections.abc import Iterator

import pytest

from heliograph.base.clock import rfc3339
from heliograph.portal.languages import formats, use_language

AT_MS = 1_790_707_805_123  # 2026-09-29T18:50:05.123Z
THIN = "\N{NARROW NO-BREAK SPACE}"


@pytest.fixture(autouse=True)
def _english_again() -> Iterator[None]:
    yield
    use_language("en")


@pytest.mark.parametrize(
    ("zone", "shown"),
    [
        ("UTC", "2026-09-29 18:50:05 UTC"),
        ("Africa/Lagos", "2026-09-29 19:50:05 WAT"),
        ("Asia/Kolkata", "2026-09-30 00:20:05 IST"),
        ("Asia/Dubai", "2026-09-29 22:50:05 +04"),
    ],
)
def test_a_moment_is_shown_by_the_clocks_of_the_account_with_their_zone(
    zone: str, shown: str
) -> None:
    use_language("en", zone)
    assert formats.moment(AT_MS) == formats.moment(rfc3339(AT_MS)) == shown
    assert formats.day(AT_MS) == shown[: len("2026-09-30")]


@pytest.mark.parametrize(
    ("minor", "shown"),
    [
        (50, "0.50 GHS"),
        (-50, "-0.50 GHS"),
        (99_999, "999.99 GHS"),
        (100_000_000, f"1{THIN}000{THIN}000.00 GHS"),
        (-123_456_789_012_345, f"-1{THIN}234{THIN}567{THIN}890{THIN}123.45 GHS"),
    ],
)
def test_money_is_grouped_by_thousands(minor: int, shown: str) -> None:
    assert formats.money(minor, "GHS") == shown
