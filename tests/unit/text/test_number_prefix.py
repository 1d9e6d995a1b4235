"""The first digits of numbers are read as people write them."""

import pytest

from heliograph.text import read_prefix


@pytest.mark.parametrize(
    ("written", "digits"),
    [
        ("233", "233"),
        ("+233 20", "23320"),
        ("0023320", "23320"),
        ("1", "1"),
        ("123456789012345", "123456789012345"),
        ("00123456789012345", "123456789012345"),
    ],
)
def test_a_prefix_is_its_digits_without_what_is_dialled_abroad(written: str, digits: str) -> None:
    assert read_prefix(written) == digits


@pytest.mark.parametrize(
    "written",
    ["", " ", "+", "00", "0", "0233", "000233", "+0233", "+00233", "23x", "٢٣٣", "1" * 16, "GH"],
)
def test_what_no_number_begins_with_is_no_prefix(written: str) -> None:
    assert read_prefix(written) is None
