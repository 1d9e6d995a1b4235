"""An id is a type prefix, `_`, and a UUIDv7 in 26 characters of Crockford base32, lower case (the
TypeID form; docs/api.md, "Ids").

An id has three forms, each where it is cheapest:

- *text* (`msg_01k…`) is what clients see, and what use cases pass around;
- *raw* (32 lower-case hex digits) is what hot statements send and get; both drivers take it for a
  uuid column;
- the 128-bit *number* serves to make series. A send and its messages are one: the send is `base`,
  its k-th message is `base + 1 + k`. So all messages of a send are found by a range of the primary
  key, and newest first is one order.
"""

import os
import struct
from collections.abc import Iterator
from functools import lru_cache
from typing import Final

from heliograph.base import clock

ALPHABET: Final = "0123456789abcdefghjkmnpqrstvwxyz"  # Crockford's base32
_PAIRS: Final = [a + b for a in ALPHABET for b in ALPHABET]
_VALUE: Final = {c: i for i, c in enumerate(ALPHABET)}
_LENGTH: Final = 26

# ids in one series; the low bits left free below a new base, so that one never overflows into the
# version bits
SERIES_MAX: Final = 1 << 20

# a message is valid for 48 h at most, and its carrier's id is known for 72 h more
LATER_MS: Final = 5 * 86_400_000
# the three highest random bits: the first is 0 in all new ids, a place takes the other two
_PLACE_SHIFT: Final = 59
_PLACE_BITS: Final = 0b111 << _PLACE_SHIFT
_UNDER_THE_TIME: Final = (1 << 80) - 1

_last_ms = -1
_count = 0


def new_number(at_ms: int | None = None) -> int:
    """Returns a new UUIDv7 (RFC 9562) as a number. `at_ms` makes one of another moment, at the
    beginning of its millisecond.

    It has 48 bits of milliseconds, the version, 12 bits of the microsecond in it (section 6.2,
    method 3; each id that is made in the same microsecond adds a quarter of one), the variant, and
    61 random bits. So this process's ids are in the order in which they were made, those of a
    machine's processes are in the order of their microseconds, and lists by id are newest first.
    """
    global _last_ms, _count
    if at_ms is None:
        now_us = clock.now_us()
        ms, count = now_us // 1_000, now_us % 1_000 << 2
    else:
        ms, count = at_ms, 0
    if ms == _last_ms and count <= _count:
        count = min(_count + 1, 0xFFF)
    _last_ms, _count = ms, count
    # the top bit of 62 stays 0: base + SERIES_MAX never carries into the variant
    rand_b = _random_64_bits() >> 3
    return (ms << 80) | (0x7 << 76) | (count << 64) | (0b10 << 62) | rand_b


_randomness: Iterator[int] = iter(())


def _random_64_bits() -> int:
    """Returns bits from the system's random source, which is read 4 KiB at a time: a system call
    for each id costs more than all the rest of it.
    """
    global _randomness
    for bits in _randomness:
        return bits
    _randomness = iter(struct.unpack("512Q", os.urandom(4_096)))
    return next(_randomness)


def _forget_randomness() -> None:
    global _randomness
    _randomness = iter(())


os.register_at_fork(after_in_child=_forget_randomness)  # two processes must not draw the same


def derived_number(number: int, place: int, at_ms: int) -> int:
    """Returns the number of the id that belongs to one thing, at `place` (0 to 3), in the life of
    the record with this number: the same each time it is asked for, by whichever process, and also
    after a restore. No two places share one, and it is never a new id: those leave the highest
    random bit 0.

    Its time is the record's own. Something that happens to the record later than LATER_MS after it
    was made (at `at_ms`) gets the beginning of that span of LATER_MS, so that what is ordered or
    pruned by such ids is never further from its moment.
    """
    made_ms = number >> 80
    late_ms = at_ms - made_ms
    moment_ms = made_ms if late_ms < LATER_MS else at_ms - late_ms % LATER_MS
    return (
        (moment_ms << 80)
        | (number & _UNDER_THE_TIME & ~_PLACE_BITS)
        | (0b100 | place) << _PLACE_SHIFT
    )


def number_by_digest(at_ms: int, digest: bytes) -> int:
    """Returns the number of an id that is made from a time and a digest. Every process makes the
    same number of the same two. It is never that of a new id, which leaves the highest random bit
    0.
    """
    digest_bits = int.from_bytes(digest[:8], "big") >> 3
    return (at_ms << 80) | (0x7 << 76) | (0b10 << 62) | (1 << 61) | digest_bits


def new(prefix: str) -> str:
    """Returns a new id in text form, such as `con_01k…`."""
    return text_of_number(prefix, new_number())


@lru_cache(maxsize=4_096)
def _head(high: int) -> str:
    """Returns the first 22 of an id's 26 characters, from its bits above the lowest 20: they are
    the same for a send and all its messages.
    """
    pairs = _PAIRS
    return (
        f"{ALPHABET[high >> 105]}{ALPHABET[(high >> 100) & 31]}"
        f"{pairs[(high >> 90) & 1023]}{pairs[(high >> 80) & 1023]}{pairs[(high >> 70) & 1023]}"
        f"{pairs[(high >> 60) & 1023]}{pairs[(high >> 50) & 1023]}{pairs[(high >> 40) & 1023]}"
        f"{pairs[(high >> 30) & 1023]}{pairs[(high >> 20) & 1023]}{pairs[(high >> 10) & 1023]}"
        f"{pairs[high & 1023]}"
    )


def text_of_number(prefix: str, number: int) -> str:
    """Returns the text form of an id that is given as a number of 128 bits."""
    return f"{prefix}_{_head(number >> 20)}{_PAIRS[(number >> 10) & 1023]}{_PAIRS[number & 1023]}"


def texts_of_run(prefix: str, first: int, count: int) -> list[str]:
    """Returns the text forms of `count` ids, counted up from the number `first`. This is much
    cheaper than one by one.
    """
    pairs = _PAIRS
    texts: list[str] = []
    head, high = "", -1
    for number in range(first, first + count):
        if number >> 20 != high:
            high = number >> 20
            head = f"{prefix}_{_head(high)}"
        texts.append(head + pairs[(number >> 10) & 1023] + pairs[number & 1023])
    return texts


def text_of_raw(prefix: str, raw: str) -> str:
    """Returns the text form of an id that is given in its raw form."""
    return text_of_number(prefix, int(raw, 16))


def raw_of_number(number: int) -> str:
    """Returns the raw form of an id: 32 hexadecimal digits in lower case."""
    return f"{number:032x}"


def number_of_text(prefix: str, text: str) -> int | None:
    """Returns the number behind an id in text form, or None when it is malformed. A malformed id
    is simply not found.
    """
    if (
        len(text) != len(prefix) + 1 + _LENGTH
        or not text.startswith(prefix)
        or text[len(prefix)] != "_"
    ):
        return None
    number = 0
    for character in text[len(prefix) + 1 :]:
        value = _VALUE.get(character)
        if value is None:
            return None
        number = number << 5 | value
    return number if number < 1 << 128 else None


def raw_of_text(prefix: str, text: str) -> str | None:
    """Returns the raw form of an id in text form, or None when it is malformed."""
    number = number_of_text(prefix, text)
    return None if number is None else raw_of_number(number)


def made_at_ms(number: int) -> int:
    """Returns when a UUIDv7 was made, in milliseconds since 1970."""
    return number >> 80
