"""Reads and writes how much an account may store in a day, as an operator types it: 200MB."""

import re
from typing import Final

UNITS: Final = {"": 1, "kB": 10**3, "MB": 10**6, "GB": 10**9, "TB": 10**12}
NO_LIMIT: Final = "none"
DEFAULT: Final = "default"
SIZES: Final = "200000, 200kB, 200MB, 2GB, none for no limit, and default"
_SIZE: Final = re.compile(r"([0-9]{1,15})(|kB|MB|GB|TB)", re.ASCII)


def read_size(text: str) -> int | str | None:
    """Returns octets a day, None for no limit, or DEFAULT for what every account has. Raises
    ValueError for anything else.
    """
    found = _SIZE.fullmatch(text)
    if found is not None:
        return int(found[1]) * UNITS[found[2]]
    if text not in (NO_LIMIT, DEFAULT):
        raise ValueError(text)
    return None if text == NO_LIMIT else DEFAULT


def size_in_words(octets: int | None) -> str:
    """Returns a quota as it would be typed: in the largest unit that says it exactly."""
    if octets is None:
        return NO_LIMIT
    exact = [
        f"{octets // unit}{name}" for name, unit in UNITS.items() if octets and octets % unit == 0
    ]
    return exact[-1] if exact else str(octets)
